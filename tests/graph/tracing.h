// Small helpers of the graph's tests.
#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stoker/error.h>

#include "graph/graph.h"

namespace stoker::test {

inline Value f32(Graph& graph, const Shape& shape, const std::string& name = "x") {
  return graph.input(name, {DType::float32, shape});
}

inline Value i64(Graph& graph, const Shape& shape, const std::string& name = "ids") {
  return graph.input(name, {DType::int64, shape});
}

inline Variable weight(const std::string& name, const Shape& shape) {
  return Variable(name, Tensor::zeros(shape));
}

// The text of the error that `body` throws; "" when it throws none. It must be an E.
template <class E = ShapeError, class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

// "matmul, binary, unary": the ops of a graph in order.
inline std::string ops_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes())
    text += (text.empty() ? "" : ", ") + std::string(node.op->name);
  return text;
}

inline int count(const Graph& graph, std::string_view op) {
  int found = 0;
  for (const Node& node : graph.nodes()) found += node.op->name == op;
  return found;
}

// The only node of its op.
inline const Node& only(const Graph& graph, std::string_view op) {
  const Node* found = nullptr;
  for (const Node& node : graph.nodes()) {
    if (node.op->name != op) continue;
    if (found != nullptr) throw Error("two nodes are " + std::string(op));
    found = &node;
  }
  if (found == nullptr) throw Error("no node is " + std::string(op));
  return *found;
}

// Whether every node comes after those that compute its inputs, and values know their nodes.
inline bool can_run(const Graph& graph) {
  std::vector<bool> known(graph.values().size());
  for (size_t id = 0; id < known.size(); ++id)
    known[id] = graph.values()[id].kind != ValueKind::computed;
  for (const Node& node : graph.nodes()) {
    for (int id : node.inputs)
      if (!known[size_t(id)]) return false;
    for (int id : node.outputs) {
      if (graph.producer(id) != &node) return false;
      known[size_t(id)] = true;
    }
  }
  for (const GraphOutput& output : graph.outputs())
    if (!known[size_t(output.value)]) return false;
  for (const Assignment& assignment : graph.assignments())
    if (!known[size_t(assignment.value)]) return false;
  return true;
}

}  // namespace stoker::test
