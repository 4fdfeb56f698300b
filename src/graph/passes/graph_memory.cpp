#include <algorithm>
#include <numeric>

#include "graph/passes/memory_plan.h"

namespace stoker {

namespace {

size_t bytes_of(const TensorSpec& spec) {
  return size_t(spec.shape.elements()) * size_of(spec.dtype);
}

// Values that a kernel writes over the variable they are assigned to: they take no memory.
std::vector<bool> overwriting(const Graph& graph) {
  std::vector<bool> found(graph.values().size());
  for (const Assignment& assignment : graph.assignments()) {
    const Node* node = graph.producer(assignment.value);
    if (node == nullptr || !node->op->in_place) continue;
    int variable = graph.variables()[size_t(assignment.variable)].value;
    for (auto [output, input] : node->op->in_place(node->attrs, node->inputs.size()))
      if (node->outputs[size_t(output)] == assignment.value &&
          node->inputs[size_t(input)] == variable)
        found[size_t(assignment.value)] = true;
  }
  return found;
}

// Gradients are what the updates read; everything else that is computed counts as activations.
std::vector<MemoryCategory> categories(const Graph& graph) {
  std::vector<MemoryCategory> found(graph.values().size(), MemoryCategory::activations);
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::update) continue;
    for (int id : node.inputs) {
      const Node* producer = graph.producer(id);
      if (producer != nullptr && producer->phase == Phase::backward)
        found[size_t(id)] = MemoryCategory::gradients;
    }
  }
  return found;
}

// The last node that reads each value; results stay to the end.
std::vector<int> last_uses(const Graph& graph) {
  std::vector<int> last(graph.values().size(), -1);
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    for (int id : graph.nodes()[i].inputs) last[size_t(id)] = int(i);
  int end = int(graph.nodes().size());
  for (const GraphOutput& output : graph.outputs()) last[size_t(output.value)] = end;
  for (const Assignment& assignment : graph.assignments()) last[size_t(assignment.value)] = end;
  if (graph.guard() >= 0) last[size_t(graph.guard())] = end;
  if (graph.gate() >= 0) last[size_t(graph.gate())] = end;
  return last;
}

std::vector<Buffer> buffers(const Graph& graph) {
  std::vector<bool> skip = overwriting(graph);
  std::vector<int> last = last_uses(graph);
  std::vector<MemoryCategory> category = categories(graph);
  std::vector<Buffer> found;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    for (int id : node.outputs) {
      if (skip[size_t(id)]) continue;
      found.push_back({.bytes = bytes_of(graph.spec(id)),
                       .begin = int(i),
                       .end = std::max(int(i), last[size_t(id)]),
                       .category = category[size_t(id)]});
    }
  }
  return found;
}

}  // namespace

std::vector<StepMemory> graph_memory_of_nodes(const Graph& graph) {
  return memory_of_steps(buffers(graph), graph.nodes().size());
}

MemoryReport plan_graph_memory(const Graph& graph) {
  MemoryPlan plan = plan_memory(buffers(graph));
  MemoryReport report{.bytes = plan.at_peak, .arena = plan.peak, .total = 0};
  auto count = [&](MemoryCategory category, size_t bytes) {
    report.bytes[size_t(category)] += bytes;
  };
  size_t live = std::accumulate(plan.at_peak.begin(), plan.at_peak.end(), size_t(0));
  count(MemoryCategory::workspace, plan.peak - live);  // rounding and fragmentation
  for (const GraphVariable& variable : graph.variables())
    count(variable.variable.category(), bytes_of(graph.spec(variable.value)));
  std::vector<int> uses = graph.use_counts();
  for (const GraphConstant& constant : graph.constants())
    if (uses[size_t(constant.value)] > 0)
      count(MemoryCategory::workspace, bytes_of(graph.spec(constant.value)));
  for (const GraphInput& input : graph.inputs())
    count(MemoryCategory::inputs, bytes_of(graph.spec(input.value)));
  report.total = std::accumulate(report.bytes.begin(), report.bytes.end(), size_t(0));
  return report;
}

}  // namespace stoker
