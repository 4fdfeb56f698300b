#include "engine/schedule.h"

#include <algorithm>

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
  first_update = order.size();
  order.insert(order.end(), updates.begin(), updates.end());

  for (const Assignment& assignment : graph.assignments()) {
    assigned_to[size_t(assignment.value)] = assignment.variable;
    use(assignment.value, kForEver);
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
