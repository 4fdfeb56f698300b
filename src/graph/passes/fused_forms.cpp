#include <algorithm>
#include <functional>

#include "graph/passes/passes.h"

namespace stoker::passes {

namespace {

struct PlacedForm {
  Node form;
  size_t behind;  // the nodes that it replaces
};

// The form takes over the values; the nodes that computed them compute values of their own, which
// only they read.
PlacedForm take_over(Graph& graph, Node form) {
  std::vector<Node>& nodes = graph.mutable_nodes();
  std::vector<int> own(graph.values().size(), -1);
  size_t behind = 0;
  for (int id : form.outputs) {
    size_t index = size_t(graph.producer(id) - nodes.data());
    own[size_t(id)] = graph.add_value(graph.spec(id), int(index));
    std::ranges::replace(nodes[index].outputs, id, own[size_t(id)]);
    behind = std::max(behind, index + 1);
  }
  for (size_t i = 0; i < behind; ++i)
    for (int& id : nodes[i].inputs)
      if (size_t(id) < own.size() && own[size_t(id)] >= 0) id = own[size_t(id)];
  return {std::move(form), behind};
}

}  // namespace

// All forms stand in the graph before dead nodes go: what only a later form reads is not dead.
int use_fused_forms(Graph& graph, const HasKernel& has_kernel) {
  std::vector<PlacedForm> placed;
  for (Node& form : graph.take_fused_forms())
    if (has_kernel(form.op->name, graph.spec(form.inputs[0]).dtype))
      placed.push_back(take_over(graph, std::move(form)));
  if (placed.empty()) return 0;
  std::ranges::stable_sort(placed, std::greater(), &PlacedForm::behind);
  std::vector<Node>& nodes = graph.mutable_nodes();
  for (PlacedForm& each : placed)
    nodes.insert(nodes.begin() + int64_t(each.behind), std::move(each.form));
  graph.remove_dead_nodes();  // also tells the values where their nodes are now
  return int(placed.size());
}

}  // namespace stoker::passes
