// max_pool2d, avg_pool2d and their gradients.
#include <fmt/format.h>

#include "graph/ops/shape_rules.h"
#include "graph/ops/window.h"

namespace stoker {

using namespace rules;

namespace {

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
                .cost = pool_grad_cost,
                .dtypes = floats()});
  registry.add({.name = "avg_pool2d",
                .infer = infer_pool,
                .gradient = avg_pool2d_gradient,
                .cost = pool_cost,
                .dtypes = floats()});
  registry.add({.name = "avg_pool2d_grad",
                .infer = infer_avg_pool2d_grad,
                .cost = pool_grad_cost,
                .dtypes = floats()});
}

}  // namespace stoker
