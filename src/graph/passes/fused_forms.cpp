#include <algorithm>

#include "graph/passes/passes.h"

namespace stoker::passes {

namespace {

// The form takes over the values; the nodes that computed them compute values of their own, which
// only they read.
void use_form(Graph& graph, Node form) {
  std::vector<Node>& nodes = graph.mutable_nodes();
  std::vector<int> own(graph.values().size(), -1);
  size_t behind = 0;  // the nodes that it replaces
  for (int id : form.outputs) {
    size_t index = size_t(graph.producer(id) - nodes.data());
    own[size_t(id)] = graph.add_value(graph.spec(id), int(index));
    std::ranges::replace(nodes[index].outputs, id, own[size_t(id)]);
    behind = std::max(behind, index + 1);
  }
  for (size_t i = 0; i < behind; ++i)
    for (int& id : nodes[i].inputs)
      if (size_t(id) < own.size() && own[size_t(id)] >= 0) id = own[size_t(id)];
  nodes.insert(nodes.begin() + int64_t(behind), std::move(form));
  graph.remove_dead_nodes();  // also tells the values where their nodes are now
}

}  // namespace

int use_fused_forms(Graph& graph, const HasKernel& has_kernel) {
  int used = 0;
  for (Node& form : graph.take_fused_forms()) {
    if (!has_kernel(form.op->name, graph.spec(form.inputs[0]).dtype)) continue;
    use_form(graph, std::move(form));
    ++used;
  }
  return used;
}

}  // namespace stoker::passes
