// unary, binary, compare, select, cast, moving_average.
#include <array>

#include <fmt/format.h>

#include "graph/autodiff.h"
#include "graph/emit.h"
#include "graph/ops/shape_rules.h"
#include "graph/unary.h"
#include "graph/unary_slope.h"

namespace stoker {

using namespace rules;

namespace {

void expect_one_dtype(const TensorSpec& a, const TensorSpec& b) {
  if (a.dtype != b.dtype)
    throw ShapeError(
        fmt::format("expected operands of one dtype, got {} and {}; ops::cast converts one",
                    name(a.dtype), name(b.dtype)));
}

// --- unary ---

std::vector<TensorSpec> infer_unary(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  unary_info(attrs.get<std::string>("fn"));
  return {inputs[0]};
}

std::vector<TensorSpec> infer_unary_grad(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  unary_info(attrs.get<std::string>("fn"));
  expect_spec(inputs[1], inputs[0], "an output gradient");
  return {inputs[0]};
}

Values unary_gradient(const GradientCall& call) {
  const UnaryInfo& info = unary_info(call.attrs.get<std::string>("fn"));
  const Value& dy = call.output_gradients[0];
  switch (info.fn) {
    case UnaryFn::neg:
      return {-dy};
    case UnaryFn::sign:
    case UnaryFn::floor:
    case UnaryFn::round:
      return {Value()};  // flat almost everywhere
    default:
      return {apply1("unary_grad",
                     {info.gradient_from_output ? call.outputs[0] : call.inputs[0], dy},
                     call.attrs)};
  }
}

// unary_grad = dy · f'(s), where s is x or y: linear in dy.
Values unary_grad_gradient(const GradientCall& call) {
  const UnaryInfo& info = unary_info(call.attrs.get<std::string>("fn"));
  const Value &from = call.inputs[0], &dy = call.inputs[1], &g = call.output_gradients[0];
  double alpha = call.attrs.get_or("alpha", 0.0);
  Values gradients(2);
  if (call.needed[1]) gradients[1] = apply1("unary_grad", {from, g}, call.attrs);
  if (!call.needed[0]) return gradients;
  auto slope = [&](const Values& in) -> Values { return {unary_slope(info, in[0], alpha)}; };
  gradients[0] = pull_back(call.graph, {from}, {true}, slope, {g * dy})[0];
  return gradients;
}

Cost unary_cost(const Attrs& attrs, Specs inputs, Specs outputs) {
  return cost_of(unary_info(attrs.get<std::string>("fn")).flops * elements(outputs[0]), inputs,
                 outputs);
}

// --- binary ---

std::vector<TensorSpec> infer_binary(const Attrs& attrs, Specs inputs) {
  static constexpr auto kKnown = std::to_array<std::string_view>(
      {"add", "sub", "mul", "div", "pow", "maximum", "minimum", "mod", "floor_div", "bit_and",
       "bit_or", "bit_xor", "shift_left", "shift_right"});
  expect_count(inputs, 2);
  expect_function(attrs, kKnown);
  expect_one_dtype(inputs[0], inputs[1]);
  const auto& fn = attrs.get<std::string>("fn");
  if (fn == "pow") expect_dtype(inputs[0], floats(), "operands");
  if (fn.starts_with("bit_") || fn.starts_with("shift_"))
    expect_dtype(inputs[0], integers(), "operands");
  return {{inputs[0].dtype, broadcast(inputs[0].shape, inputs[1].shape)}};
}

// log(a) where a is positive, else 0: the exponent of a non-positive base gets no gradient.
Value log_or_zero(const Value& a) {
  return emit::unary("log", emit::select(emit::compare("greater", a, 0.0), a, 1.0));
}

// b · a^(b - 1), and 0 for b = 0 whatever a is: there 0^-1 is kept out, also of the derivatives.
Value power_slope(const Value& a, const Value& b) {
  Value base = emit::select(emit::compare("equal", b, 0.0),
                            emit::select(emit::compare("equal", a, 0.0), 1.0, a), a);
  return b * emit::binary("pow", base, b - 1.0);
}

// d(loss)/d(operand) before it is summed over broadcast axes.
Value binary_gradient_of(const std::string& fn, bool first, const Value& a, const Value& b,
                         const Value& y, const Value& dy) {
  if (fn == "add") return dy;
  if (fn == "sub") return first ? dy : -dy;
  if (fn == "mul") return dy * (first ? b : a);
  if (fn == "div") return first ? dy / b : -(dy * y / b);
  if (fn == "pow") return dy * (first ? power_slope(a, b) : y * log_or_zero(a));
  if (fn == "mod") return first ? dy : -(dy * emit::binary("floor_div", a, b));
  Value a_wins = emit::compare(fn == "maximum" ? "greater_equal" : "less_equal", a, b);
  return first ? emit::select(a_wins, dy, 0.0) : emit::select(a_wins, 0.0, dy);
}

Values binary_gradient(const GradientCall& call) {
  const auto& fn = call.attrs.get<std::string>("fn");
  const Value &a = call.inputs[0], &b = call.inputs[1];
  Values gradients(2);
  if (fn == "floor_div") return gradients;  // flat almost everywhere
  for (size_t i = 0; i < 2; ++i) {
    if (!call.needed[i]) continue;
    Value wide = binary_gradient_of(fn, i == 0, a, b, call.outputs[0], call.output_gradients[0]);
    gradients[i] = emit::sum_to(wide, call.inputs[i].shape());
  }
  return gradients;
}

// --- compare, select ---

std::vector<TensorSpec> infer_compare(const Attrs& attrs, Specs inputs) {
  static constexpr auto kKnown = std::to_array<std::string_view>(
      {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"});
  expect_count(inputs, 2);
  expect_function(attrs, kKnown);
  expect_one_dtype(inputs[0], inputs[1]);
  return {{DType::bool_, broadcast(inputs[0].shape, inputs[1].shape)}};
}

std::vector<TensorSpec> infer_select(const Attrs&, Specs inputs) {
  expect_count(inputs, 3);
  expect_dtype(inputs[1], all_but_bytes(), "operands");
  expect_one_dtype(inputs[1], inputs[2]);
  return {
      {inputs[1].dtype, broadcast(inputs[0].shape, broadcast(inputs[1].shape, inputs[2].shape))}};
}

Values select_gradient(const GradientCall& call) {
  const Value &condition = call.inputs[0], &dy = call.output_gradients[0];
  Values gradients(3);
  if (call.needed[1])
    gradients[1] = emit::sum_to(emit::select(condition, dy, 0.0), call.inputs[1].shape());
  if (call.needed[2])
    gradients[2] = emit::sum_to(emit::select(condition, 0.0, dy), call.inputs[2].shape());
  return gradients;
}

// --- cast, moving_average ---

std::vector<TensorSpec> infer_cast(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  DType dtype = dtype_from_name(attrs.get<std::string>("dtype"));
  if (dtype == DType::bytes) throw ShapeError("nothing can be cast to bytes");
  return {{dtype, inputs[0].shape}};
}

Values cast_gradient(const GradientCall& call) {
  return {emit::cast(call.output_gradients[0], call.inputs[0].dtype())};
}

std::vector<TensorSpec> infer_moving_average(const Attrs&, Specs inputs) {
  expect_count(inputs, 2);
  expect_spec(inputs[1], inputs[0], "a new value");
  return {inputs[0]};
}

std::vector<DType> comparable() {
  std::vector<DType> dtypes = numbers();
  dtypes.insert(dtypes.end(), {DType::uint8, DType::bool_});
  return dtypes;
}

}  // namespace

void register_elementwise_ops(OpRegistry& registry) {
  registry.add({.name = "unary",
                .infer = infer_unary,
                .gradient = unary_gradient,
                .cost = unary_cost,
                .dtypes = floats(),
                .in_place = shares({{0, 0}}),
                .traits = {.elementwise = true}});
  registry.add({.name = "unary_grad",
                .infer = infer_unary_grad,
                .gradient = unary_grad_gradient,
                .cost = unary_cost,
                .dtypes = floats(),
                .in_place = shares({{0, 0}, {0, 1}}),
                .traits = {.elementwise = true}});
  registry.add({.name = "binary",
                .infer = infer_binary,
                .gradient = binary_gradient,
                .cost = elementwise_cost(1),
                .dtypes = numbers(),
                .in_place = shares({{0, 0}, {0, 1}}),
                .traits = {.elementwise = true, .operands = Operands::one_dtype}});
  registry.add({.name = "compare",
                .infer = infer_compare,
                .cost = elementwise_cost(1),
                .dtypes = comparable(),
                .traits = {.elementwise = true, .operands = Operands::one_dtype}});
  registry.add(
      {.name = "select",
       .infer = infer_select,
       .gradient = select_gradient,
       .cost = elementwise_cost(1),
       .dtypes = {DType::bool_},
       .in_place = shares({{0, 1}, {0, 2}}),
       .traits = {.elementwise = true, .operands = Operands::one_dtype, .main_operand = 1}});
  registry.add({.name = "cast",
                .infer = infer_cast,
                .gradient = cast_gradient,
                .cost = no_flops(),
                .dtypes = all_but_bytes(),
                .traits = {.elementwise = true}});
  registry.add({.name = "moving_average",
                .infer = infer_moving_average,
                .cost = elementwise_cost(3),
                .dtypes = {DType::float32},
                .in_place = shares({{0, 0}}),
                .traits = {.updates_variables = true, .elementwise = true}});
}

}  // namespace stoker
