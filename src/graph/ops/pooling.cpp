// max_pool2d, avg_pool2d and their gradients.
#include <limits>

#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/ops/shape_rules.h"
#include "graph/ops/window.h"

namespace stoker {

using namespace rules;

namespace {

constexpr double kNeverMaximum = -std::numeric_limits<double>::infinity();

// [B, H, W, C] → [B, H', W', C]
Shape output_shape(const Attrs& attrs, const Shape& x) {
  Window window = read_window(attrs, read_pair(attrs, "window"));
  for (size_t i = 0; i < 4; ++i)
    if (window.pads[i] >= window.size[i / 2])
      throw ShapeError(fmt::format(
          "expected padding smaller than the window, got {} for a window of {}x{}: some "
          "windows would hold nothing but padding",
          window.pads[i], window.size[0], window.size[1]));
  auto [height, width] = output_extent(x, window);
  return {x[0], height, width, x[3]};
}

std::vector<TensorSpec> infer_pool(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  expect_rank(inputs[0], 4, "4-D input [B, H, W, C]");
  return {{inputs[0].dtype, output_shape(attrs, inputs[0].shape)}};
}

std::vector<TensorSpec> infer_max_pool2d_grad(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 3);
  TensorSpec y = infer_pool(attrs, inputs.first(1))[0];
  expect_spec(inputs[1], y, "the pooled");
  expect_spec(inputs[2], y, "an output gradient");
  return {inputs[0]};
}

std::vector<TensorSpec> infer_avg_pool2d_grad(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  expect_length(attrs.get<Ints>("input_shape"), 4, "input_shape");
  Shape x = to_shape(attrs.get<Ints>("input_shape"));
  expect_shape(inputs[0], output_shape(attrs, x), "an output gradient");
  return {{inputs[0].dtype, x}};
}

Values max_pool2d_gradient(const GradientCall& call) {
  Attrs attrs = call.attrs;
  attrs.set("activation", std::string());
  return {apply1("max_pool2d_grad", {call.inputs[0], call.outputs[0], call.output_gradients[0]},
                 std::move(attrs))};
}

Values avg_pool2d_gradient(const GradientCall& call) {
  const Shape& x = call.inputs[0].shape();
  Attrs attrs = call.attrs;
  attrs.set("input_shape", Ints(x.begin(), x.end()));
  return {apply1("avg_pool2d_grad", {call.output_gradients[0]}, std::move(attrs))};
}

// Element (row, column) of every window of an image with `fill` around it: [B, H', W', C].
Value elements_at(const Value& x, const Window& window, const Shape& y, int64_t row, int64_t column,
                  double fill) {
  const Shape& shape = x.shape();
  std::array<int64_t, 2> offset = {row, column};
  Ints before = {0, 0, 0, 0}, after = {0, 0, 0, 0}, begin = {0, 0, 0, 0}, size = emit::dims(shape);
  for (size_t i = 0; i < 2; ++i) {
    int64_t covered = y[int(i) + 1] * window.strides[i];  // whole strides from the offset on
    before[i + 1] = window.pads[2 * i];
    after[i + 1] = std::max<int64_t>(0, offset[i] + covered - before[i + 1] - shape[int(i) + 1]);
    begin[i + 1] = offset[i];
    size[i + 1] = covered;
  }
  Value padded = apply1("pad", {x}, {{"before", before}, {"after", after}, {"value", fill}});
  Value blocks =
      emit::reshape(emit::slice(padded, begin, size),
                    {shape[0], y[1], window.strides[0], y[2], window.strides[1], shape[3]});
  Value firsts = emit::slice(blocks, {0, 0, 0, 0, 0, 0}, {shape[0], y[1], 1, y[2], 1, shape[3]});
  return emit::reshape(firsts, y);
}

// dx takes dy to where each window's first maximum is, so its gradient takes g from there. It is
// constant in x and y by pieces.
Values max_pool2d_grad_gradient(const GradientCall& call) {
  if (!call.attrs.get_or<std::string>("activation", "").empty())
    throw Error("a fused max_pool2d_grad has no gradient; take gradients before fusing");
  const Value &x = call.inputs[0], &y = call.inputs[1], &g = call.output_gradients[0];
  Window window = read_window(call.attrs, read_pair(call.attrs, "window"));
  Values gradients(3);
  if (!call.needed[2]) return gradients;
  Value taken = y * 0.0;
  for (int64_t i = window.size[0] * window.size[1];
       i-- > 0;) {  // the first maximum has the last word
    int64_t row = i / window.size[1], column = i % window.size[1];
    Value here = elements_at(x, window, y.shape(), row, column, kNeverMaximum);
    taken = emit::select(emit::compare("equal", here, y),
                         elements_at(g, window, y.shape(), row, column, 0.0), taken);
  }
  gradients[2] = taken;
  return gradients;
}

Values avg_pool2d_grad_gradient(const GradientCall& call) {
  Attrs attrs;
  for (const char* name : {"window", "strides", "pads"}) attrs.set(name, *call.attrs.find(name));
  return {apply1("avg_pool2d", {call.output_gradients[0]}, std::move(attrs))};
}

// One operation for every element of every window; `pooled` has one element a window.
Cost window_cost(const Attrs& attrs, const TensorSpec& pooled, Specs inputs, Specs outputs) {
  auto [height, width] = read_pair(attrs, "window");
  return cost_of(elements(pooled) * double(height * width), inputs, outputs);
}

Cost pool_cost(const Attrs& attrs, Specs inputs, Specs outputs) {
  return window_cost(attrs, outputs[0], inputs, outputs);
}

Cost pool_grad_cost(const Attrs& attrs, Specs inputs, Specs outputs) {
  return window_cost(attrs, inputs.back(), inputs, outputs);
}

}  // namespace

void register_pooling_ops(OpRegistry& registry) {
  registry.add({.name = "max_pool2d",
                .infer = infer_pool,
                .gradient = max_pool2d_gradient,
                .cost = pool_cost,
                .dtypes = floats()});
  registry.add({.name = "max_pool2d_grad",
                .infer = infer_max_pool2d_grad,
                .gradient = max_pool2d_grad_gradient,
                .cost = pool_grad_cost,
                .dtypes = floats()});
  registry.add({.name = "avg_pool2d",
                .infer = infer_pool,
                .gradient = avg_pool2d_gradient,
                .cost = pool_cost,
                .dtypes = floats()});
  registry.add({.name = "avg_pool2d_grad",
                .infer = infer_avg_pool2d_grad,
                .gradient = avg_pool2d_grad_gradient,
                .cost = pool_grad_cost,
                .dtypes = floats()});
}

}  // namespace stoker
