#include <functional>
#include <queue>

#include "graph/passes/fusion_rules.h"
#include "graph/passes/passes.h"

namespace stoker::passes {

namespace {

// Puts the nodes back into an order that can be run, as near to the present one as possible.
void restore_order(Graph& graph) {
  std::vector<Node>& nodes = graph.mutable_nodes();
  std::vector<int> waits_for(nodes.size());
  std::vector<std::vector<size_t>> users(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    for (int id : nodes[i].inputs)
      if (const Node* producer = graph.producer(id)) {
        ++waits_for[i];
        users[size_t(producer - nodes.data())].push_back(i);
      }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waits_for[i] == 0) ready.push(i);
  std::vector<Node> ordered;
  while (!ready.empty()) {
    size_t next = ready.top();
    ready.pop();
    for (size_t user : users[next])
      if (--waits_for[user] == 0) ready.push(user);
    ordered.push_back(std::move(nodes[next]));
  }
  nodes = std::move(ordered);
  graph.remove_dead_nodes();  // also tells the values where their nodes are now
}

}  // namespace

FusionReport fuse(Graph& graph) {
  FusionReport report;
  report.bias = fuse_bias(graph);
  graph.remove_dead_nodes();
  report.activation = fuse_activation(graph);
  graph.remove_dead_nodes();
  report.activation_gradient = fuse_pool_gradient(graph);
  graph.remove_dead_nodes();
  report.activation_gradient += fuse_norm_gradient(graph);
  graph.remove_dead_nodes();
  report.bias_gradient = fuse_bias_gradient(graph);
  restore_order(graph);
  return report;
}

}  // namespace stoker::passes
