#include <fmt/format.h>

#include "graph/graph.h"
#include "graph/text.h"

namespace stoker {

namespace {

std::string ids(const std::vector<int>& values) {
  return list_text(values, [](int id) { return fmt::format("%{}", id); });
}

std::string_view name(Phase phase) {
  return phase == Phase::forward ? "forward" : phase == Phase::backward ? "backward" : "update";
}

std::string line(const Graph& graph, const Node& node) {
  std::string specs = list_text(node.outputs, [&](int id) { return to_string(graph.spec(id)); });
  std::string attrs = node.attrs.entries().empty() ? "" : " " + to_string(node.attrs);
  std::string scope = node.scope.empty() ? "" : fmt::format(" \"{}\"", node.scope);
  return fmt::format("{} = {}({}){} : {}  # {}{}\n", ids(node.outputs), node.op->name,
                     ids(node.inputs), attrs, specs, name(node.phase), scope);
}

}  // namespace

std::string Graph::dump() const {
  std::string text;
  auto leaf = [&](int id, std::string_view kind, const std::string& what) {
    text += fmt::format("%{} = {}{} : {}\n", id, kind, what, to_string(spec(id)));
  };
  for (const GraphInput& input : inputs_)
    leaf(input.value, "input", fmt::format(" \"{}\"", input.name));
  for (const GraphConstant& constant : constants_) leaf(constant.value, "constant", "");
  for (const GraphVariable& variable : variables_)
    leaf(variable.value, "variable", fmt::format(" \"{}\"", variable.variable.name()));
  for (const Node& node : nodes_) text += line(*this, node);
  for (const GraphOutput& output : outputs_)
    text += fmt::format("output \"{}\" %{}\n", output.name, output.value);
  for (const Assignment& assignment : assignments_)
    text += fmt::format("assign \"{}\" %{}{}\n",
                        variables_[size_t(assignment.variable)].variable.name(), assignment.value,
                        assignment.when == Assign::always && gate_ >= 0 ? " always" : "");
  if (guard_ >= 0) text += fmt::format("guard %{}\n", guard_);
  if (gate_ >= 0) text += fmt::format("gate %{}\n", gate_);
  return text;
}

}  // namespace stoker
