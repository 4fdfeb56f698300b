#include "graph/unconnected.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/reverse_sweep.h"

namespace stoker {

namespace {

std::string name_of(const Graph& graph, int value) {
  const ValueInfo& info = graph.values()[size_t(value)];
  auto source = size_t(info.source);
  switch (info.kind) {
    case ValueKind::input:
      return fmt::format("input \"{}\"", graph.inputs()[source].name);
    case ValueKind::constant:
      return fmt::format("a constant {}", to_string(info.spec));
    case ValueKind::variable:
      return fmt::format("variable \"{}\"", graph.variables()[source].variable.name());
    case ValueKind::computed:
      break;
  }
  return fmt::format("the result of {}, {}", describe(*graph.producer(value)),
                     to_string(info.spec));
}

// By value: whether the loss is computed from it in any way.
std::vector<bool> leading_to(const Graph& graph, int loss) {
  std::vector<bool> leads(graph.values().size());
  leads[size_t(loss)] = true;
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (std::ranges::any_of(node.outputs, [&](int id) { return bool(leads[size_t(id)]); }))
      for (int id : node.inputs) leads[size_t(id)] = true;
  }
  return leads;
}

// The node at which the last path to the loss ends; null: there is no path.
const Node* cut_of(const Graph& graph, int loss, const std::vector<int>& ids) {
  std::vector<bool> leads = leading_to(graph, loss);
  std::vector<bool> carries = differentiable_from(graph, 0, ids);
  auto at = [](const std::vector<bool>& marks) {
    return [&marks](int id) { return bool(marks[size_t(id)]); };
  };
  for (const Node& node : graph.nodes())
    if (std::ranges::any_of(node.inputs, at(carries)) &&
        std::ranges::any_of(node.outputs, at(leads)) &&
        std::ranges::none_of(node.outputs, at(carries)))
      return &node;
  return nullptr;
}

std::string why(const Graph& graph, int loss, const std::vector<int>& ids) {
  const Node* cut = cut_of(graph, loss, ids);
  if (cut == nullptr) return "";
  if (cut->traits().stops_gradient) return " (the path to the loss ends at ops::stop_gradient)";
  return fmt::format(" (the path to the loss ends at {}, whose result is {} and has no gradient)",
                     describe(*cut), name(graph.spec(cut->outputs[0]).dtype));
}

}  // namespace

void fail_unconnected(const Graph& graph, int loss, const std::vector<std::vector<int>>& missing) {
  constexpr size_t kMost = 5;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(missing.size(), kMost); ++i)
    names.push_back(name_of(graph, missing[i][0]) + why(graph, loss, missing[i]));
  if (missing.size() > kMost) names.push_back(fmt::format("{} more", missing.size() - kMost));
  throw Error(fmt::format(
      "gradients: the loss does not depend on {}; compute the loss from it, leave it out, or ask "
      "for zeros with gradients(loss, wrt, {{.unconnected = Unconnected::zeros}})",
      fmt::join(names, ", ")));
}

}  // namespace stoker
