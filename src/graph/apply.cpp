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
Values adopt_scalars(Graph* graph, std::string_view op, const Values& inputs) {
  DType dtype = DType::float32;
  for (size_t i = inputs.size(); i-- > first_operand(op);)
    if (inputs[i].defined() && !inputs[i].scalar()) dtype = inputs[i].dtype();
  Values adopted = inputs;
  for (size_t i = first_operand(op); i < inputs.size(); ++i)
    if (const double* scalar = inputs[i].scalar()) {
      Tensor number = scalar_as(*scalar, dtype, op);
      adopted[i] = graph != nullptr ? graph->number(number) : Value(number);
    }
  return adopted;
}

// --- mixed precision ---

bool is_product(std::string_view op) { return op == "conv2d" || op == "matmul"; }
bool wants_one_dtype(std::string_view op) { return adopts_scalars(op) || op == "concat"; }

// `value` in `dtype`; a cast that would only undo another one is left out.
Value as_dtype(Graph& graph, const Value& value, DType dtype) {
  if (value.dtype() == dtype || !is_floating(value.dtype())) return value;
  const Node* node = graph.producer(value.traced()->id);
  if (node != nullptr && node->op->name == "cast" && graph.spec(node->inputs[0]).dtype == dtype)
    return graph.value(node->inputs[0]);
  return graph.add(OpRegistry::get().find("cast"), {value},
                   {{"dtype", std::string(name(dtype))}})[0];
}

bool is_weight(const Graph& graph, const Value& value) {
  int id = value.traced()->id;
  return graph.is_read(id) || graph.values()[size_t(id)].kind == ValueKind::constant;
}

// Products compute in the graph's dtype. Where two floating dtypes meet, weights and constants take
// the other's; else the longer one wins.
Values in_compute_dtype(Graph& graph, std::string_view op, Values operands) {
  DType compute = graph.compute_dtype();
  if (is_product(op)) {
    for (Value& operand : operands) operand = as_dtype(graph, operand, compute);
    return operands;
  }
  if (!wants_one_dtype(op)) return operands;
  size_t first = first_operand(op);
  bool low = false, high = false, high_result = false;
  for (size_t i = first; i < operands.size(); ++i) {
    low |= operands[i].dtype() == compute;
    bool is_float32 = operands[i].dtype() == DType::float32;
    high |= is_float32;
    high_result |= is_float32 && !is_weight(graph, operands[i]);
  }
  if (!low || !high) return operands;
  for (size_t i = first; i < operands.size(); ++i)
    operands[i] = as_dtype(graph, operands[i], high_result ? DType::float32 : compute);
  return operands;
}

}  // namespace

Values apply(std::string_view op, const Values& inputs, Attrs attrs) {
  const OpDef& def = OpRegistry::get().find(op);
  Graph* graph = graph_of(op, inputs);
  Values operands = adopts_scalars(op) ? adopt_scalars(graph, op, inputs) : inputs;
  if (graph == nullptr) return sketch(def, operands, std::move(attrs));
  operands = place(*graph, operands);
  if (graph->compute_dtype() != DType::float32)
    operands = in_compute_dtype(*graph, op, std::move(operands));
  return graph->add(def, operands, std::move(attrs));
}

}  // namespace stoker
