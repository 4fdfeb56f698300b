#include "engine/schedule.h"

#include <algorithm>

#include "graph/replica.h"

namespace stoker {

Schedule::Schedule(const Graph& graph)
    : last_use(graph.values().size(), -1), assigned_to(graph.values().size(), -1) {
  for (const GraphOutput& output : graph.outputs()) use(output.value, kForEver);
  for (int value : {graph.guard(), graph.gate()})
    if (value >= 0) use(value, kForEver);

  std::vector<bool> read(graph.values().size());  // by a node, an output, the guard or the gate
  for (size_t value = 0; value < read.size(); ++value) read[value] = last_use[value] == kForEver;
  for (const Node& node : graph.nodes())
    for (int value : node.inputs) read[size_t(value)] = true;
  // Nothing depends on updates whose results are only assigned.
  std::vector<int> updates;
  for (int i = 0; i < int(graph.nodes().size()); ++i) {
    const Node& node = graph.nodes()[size_t(i)];
    bool last =
        node.traits().updates_variables &&
        std::ranges::none_of(node.outputs, [&](int value) { return bool(read[size_t(value)]); });
    (last ? updates : order).push_back(i);
  }
  start_sums_early(graph);
  first_update = order.size();
  order.insert(order.end(), updates.begin(), updates.end());

  for (const Assignment& assignment : graph.assignments()) {
    assigned_to[size_t(assignment.value)] = assignment.variable;
    use(assignment.value, kForEver);
  }
}

// They keep their order, whatever becomes of their operands: every replica must start the same ones
// in the same order.
void Schedule::start_sums_early(const Graph& graph) {
  const std::vector<Node>& nodes = graph.nodes();
  std::vector<int> place(nodes.size(), -1);  // by node: the one before which it cannot run
  std::vector<int> sums, rest;
  int last = -1;
  for (int node : order) {
    place[size_t(node)] = node;
    if (!is_collective(nodes[size_t(node)])) {
      rest.push_back(node);
      continue;
    }
    for (int value : nodes[size_t(node)].inputs)
      if (const Node* producer = graph.producer(value))
        last = std::max(last, place[size_t(producer - nodes.data())]);
    place[size_t(node)] = last;
    sums.push_back(node);
  }
  if (sums.empty()) return;
  order.clear();
  size_t next = 0;
  auto start_until = [&](int node) {
    while (next < sums.size() && place[size_t(sums[next])] <= node) order.push_back(sums[next++]);
  };
  start_until(-1);
  for (int node : rest) {
    order.push_back(node);
    start_until(node);
  }
}

void Schedule::use(int value, int position) {
  last_use[size_t(value)] = std::max(last_use[size_t(value)], position);
}

void Schedule::extend_shared(const Graph& graph) {
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (node.traits().shares_bytes) use(node.inputs[0], last_use[size_t(node.outputs[0])]);
  }
}

}  // namespace stoker
