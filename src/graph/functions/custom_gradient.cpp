#include <stoker/custom_gradient.h>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "graph/graph.h"
#include "graph/own_gradients.h"
#include "graph/placement.h"

namespace stoker::ops {

namespace {

// The graph that is being traced.
Graph& traced_graph(const Values& inputs) {
  Graph* graph = Graph::current();
  for (const Value& input : inputs) {
    if (input.traced() != nullptr) graph = input.traced()->graph;
    if (input.sketched() != nullptr) graph = nullptr;
    if (graph == nullptr) break;
  }
  if (graph == nullptr)
    throw Error(
        "custom_gradient: its inputs belong to no graph; call it in the call() of a layer, in a "
        "loss or "
        "in function(), in a functional model by Lambda(f)(x)");
  if (graph->outer() != nullptr)
    throw Error(
        "custom_gradient: it is called in the body of a loop, whose gradient is traced anew and "
        "would "
        "not know it; write the loop out, or call it around the loop");
  return *graph;
}

void expect_function(bool is_there) {
  if (!is_there) throw ValueError("custom_gradient: the function is empty");
}

}  // namespace

ListFunction custom_gradient(std::function<OutputAndGradients(const Values&)> function) {
  expect_function(bool(function));
  return [function = std::move(function)](const Values& inputs) {
    if (inputs.empty()) throw ValueError("custom_gradient: called without inputs");
    Graph& graph = traced_graph(inputs);
    Values placed;
    for (const Value& input : inputs) placed.push_back(place(graph, input));
    OutputAndGradients made = function(placed);
    if (!made.output.defined() || !made.gradient)
      throw ValueError("custom_gradient: the function returned no output, or no gradient");
    Value output = stop_gradient(place(graph, made.output));
    OwnGradient own{.inputs = {}, .pull = std::move(made.gradient)};
    for (const Value& input : placed) own.inputs.push_back(input.traced()->id);
    graph.notes<OwnGradients>().of[output.traced()->id] = std::move(own);
    return output;
  };
}

UnaryFunction custom_gradient(std::function<OutputAndGradient(const Value&)> function) {
  expect_function(bool(function));
  ListFunction general = custom_gradient([function = std::move(function)](const Values& inputs) {
    OutputAndGradient made = function(inputs[0]);
    OutputAndGradients lists{.output = made.output, .gradient = {}};
    if (made.gradient)
      lists.gradient = [gradient = std::move(made.gradient)](const Value& upstream) {
        return Values{gradient(upstream)};
      };
    return lists;
  });
  return [general = std::move(general)](const Value& x) { return general(Values{x}); };
}

}  // namespace stoker::ops
