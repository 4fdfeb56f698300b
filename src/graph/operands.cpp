#include "graph/operands.h"

#include <algorithm>
#include <array>
#include <optional>

#include "graph/graph.h"
#include "graph/placement.h"
#include "graph/sketch.h"

namespace stoker {

namespace {

// The tensor of a constant that is part of a graph, or of none yet; null for anything else.
const Tensor* constant_of(const Value& value) {
  const Value::Traced* traced = value.traced();
  if (traced == nullptr) return value.constant();
  const ValueInfo& info = traced->graph->values()[size_t(traced->id)];
  if (Value outer = traced->graph->captured_from(traced->id); outer.defined())
    return constant_of(outer);
  if (info.kind != ValueKind::constant) return nullptr;
  return &traced->graph->constants()[size_t(info.source)].tensor;
}

bool is_variable(const Value& value) {
  const Value::Traced* traced = value.traced();
  if (traced == nullptr) return value.variable() != nullptr;
  Value outer = traced->graph->captured_from(traced->id);
  return outer.defined() ? is_variable(outer) : traced->graph->is_read(traced->id);
}

// Whether a float32 value follows the 16-bit ones that it meets: variables do, and constants
// that 16 bits can hold (not an attention mask's -1e9 in float16).
bool follows(const Value& value, DType dtype) {
  if (value.dtype() != DType::float32) return false;
  if (is_variable(value)) return true;
  const Tensor* constant = constant_of(value);
  return constant != nullptr && std::ranges::all_of(constant->values<float>(), [&](float number) {
           return holds(dtype, double(number));
         });
}

// What the operands that are no numbers become together. Where float32 meets 16-bit floats, weights
// follow; a float32 result does not.
std::optional<DType> common_dtype(const Values& operands, size_t first) {
  std::optional<DType> all, brief;
  for (size_t i = first; i < operands.size(); ++i) {
    if (operands[i].scalar()) continue;
    DType dtype = operands[i].dtype();
    all = all ? promoted(*all, dtype) : dtype;
    if (dtype != DType::float32) brief = brief ? promoted(*brief, dtype) : dtype;
  }
  if (!brief || !is_floating(*brief) || *brief == *all) return all;
  for (size_t i = first; i < operands.size(); ++i)
    if (!operands[i].scalar() && operands[i].dtype() == DType::float32 &&
        !follows(operands[i], *brief))
      return all;
  return brief;
}

// `dtype`, or the next one that holds the number.
DType beside_number(DType dtype, double number) {
  if (holds(dtype, number)) return dtype;
  if (is_floating(dtype)) return DType::float32;
  for (DType integer : {DType::int32, DType::int64})
    if (holds(integer, number)) return promoted(dtype, integer);
  return DType::float32;
}

// What the op computes in where its operands are of `dtype`: there is integer arithmetic for int32
// and int64, and a quotient of integers is a float.
DType computed_in(const OpDef& op, const Attrs& attrs, DType dtype) {
  if (is_floating(dtype) || dtype == DType::bytes) return dtype;
  bool computes = op.name == "binary", compares = op.name == "compare";
  if (computes && attrs.get<std::string>("fn") == "div") return DType::float32;
  bool odd = dtype == DType::int8 || dtype == DType::int16;
  return computes || (compares && odd) ? promoted(dtype, DType::int32) : dtype;
}

DType one_dtype(const OpDef& op, const Attrs& attrs, const Values& operands) {
  size_t first = op.traits.main_operand;
  std::optional<DType> common = common_dtype(operands, first);
  DType dtype = common.value_or(DType::float32);
  if (dtype == DType::bytes) return dtype;
  bool quotient = op.name == "binary" && attrs.get<std::string>("fn") == "div";
  if (quotient) dtype = computed_in(op, attrs, dtype);
  for (size_t i = first; i < operands.size(); ++i)
    if (const double* number = operands[i].scalar()) dtype = beside_number(dtype, *number);
  return computed_in(op, attrs, dtype);
}

Value cast_node(Graph* graph, const Value& value, DType dtype) {
  const OpDef& cast = OpRegistry::get().find("cast");
  Attrs attrs = {{"dtype", std::string(name(dtype))}};
  return graph ? graph->add(cast, {value}, attrs)[0] : sketch(cast, {value}, attrs)[0];
}

// `value` in `dtype`; a cast that would only undo another one is left out.
Value as_dtype(Graph* graph, const Value& value, DType dtype) {
  if (const double* number = value.scalar()) {
    Tensor constant = Tensor::full({}, *number, dtype);
    return graph ? graph->number(constant) : Value(constant);
  }
  if (value.dtype() == dtype || value.dtype() == DType::bytes) return value;
  if (const Value::Traced* traced = value.traced(); traced && is_floating(dtype)) {
    const Node* node = graph->producer(traced->id);
    if (node != nullptr && node->is("cast") && is_floating(value.dtype()) &&
        graph->spec(node->inputs[0]).dtype == dtype)
      return graph->value(node->inputs[0]);
  }
  // What a loop reads from around it is converted there, once.
  if (value.traced() != nullptr)
    if (Value outer = graph->captured_from(value.traced()->id); outer.defined())
      return graph->capture(as_dtype(graph->outer(), outer, dtype));
  return cast_node(graph, value, dtype);
}

// Floats alone: an integer operand of a product is an error of its shape rule.
Value as_float(Graph* graph, const Value& value, DType dtype) {
  return is_floating(value.dtype()) ? as_dtype(graph, value, dtype) : value;
}

Values product_operands(Graph* graph, Values operands) {
  DType compute = graph ? graph->compute_dtype() : DType::float32;
  // In float32 a product is as written, 16-bit floats included, unless its operands differ.
  if (compute == DType::float32) {
    compute = *common_dtype(operands, 0);
    if (!is_floating(compute)) return operands;
  }
  for (Value& operand : operands) operand = as_float(graph, operand, compute);
  return operands;
}

Values adapted(Graph* graph, const OpDef& op, const Attrs& attrs, Values operands) {
  if (op.traits.operands == Operands::product) return product_operands(graph, std::move(operands));
  if (op.traits.operands == Operands::one_dtype) {
    DType dtype = one_dtype(op, attrs, operands);
    for (size_t i = op.traits.main_operand; i < operands.size(); ++i)
      operands[i] = as_dtype(graph, operands[i], dtype);
  }
  if (op.traits.operands == Operands::normalization)
    for (size_t i = 1; i < operands.size(); ++i)
      operands[i] = as_float(graph, operands[i], DType::float32);
  return operands;
}

}  // namespace

Values append(Graph& graph, const OpDef& op, const Values& inputs, Attrs attrs) {
  bool numbers = op.traits.operands == Operands::one_dtype;  // adapt to what they meet
  Values operands;
  for (const Value& input : inputs)
    operands.push_back(numbers && input.scalar() ? input : place(graph, input));
  operands = adapted(&graph, op, attrs, std::move(operands));
  operands = place(graph, operands);  // a number as select's condition
  return graph.add(op, operands, std::move(attrs));
}

Values append_sketch(const OpDef& op, const Values& inputs, Attrs attrs) {
  Values operands = adapted(nullptr, op, attrs, inputs);
  return sketch(op, operands, std::move(attrs));
}

}  // namespace stoker
