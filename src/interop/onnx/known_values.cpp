#include "interop/onnx/known_values.h"

#include <algorithm>

#include "engine/reference/reference_backend.h"

namespace stoker {

namespace {

// Nodes without anything that changes from one prediction to the next, the batch size included.
std::set<const Node*> known_nodes(const Graph& graph, const Graph& other, std::set<int>& known) {
  auto same_shape = [&](int id) { return graph.spec(id) == other.spec(id); };
  for (const GraphConstant& constant : graph.constants()) known.insert(constant.value);
  for (const GraphVariable& variable : graph.variables()) known.insert(variable.value);
  std::set<const Node*> nodes;
  for (const Node& node : graph.nodes()) {
    bool fixed = !node.traits().calls_host && !node.traits().random &&
                 std::ranges::all_of(node.outputs, same_shape);
    if (!fixed || !std::ranges::all_of(node.inputs, [&](int id) { return known.contains(id); }))
      continue;
    nodes.insert(&node);
    known.insert(node.outputs.begin(), node.outputs.end());
  }
  return nodes;
}

// Known values that are read by what is not known.
std::set<int> frontier(const Graph& graph, const std::set<const Node*>& nodes,
                       const std::set<int>& known) {
  std::set<int> read;
  auto note = [&](int id) {
    if (known.contains(id)) read.insert(id);
  };
  for (const Node& node : graph.nodes())
    if (!nodes.contains(&node)) std::ranges::for_each(node.inputs, note);
  for (const GraphOutput& output : graph.outputs()) note(output.value);
  return read;
}

// The weight at the beginning of the chain, else the layer.
std::string origin(const Graph& graph, int id) {
  for (const Node* node = graph.producer(id); node != nullptr; node = graph.producer(id)) {
    id = node->inputs[0];
    if (graph.producer(id) == nullptr && graph.values()[size_t(id)].kind != ValueKind::variable)
      return node->scope + "/constant";
  }
  const ValueInfo& info = graph.values()[size_t(id)];
  return info.kind == ValueKind::variable ? graph.variables()[size_t(info.source)].variable.name()
                                          : std::string("constant");
}

}  // namespace

KnownValues known_values(const Graph& graph, const Graph& other) {
  std::set<int> known;
  std::set<const Node*> nodes = known_nodes(graph, other, known);
  std::set<int> read = frontier(graph, nodes, known);
  Graph folding;
  std::map<int, Value> copies;
  for (const GraphConstant& constant : graph.constants())
    copies[constant.value] = folding.constant(constant.tensor);
  for (const GraphVariable& variable : graph.variables())
    copies[variable.value] = folding.variable(variable.variable);
  for (const Node& node : graph.nodes()) {
    if (!nodes.contains(&node)) continue;
    Values inputs;
    for (int id : node.inputs) inputs.push_back(copies.at(id));
    Values outputs = folding.add(*node.op, inputs, node.attrs);
    for (size_t i = 0; i < outputs.size(); ++i) copies[node.outputs[i]] = outputs[i];
  }
  for (int id : read) folding.output(copies.at(id), "");
  KnownValues result{std::move(nodes), {}};
  if (read.empty()) return result;
  auto program = reference_backend().compile(folding, {});
  program->run({});
  size_t index = 0;
  for (int id : read) result.values[id] = {program->output(index++), origin(graph, id)};
  return result;
}

}  // namespace stoker
