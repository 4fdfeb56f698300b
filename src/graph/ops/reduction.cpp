// reduce, argmax.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

// The shape with the reduced axes kept as 1.
Shape keep_axes(Shape shape, const Ints& axes) {
  for (int64_t axis : axes) shape.set(int(axis), 1);
  return shape;
}

Shape drop_axes(const Shape& shape, const Ints& axes) {
  Ints dims;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) dims.push_back(shape[axis]);
  return to_shape(dims);
}

void expect_reduction(const Attrs& attrs, const TensorSpec& x) {
  static constexpr auto kKnown =
      std::to_array<std::string_view>({"sum", "mean", "max", "min", "prod"});
  expect_function(attrs, kKnown);
  if (attrs.get<std::string>("fn") == "mean") expect_dtype(x, floats(), "the operand of mean");
  const auto& axes = attrs.get<Ints>("axes");
  for (int64_t axis : axes) expect_axis(axis, x.shape);
  if (std::ranges::adjacent_find(axes, std::greater_equal<>()) != axes.end())
    throw ShapeError("expected axes in ascending order, each once");
}

std::vector<TensorSpec> infer_reduce(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  expect_reduction(attrs, inputs[0]);
  const auto& axes = attrs.get<Ints>("axes");
  Shape kept = keep_axes(inputs[0].shape, axes);
  return {
      {inputs[0].dtype, attrs.get_or("keepdims", false) ? kept : drop_axes(inputs[0].shape, axes)}};
}

// A reduced value with its reduced axes back, so that it broadcasts against x. A scalar does
// anyway.
Value with_axes(const Value& reduced, const Shape& kept) {
  return reduced.shape().rank() == 0 ? reduced : emit::reshape(reduced, kept);
}

// The gradient of an extreme value, shared equally by the elements that have it.
Value extreme_gradient(const Value& x, const Value& y, const Value& dy, const Ints& axes) {
  Value winners = emit::cast(emit::compare("equal", x, y), x.dtype());
  return winners * (dy / emit::reduce("sum", winners, axes, true));
}

// d(prod)/d(x_i) is the product of the others. Division by x_i gives it unless a factor is zero:
// then only that factor has a gradient, and with two zeros none has. Where it is zero because of
// one other factor, that factor stands in it all the same: it has a slope, the second derivative.
Value product_gradient(const Value& x, const Value& dy, const Ints& axes) {
  Value is_zero = emit::compare("equal", x, 0.0);
  Value zeros = emit::reduce("sum", emit::cast(is_zero, x.dtype()), axes, true);
  Value others = emit::select(is_zero, 1.0, x), small = emit::select(is_zero, x, 0.0);
  Value product = emit::reduce("prod", others, axes, true);
  Value zero = emit::reduce("sum", small, axes, true);
  auto with = [&](double count, const Value& then, const Value& otherwise) {
    return emit::select(emit::compare("equal", zeros, count), then, otherwise);
  };
  Value of_zero = with(1, product, with(2, product * (zero - small), 0.0));
  Value of_others = with(0, product / others, with(1, product / others * zero, 0.0));
  return dy * emit::select(is_zero, of_zero, of_others);
}

Values reduce_gradient(const GradientCall& call) {
  const auto& fn = call.attrs.get<std::string>("fn");
  const auto& axes = call.attrs.get<Ints>("axes");
  const Value& x = call.inputs[0];
  Shape kept = keep_axes(x.shape(), axes);
  Value dy = with_axes(call.output_gradients[0], kept);
  if (fn == "sum") return {emit::broadcast_to(dy, x.shape())};
  if (fn == "prod") return {product_gradient(x, dy, axes)};
  if (fn == "mean") {
    double count = double(x.shape().elements()) / double(std::max<int64_t>(kept.elements(), 1));
    return {emit::broadcast_to(dy * (1.0 / count), x.shape())};
  }
  return {extreme_gradient(x, with_axes(call.outputs[0], kept), dy, axes)};
}

std::vector<TensorSpec> infer_argmax(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  int64_t axis = attrs.get<int64_t>("axis");
  expect_axis(axis, inputs[0].shape);
  if (inputs[0].shape[int(axis)] == 0)
    throw ShapeError(fmt::format("axis {} is empty: no element is the largest", axis));
  return {{DType::int64, drop_axes(inputs[0].shape, {axis})}};
}

}  // namespace

void register_reduction_ops(OpRegistry& registry) {
  registry.add({.name = "reduce",
                .infer = infer_reduce,
                .gradient = reduce_gradient,
                .cost = elementwise_cost(1),
                .dtypes = numbers()});
  registry.add(
      {.name = "argmax", .infer = infer_argmax, .cost = elementwise_cost(1), .dtypes = numbers()});
}

}  // namespace stoker
