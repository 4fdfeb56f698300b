#include <cmath>

#include <fmt/format.h>

#include "graph/graph.h"
#include "graph/placement.h"
#include "graph/sketch.h"

namespace stoker {

namespace {

// The first operand that takes part in the arithmetic; select's condition does not.
size_t first_operand(std::string_view op) { return op == "select" ? 1 : 0; }

bool adopts_scalars(std::string_view op) {
  return op == "binary" || op == "compare" || op == "select";
}

Tensor scalar_as(double scalar, DType dtype, std::string_view op) {
  bool whole = scalar == std::trunc(scalar);
  if (!is_floating(dtype) && !whole)
    throw ShapeError(
        fmt::format("{}: the scalar {} would be cut to {} to meet {} values; cast those to float32",
                    op, scalar, std::trunc(scalar), name(dtype)));
  return Tensor::full({}, scalar, dtype);
}

// Scalars written as C++ numbers take the dtype of what they meet.
Values adopt_scalars(std::string_view op, const Values& inputs) {
  DType dtype = DType::float32;
  for (size_t i = inputs.size(); i-- > first_operand(op);)
    if (inputs[i].defined() && !inputs[i].scalar()) dtype = inputs[i].dtype();
  Values adopted = inputs;
  for (size_t i = first_operand(op); i < inputs.size(); ++i)
    if (const double* scalar = inputs[i].scalar()) adopted[i] = scalar_as(*scalar, dtype, op);
  return adopted;
}

}  // namespace

Values apply(std::string_view op, const Values& inputs, Attrs attrs) {
  const OpDef& def = OpRegistry::get().find(op);
  Graph* graph = graph_of(op, inputs);
  Values operands = adopts_scalars(op) ? adopt_scalars(op, inputs) : inputs;
  if (graph == nullptr) return sketch(def, operands, std::move(attrs));
  return graph->add(def, place(*graph, operands), std::move(attrs));
}

}  // namespace stoker
