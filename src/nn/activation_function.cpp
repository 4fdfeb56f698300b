#include <stoker/error.h>
#include <stoker/layers.h>

#include "graph/graph.h"
#include "graph/remat.h"
#include "nn/remat_mode.h"

namespace stoker {

namespace {

// ops::activation knows the names and lists them in its error; a graph of one value asks it, so
// that a misspelt name fails where it is written and not where the layer is first called.
void expect_known(const std::string& name) {
  Graph graph;
  ops::activation(graph.input("x", {DType::float32, {1, 1}}), name);
}

}  // namespace

ActivationFunction::ActivationFunction(const std::string& name)
    : name_(name.empty() ? "linear" : name) {
  if (name_ == kCustom)
    throw ValueError(
        "this activation was a C++ function, which is not in the file; pass its layer to "
        "load_model, "
        "by the layer's name in .custom_objects.layers");
  expect_known(name_);
}

Value ActivationFunction::operator()(const Value& x) const {
  Graph* graph = x.traced() != nullptr ? x.traced()->graph : nullptr;
  size_t first = graph != nullptr ? graph->nodes().size() : 0;
  Value y = function_ ? function_(x) : ops::activation(x, name_);
  if (graph != nullptr && graph->call() != nullptr && recomputes_activations(graph->call()->layer))
    mark_for_remat(*graph, first);
  return y;
}

}  // namespace stoker
