#include "graph/placement.h"

#include <fmt/format.h>

#include "graph/graph.h"

namespace stoker {

namespace {

// Whether `inner` is the body of a loop in `outer`, or of one in such a body.
bool is_around(const Graph* outer, const Graph* inner) {
  while (inner != nullptr && inner != outer) inner = inner->outer();
  return inner == outer && inner != nullptr;
}

}  // namespace

Graph* graph_of(std::string_view what, const Values& inputs) {
  Graph* graph = nullptr;
  bool sketched = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined())
      throw Error(fmt::format("{}: input {} is an undefined Value", what, i));
    sketched |= inputs[i].sketched() != nullptr;
    const Value::Traced* traced = inputs[i].traced();
    if (traced == nullptr) continue;
    if (graph != nullptr && is_around(traced->graph, graph)) continue;
    if (graph != nullptr && graph != traced->graph && !is_around(graph, traced->graph))
      throw Error(
          fmt::format("{}: its inputs belong to two different graphs; a value of one function() or "
                      "step cannot be used in another, pass it in as an input",
                      what));
    graph = traced->graph;
  }
  if (graph != nullptr && sketched)
    throw Error(
        fmt::format("{}: it mixes values of a running step with values of a functional model; call "
                    "the model on the step's values instead of using its Input() directly",
                    what));
  if (sketched) return nullptr;
  if (graph == nullptr) graph = Graph::current();
  if (graph == nullptr)
    throw Error(
        fmt::format("{}: none of its inputs belongs to a graph; call it inside Layer::call or "
                    "function(), start from Input(), or compute it now: compute([&] {{ return … "
                    "}})",
                    what));
  return graph;
}

Value place(Graph& graph, const Value& value) {
  if (const Value::Read* read = value.read())
    return graph.read(read->variable, read->graph == graph.serial() ? read->updates : SIZE_MAX);
  if (const Tensor* constant = value.constant()) return graph.constant(*constant);
  if (const double* scalar = value.scalar()) return graph.number(Tensor(float(*scalar)));
  if (value.traced() && value.traced()->graph != &graph && is_around(value.traced()->graph, &graph))
    return graph.capture(value);
  return value;
}

Values place(Graph& graph, const Values& values) {
  Values placed;
  for (const Value& value : values) placed.push_back(place(graph, value));
  return placed;
}

}  // namespace stoker
