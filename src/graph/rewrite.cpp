// The part of Graph that passes use: replacing, counting, removing and copying.
#include <algorithm>

#include "graph/graph.h"

namespace stoker {

namespace {

// Calls body(value id) for everything that is read after the nodes have run.
template <class Body>
void for_each_result(const Graph& graph, Body&& body) {
  for (const GraphOutput& output : graph.outputs()) body(output.value);
  for (const Assignment& assignment : graph.assignments()) body(assignment.value);
  if (graph.guard() >= 0) body(graph.guard());
  if (graph.gate() >= 0) body(graph.gate());
}

// Whether each node's outputs reach a result.
std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> wanted(graph.values().size());
  for_each_result(graph, [&](int value) { wanted[size_t(value)] = true; });
  const std::vector<Node>& nodes = graph.nodes();
  std::vector<bool> live(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    live[i] = std::ranges::any_of(nodes[i].outputs, [&](int id) { return wanted[size_t(id)]; });
    if (!live[i]) continue;
    for (int id : nodes[i].inputs) wanted[size_t(id)] = true;
  }
  return live;
}

}  // namespace

int Graph::add_value(const TensorSpec& spec, int node) {
  values_.push_back({spec, ValueKind::computed, node});
  return int(values_.size()) - 1;
}

void Graph::replace_uses(int from, int to) {
  for (Node& node : nodes_) std::ranges::replace(node.inputs, from, to);
  for (GraphOutput& output : outputs_)
    if (output.value == from) output.value = to;
  for (Assignment& assignment : assignments_)
    if (assignment.value == from) assignment.value = to;
  if (guard_ == from) guard_ = to;
  if (gate_ == from) gate_ = to;
}

std::vector<int> Graph::use_counts() const {
  std::vector<int> counts(values_.size());
  for (const Node& node : nodes_)
    for (int id : node.inputs) ++counts[size_t(id)];
  for_each_result(*this, [&](int value) { ++counts[size_t(value)]; });
  return counts;
}

int Graph::remove_dead_nodes() {
  std::vector<bool> live = live_nodes(*this);
  std::vector<Node> kept;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    int index = live[i] ? int(kept.size()) : -1;
    for (int id : nodes_[i].outputs) values_[size_t(id)].source = index;
    if (live[i]) kept.push_back(std::move(nodes_[i]));
  }
  int removed = int(nodes_.size() - kept.size());
  nodes_ = std::move(kept);
  return removed;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  copy->nodes_ = nodes_;
  copy->values_ = values_;
  copy->inputs_ = inputs_;
  copy->constants_ = constants_;
  copy->variables_ = variables_;
  copy->outputs_ = outputs_;
  copy->assignments_ = assignments_;
  copy->fused_forms_ = fused_forms_;
  copy->variable_values_ = variable_values_;
  copy->versions_ = versions_;
  copy->assignment_of_ = assignment_of_;
  copy->read_values_ = read_values_;
  copy->constants_at_ = constants_at_;
  copy->numbers_ = numbers_;
  copy->updates_ = updates_;
  copy->guard_ = guard_;
  copy->gate_ = gate_;
  copy->training_ = training_;
  copy->streams_ = streams_;
  if (random_state_.defined()) copy->random_state_ = copy->value(random_state_.traced()->id);
  for (const Value& penalty : penalties_)
    copy->penalties_.push_back(copy->value(penalty.traced()->id));
  return copy;
}

}  // namespace stoker
