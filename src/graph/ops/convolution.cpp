// conv2d, conv2d_transpose, conv2d_input_grad, conv2d_weight_grad.
#include <fmt/format.h>

#include "graph/image_advice.h"
#include "graph/ops/shape_rules.h"
#include "graph/ops/window.h"

namespace stoker {

using namespace rules;

namespace {

struct Convolution {
  Window window;
  int64_t groups;
};

Convolution convolution(const Attrs& attrs, const std::array<int64_t, 2>& kernel) {
  Convolution conv{.window = read_window(attrs, kernel),
                   .groups = attrs.get_or<int64_t>("groups", 1)};
  if (attrs.has("dilation")) conv.window.dilation = read_pair(attrs, "dilation");
  return conv;
}

void expect_image(const TensorSpec& x, int64_t channels) {
  if (x.shape.rank() == 4) return;
  std::string advice = image_advice(x.shape, channels);
  throw ShapeError(fmt::format("expected 4-D input [B, H, W, C], got {}{}{}", to_string(x.shape),
                               advice.empty() ? "" : "; ", advice));
}

// [B, H, W, C] and [kh, kw, C / groups, filters] → [B, H', W', filters]
Shape output_shape(const Shape& x, const Shape& w, const Convolution& conv) {
  if (conv.groups < 1 || w[3] % conv.groups != 0)
    throw ShapeError(
        fmt::format("expected groups that divide the {} filters, got {}", w[3], conv.groups));
  if (x[3] != w[2] * conv.groups)
    throw ShapeError(
        fmt::format("expected {} input channels for a kernel {} and {} group{}, got {} in {}",
                    w[2] * conv.groups, to_string(w), conv.groups, conv.groups == 1 ? "" : "s",
                    x[3], to_string(x)));
  auto [height, width] = output_extent(x, conv.window);
  return {x[0], height, width, w[3]};
}

std::vector<TensorSpec> infer_conv2d(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2, 3);
  const TensorSpec &x = inputs[0], &w = inputs[1];
  expect_rank(w, 4, "a 4-D kernel [kh, kw, C / groups, filters]");
  expect_image(x, w.shape[2]);
  expect_dtype(w, x.dtype, "a kernel");
  Shape y = output_shape(x.shape, w.shape, convolution(attrs, {w.shape[0], w.shape[1]}));
  if (inputs.size() == 3) expect_spec(inputs[2], {x.dtype, {y[3]}}, "a bias");
  return {{x.dtype, y}};
}

std::vector<TensorSpec> infer_conv2d_input_grad(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  const TensorSpec &dy = inputs[0], &w = inputs[1];
  expect_rank(w, 4, "a 4-D kernel [kh, kw, C / groups, filters]");
  expect_dtype(w, dy.dtype, "a kernel");
  expect_length(attrs.get<Ints>("input_shape"), 4, "input_shape");
  Shape x = to_shape(attrs.get<Ints>("input_shape"));
  expect_shape(dy, output_shape(x, w.shape, convolution(attrs, {w.shape[0], w.shape[1]})),
               "an output gradient");
  return {{dy.dtype, x}};
}

// The image that a convolution of this geometry makes `y` of, with `more` rows and columns that its
// window does not reach.
Shape transposed_shape(const Shape& y, const Shape& w, const Convolution& conv, const Ints& more) {
  Shape x = {y[0], 0, 0, w[2] * conv.groups};
  const Window& window = conv.window;
  for (size_t i = 0; i < 2; ++i) {
    int axis = int(i) + 1;
    if (more[i] < 0 || more[i] >= window.strides[i])
      throw ShapeError(
          fmt::format("expected output_padding of 0 or more and below the stride {}, "
                      "got {}",
                      window.strides[i], more[i]));
    int64_t reach = window.dilation[i] * (window.size[i] - 1) + 1;
    x.set(axis, (y[axis] - 1) * window.strides[i] + reach - window.pads[2 * i] -
                    window.pads[2 * i + 1] + more[i]);
    if (x[axis] < 1)
      throw ShapeError(fmt::format("the padding removes all of the result of {}", to_string(y)));
  }
  return x;
}

std::vector<TensorSpec> infer_conv2d_transpose(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  const TensorSpec &x = inputs[0], &w = inputs[1];
  expect_rank(w, 4, "a 4-D kernel [kh, kw, filters / groups, C]");
  expect_image(x, w.shape[3]);
  expect_dtype(w, x.dtype, "a kernel");
  Convolution conv = convolution(attrs, {w.shape[0], w.shape[1]});
  if (conv.groups < 1 || w.shape[3] != x.shape[3] || x.shape[3] % conv.groups != 0)
    throw ShapeError(fmt::format(
        "expected {} input channels, which {} groups can share, for a kernel {}, got {}",
        w.shape[3], conv.groups, to_string(w.shape), to_string(x.shape)));
  expect_length(attrs.get<Ints>("output_padding"), 2, "output_padding");
  return {{x.dtype, transposed_shape(x.shape, w.shape, conv, attrs.get<Ints>("output_padding"))}};
}

std::vector<TensorSpec> infer_conv2d_weight_grad(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  const TensorSpec &x = inputs[0], &dy = inputs[1];
  expect_rank(x, 4, "4-D input [B, H, W, C]");
  expect_rank(dy, 4, "a 4-D output gradient [B, H', W', filters]");
  expect_dtype(dy, x.dtype, "an output gradient");
  std::array<int64_t, 2> kernel = read_pair(attrs, "kernel");
  Convolution conv = convolution(attrs, kernel);
  Shape w = {kernel[0], kernel[1], x.shape[3] / std::max<int64_t>(conv.groups, 1), dy.shape[3]};
  expect_shape(dy, output_shape(x.shape, w, conv), "an output gradient");
  std::vector<TensorSpec> outputs = {{x.dtype, w}};
  if (attrs.get_or("bias", false)) outputs.push_back({x.dtype, {dy.shape[3]}});
  return outputs;
}

// --- gradients: each op is linear in both operands, and the other two are its gradients ---

Attrs geometry(const Attrs& attrs) {
  Attrs copy;
  for (const char* name : {"strides", "pads", "dilation", "groups"})
    if (const Attr* attr = attrs.find(name)) copy.set(name, *attr);
  return copy;
}

Value input_gradient(const Attrs& attrs, const Value& dy, const Value& w, const Shape& input) {
  Attrs own = geometry(attrs);
  own.set("input_shape", Ints(input.begin(), input.end()));
  return apply1("conv2d_input_grad", {dy, w}, std::move(own));
}

Value weight_gradient(const Attrs& attrs, const Value& x, const Value& dy, const Shape& w) {
  Attrs own = geometry(attrs);
  own.set("kernel", Ints{w[0], w[1]});
  own.set("bias", false);
  return apply1("conv2d_weight_grad", {x, dy}, std::move(own));
}

Value forward(const Attrs& attrs, const Value& x, const Value& w) {
  Attrs own = geometry(attrs);
  own.set("activation", std::string());
  own.set("alpha", 0.0);
  return apply1("conv2d", {x, w}, std::move(own));
}

Values conv2d_gradient(const GradientCall& call) {
  if (call.inputs.size() > 2 || !call.attrs.get_or<std::string>("activation", "").empty())
    throw Error("a fused conv2d has no gradient; take gradients before fusing");
  const Value &x = call.inputs[0], &w = call.inputs[1], &dy = call.output_gradients[0];
  Values gradients(2);
  if (call.needed[0]) gradients[0] = input_gradient(call.attrs, dy, w, x.shape());
  if (call.needed[1]) gradients[1] = weight_gradient(call.attrs, x, dy, w.shape());
  return gradients;
}

// Of conv2d_input_grad, and of conv2d_transpose, which computes the same.
Values conv2d_input_grad_gradient(const GradientCall& call) {
  const Value &dy = call.inputs[0], &w = call.inputs[1], &g = call.output_gradients[0];
  Values gradients(2);
  if (call.needed[0]) gradients[0] = forward(call.attrs, g, w);
  if (call.needed[1]) gradients[1] = weight_gradient(call.attrs, g, dy, w.shape());
  return gradients;
}

Values conv2d_weight_grad_gradient(const GradientCall& call) {
  if (call.attrs.get_or("bias", false))
    throw Error("a fused conv2d_weight_grad has no gradient; take gradients before fusing");
  const Value &x = call.inputs[0], &dy = call.inputs[1], &g = call.output_gradients[0];
  Values gradients(2);
  if (call.needed[0]) gradients[0] = input_gradient(call.attrs, dy, g, x.shape());
  if (call.needed[1]) gradients[1] = forward(call.attrs, x, g);
  return gradients;
}

// --- costs: every output pixel of every filter meets kh · kw · C / groups weights once ---

double multiply_adds(const Shape& y, const Shape& w) {
  return double(y.elements()) * double(w[0]) * double(w[1]) * double(w[2]);
}

Cost conv2d_cost(const Attrs&, Specs inputs, Specs outputs) {
  double bias = inputs.size() == 3 ? elements(outputs[0]) : 0;
  return cost_of(2 * multiply_adds(outputs[0].shape, inputs[1].shape) + bias, inputs, outputs);
}

Cost conv2d_input_grad_cost(const Attrs&, Specs inputs, Specs outputs) {
  return cost_of(2 * multiply_adds(inputs[0].shape, inputs[1].shape), inputs, outputs);
}

Cost conv2d_weight_grad_cost(const Attrs&, Specs inputs, Specs outputs) {
  double bias = outputs.size() == 2 ? elements(inputs[1]) : 0;
  return cost_of(2 * multiply_adds(inputs[1].shape, outputs[0].shape) + bias, inputs, outputs);
}

}  // namespace

void register_convolution_ops(OpRegistry& registry) {
  registry.add(
      {.name = "conv2d",
       .infer = infer_conv2d,
       .gradient = conv2d_gradient,
       .cost = conv2d_cost,
       .dtypes = floats(),
       .traits = {.operands = Operands::product, .epilogue = Epilogue::bias_and_activation}});
  registry.add({.name = "conv2d_transpose",
                .infer = infer_conv2d_transpose,
                .gradient = conv2d_input_grad_gradient,
                .cost = conv2d_input_grad_cost,
                .dtypes = floats(),
                .traits = {.operands = Operands::product}});
  registry.add({.name = "conv2d_input_grad",
                .infer = infer_conv2d_input_grad,
                .gradient = conv2d_input_grad_gradient,
                .cost = conv2d_input_grad_cost,
                .dtypes = floats()});
  registry.add({.name = "conv2d_weight_grad",
                .infer = infer_conv2d_weight_grad,
                .gradient = conv2d_weight_grad_gradient,
                .cost = conv2d_weight_grad_cost,
                .dtypes = floats(),
                .traits = {.weight_gradient = true}});
}

}  // namespace stoker
