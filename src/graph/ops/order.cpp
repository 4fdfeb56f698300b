#include "graph/ops/order.h"

#include <array>

#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

TakeShape::TakeShape(const Shape& x, const Shape& indices, int axis)
    : extent(x[axis]), count(indices[-1]), shared(indices.rank() == 1) {
  for (int i = 0; i < axis; ++i) outer *= x[i];
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x[i];
}

namespace {

// --- take ---

// Indices [k], or [a.., k] beside a tensor [a.., n, ..].
void expect_indices(const TensorSpec& indices, const Shape& x, int axis) {
  expect_dtype(indices, integers(), "indices");
  int rank = indices.shape.rank();
  bool own = rank == axis + 1 && leading(indices.shape, axis) == leading(x, axis);
  if (rank != 1 && !own)
    throw ShapeError(
        fmt::format("expected indices [k], or the dimensions {} in front of axis {} and k, got {}",
                    to_string(leading(x, axis)), axis, to_string(indices.shape)));
}

std::vector<TensorSpec> infer_take(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  auto axis = int(attrs.get<int64_t>("axis"));
  expect_axis(axis, inputs[0].shape);
  expect_indices(inputs[1], inputs[0].shape, axis);
  int64_t count = inputs[1].shape[-1];
  if (inputs[0].shape[axis] == 0 && count > 0)
    throw ShapeError(fmt::format("axis {} is empty: there is nothing to take", axis));
  return {{inputs[0].dtype, inputs[0].shape.with(axis, count)}};
}

Values take_gradient(const GradientCall& call) {
  auto axis = call.attrs.get<int64_t>("axis");
  Value dx = apply1("take_grad", {call.inputs[1], call.output_gradients[0]},
                    {{"axis", axis}, {"extent", call.inputs[0].shape()[int(axis)]}});
  return {dx, Value()};
}

std::vector<TensorSpec> infer_take_grad(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  auto axis = int(attrs.get<int64_t>("axis"));
  const TensorSpec& dy = inputs[1];
  expect_dtype(dy, floats(), "an output gradient");
  expect_axis(axis, dy.shape);
  expect_indices(inputs[0], dy.shape, axis);
  if (dy.shape[axis] != inputs[0].shape[-1])
    throw ShapeError(fmt::format("expected {} elements on axis {}, one per index, got {}",
                                 inputs[0].shape[-1], axis, to_string(dy)));
  return {{dy.dtype, dy.shape.with(axis, attrs.get<int64_t>("extent"))}};
}

Values take_grad_gradient(const GradientCall& call) {
  return {Value(), apply1("take", {call.output_gradients[0], call.inputs[0]},
                          {{"axis", call.attrs.get<int64_t>("axis")}})};
}

// What is read, not the whole tensor.
Cost take_cost(const Attrs&, Specs inputs, Specs outputs) {
  return {.flops = 0, .bytes = 2 * bytes(outputs[0]) + bytes(inputs[1])};
}

// --- argsort ---

std::vector<TensorSpec> infer_argsort(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  expect_least_rank(inputs[0], 1, "an operand [.., n]");
  const Shape& shape = inputs[0].shape;
  auto k = attrs.get<int64_t>("k");
  attrs.get<bool>("descending");
  if (k < 1 || k > shape[-1])
    throw ShapeError(
        fmt::format("expected k from 1 to the {} elements of the last axis, got {}", shape[-1], k));
  return {{DType::int32, shape.with(-1, k)}};
}

Cost argsort_cost(const Attrs&, Specs inputs, Specs outputs) {
  // A radix sort of 32-bit keys passes over them four times.
  return cost_of(4 * elements(inputs[0]), inputs, outputs);
}

// --- cumulate: y[t] = x[t] + factor[t] · y[t - 1] ---

std::vector<TensorSpec> infer_cumulate(const Attrs&, Specs inputs) {
  expect_count(inputs, 1, 2);
  expect_least_rank(inputs[0], 1, "an operand [.., n]");
  if (inputs.size() == 2) {
    expect_dtype(inputs[0], floats(), "an operand beside factors");
    expect_spec(inputs[1], inputs[0], "factors");
  }
  return {inputs[0]};
}

// The last axis moved by one place towards its end (or its front), a zero where nothing comes from.
Value shifted(const Value& x, bool to_the_front) {
  const Shape& shape = x.shape();
  if (shape[-1] == 0) return x;
  Ints begin(size_t(shape.rank()), 0), zeros = begin, size = emit::dims(shape), one = begin;
  size.back() -= 1;
  one.back() = 1;
  if (to_the_front) begin.back() = 1;
  return apply1("pad", {emit::slice(x, begin, size)},
                {{"before", to_the_front ? zeros : one},
                 {"after", to_the_front ? one : zeros},
                 {"value", 0.0}});
}

// g[t] = dy[t] + factor[t + 1] · g[t + 1] is the gradient by x; by factor[t] it is g[t] · y[t - 1].
Values cumulate_gradient(const GradientCall& call) {
  bool reverse = call.attrs.get_or("reverse", false);
  Values operands = {call.output_gradients[0]};
  if (call.inputs.size() == 2) operands.push_back(shifted(call.inputs[1], !reverse));
  Value g = apply1("cumulate", operands, {{"reverse", !reverse}});
  if (call.inputs.size() == 1) return {g};
  return {g, call.needed[1] ? g * shifted(call.outputs[0], reverse) : Value()};
}

// --- segment_reduce ---

std::vector<TensorSpec> infer_segment_reduce(const Attrs& attrs, Specs inputs) {
  static constexpr auto kKnown = std::to_array<std::string_view>({"sum", "max", "min"});
  expect_count(inputs, 2);
  expect_function(attrs, kKnown);
  expect_least_rank(inputs[0], 1, "data [n, ..]");
  expect_dtype(inputs[1], integers(), "segment ids");
  expect_shape(inputs[1], leading(inputs[0].shape, 1), "segment ids");
  if (attrs.get<std::string>("fn") == "sum")
    expect_dtype(inputs[0], integers(), "data of a sum (gather_grad sums floats)");
  auto rows = attrs.get<int64_t>("rows");
  if (rows < 1) throw ShapeError(fmt::format("expected 1 segment or more, got {}", rows));
  return {{inputs[0].dtype, inputs[0].shape.with(0, rows)}};
}

// Equal elements share the gradient of their segment's extreme value; dropped ones have none.
Values segment_reduce_gradient(const GradientCall& call) {
  const Value &data = call.inputs[0], &ids = call.inputs[1], &dy = call.output_gradients[0];
  auto rows = call.attrs.get<int64_t>("rows");
  auto of_rows = [&](const Value& x) { return apply1("take", {x, ids}, {{"axis", int64_t(0)}}); };
  const Value no = Tensor::full({}, 0, DType::bool_);
  Value inside = emit::select(emit::compare("greater_equal", ids, 0.0),
                              emit::compare("less", ids, double(rows)), no);
  Ints column(size_t(data.shape().rank()), 1);
  column[0] = ids.shape()[0];
  Value winners = emit::select(emit::reshape(inside, to_shape(column)),
                               emit::compare("equal", data, of_rows(call.outputs[0])), no);
  Value shares = emit::cast(winners, data.dtype());
  Value count = apply1("gather_grad", {ids, shares}, {{"rows", rows}});
  return {shares * of_rows(dy / emit::binary("maximum", count, 1.0)), Value()};
}

}  // namespace

void register_order_ops(OpRegistry& registry) {
  registry.add({.name = "take",
                .infer = infer_take,
                .gradient = take_gradient,
                .cost = take_cost,
                .dtypes = all_but_bytes(),
                .traits = {.moves = true}});
  registry.add({.name = "take_grad",
                .infer = infer_take_grad,
                .gradient = take_grad_gradient,
                .cost = elementwise_cost(1),
                .dtypes = integers()});
  registry.add(
      {.name = "argsort", .infer = infer_argsort, .cost = argsort_cost, .dtypes = numbers()});
  registry.add({.name = "cumulate",
                .infer = infer_cumulate,
                .gradient = cumulate_gradient,
                .cost = elementwise_cost(2),
                .dtypes = numbers()});
  registry.add({.name = "segment_reduce",
                .infer = infer_segment_reduce,
                .gradient = segment_reduce_gradient,
                .cost = elementwise_cost(1),
                .dtypes = numbers()});
}

}  // namespace stoker
