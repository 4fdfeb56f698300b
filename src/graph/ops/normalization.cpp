// batch_norm, batch_norm_inference, layer_norm and the gradient ops.
#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

TensorSpec per_channel(const TensorSpec& x) { return {DType::float32, {x.shape[-1]}}; }

void expect_no_other_gradient(const GradientCall& call, std::string_view op) {
  if (call.output_gradients[1].defined() || call.output_gradients[2].defined())
    throw Error(
        fmt::format("the statistics of {} have no gradient, only its first output has; use "
                    "ops::stop_gradient on them",
                    op));
}

// --- batch_norm ---

std::vector<TensorSpec> infer_batch_norm(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 3);
  attrs.get<double>("epsilon");
  expect_least_rank(inputs[0], 2, "input [.., C]");
  TensorSpec channels = per_channel(inputs[0]);
  expect_spec(inputs[1], channels, "gamma");
  expect_spec(inputs[2], channels, "beta");
  return {inputs[0], channels, channels};
}

std::vector<TensorSpec> infer_batch_norm_grad(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 5, 6);
  attrs.get<double>("epsilon");
  expect_least_rank(inputs[0], 2, "an output gradient [.., C]");
  TensorSpec channels = per_channel(inputs[0]);
  expect_spec(inputs[1], inputs[0], "input");
  expect_spec(inputs[2], channels, "gamma");
  expect_spec(inputs[3], channels, "mean");
  expect_spec(inputs[4], channels, "variance");
  if (inputs.size() == 6) expect_spec(inputs[5], inputs[0], "the output");
  return {inputs[0], channels, channels};
}

Values batch_norm_gradient(const GradientCall& call) {
  expect_no_other_gradient(call, "batch_norm");
  return apply(
      "batch_norm_grad",
      {call.output_gradients[0], call.inputs[0], call.inputs[1], call.outputs[1], call.outputs[2]},
      {{"epsilon", call.attrs.get<double>("epsilon")}, {"activation", std::string()}});
}

std::vector<TensorSpec> infer_batch_norm_inference(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 5);
  attrs.get<double>("epsilon");
  expect_least_rank(inputs[0], 2, "input [.., C]");
  TensorSpec channels = per_channel(inputs[0]);
  for (size_t i = 1; i < 5; ++i)
    expect_spec(inputs[i], channels, std::array{"gamma", "beta", "mean", "variance"}[i - 1]);
  return {inputs[0]};
}

Value sum_to_channels(const Value& x) { return emit::sum_to(x, {x.shape()[-1]}); }

// y = (x - mean) · rstd · gamma + beta, with rstd = 1 / sqrt(variance + epsilon).
Values batch_norm_inference_gradient(const GradientCall& call) {
  const Value &x = call.inputs[0], &gamma = call.inputs[1], &mean = call.inputs[3],
              &variance = call.inputs[4];
  const Value& dy = call.output_gradients[0];
  Value rstd = emit::unary("rsqrt", variance + call.attrs.get<double>("epsilon"));
  Value scale = gamma * rstd;
  Values gradients(5);
  if (call.needed[0]) gradients[0] = dy * emit::cast(scale, x.dtype());
  if (!call.needed[1] && !call.needed[2] && !call.needed[3] && !call.needed[4]) return gradients;

  Value wide = emit::cast(dy, DType::float32);
  Value dbeta = sum_to_channels(wide);
  if (call.needed[2]) gradients[2] = dbeta;
  if (call.needed[3]) gradients[3] = -(scale * dbeta);
  if (!call.needed[1] && !call.needed[4]) return gradients;

  Value dgamma = sum_to_channels(wide * (emit::cast(x, DType::float32) - mean)) * rstd;
  if (call.needed[1]) gradients[1] = dgamma;
  if (call.needed[4]) gradients[4] = scale * rstd * dgamma * -0.5;
  return gradients;
}

// --- layer_norm ---

std::vector<TensorSpec> infer_layer_norm(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 3);
  attrs.get<double>("epsilon");
  const Shape &x = inputs[0].shape, &gamma = inputs[1].shape;
  if (gamma.rank() < 1 || gamma.rank() > x.rank() || trailing(x, gamma.rank()) != gamma)
    throw ShapeError(fmt::format("expected gamma to have the trailing dimensions of {}, got {}",
                                 to_string(x), to_string(gamma)));
  TensorSpec parameters = {DType::float32, gamma};
  expect_spec(inputs[1], parameters, "gamma");
  expect_spec(inputs[2], parameters, "beta");
  TensorSpec statistics = {DType::float32, leading(x, x.rank() - gamma.rank())};
  return {inputs[0], statistics, statistics};
}

std::vector<TensorSpec> infer_layer_norm_grad(const Attrs&, Specs inputs) {
  expect_count(inputs, 5);
  const Shape &x = inputs[0].shape, &gamma = inputs[2].shape;
  if (gamma.rank() > x.rank())
    throw ShapeError("expected gamma to have the trailing dimensions of the input");
  TensorSpec parameters = {DType::float32, trailing(x, gamma.rank())};
  TensorSpec statistics = {DType::float32, leading(x, x.rank() - gamma.rank())};
  expect_spec(inputs[1], inputs[0], "input");
  expect_spec(inputs[2], parameters, "gamma");
  expect_spec(inputs[3], statistics, "mean");
  expect_spec(inputs[4], statistics, "rstd");
  return {inputs[0], parameters, parameters};
}

Values layer_norm_gradient(const GradientCall& call) {
  expect_no_other_gradient(call, "layer_norm");
  return apply("layer_norm_grad", {call.output_gradients[0], call.inputs[0], call.inputs[1],
                                   call.outputs[1], call.outputs[2]});
}

}  // namespace

void register_normalization_ops(OpRegistry& registry) {
  // Two passes over x (sums, then scaling): about 8 operations an element; the gradients need
  // about 11.
  registry.add({.name = "batch_norm",
                .infer = infer_batch_norm,
                .gradient = batch_norm_gradient,
                .cost = elementwise_cost(8),
                .dtypes = floats()});
  registry.add({.name = "batch_norm_grad",
                .infer = infer_batch_norm_grad,
                .cost = elementwise_cost(11),
                .dtypes = floats()});
  registry.add({.name = "batch_norm_inference",
                .infer = infer_batch_norm_inference,
                .gradient = batch_norm_inference_gradient,
                .cost = elementwise_cost(2),
                .dtypes = floats(),
                .in_place = shares({{0, 0}})});
  registry.add({.name = "layer_norm",
                .infer = infer_layer_norm,
                .gradient = layer_norm_gradient,
                .cost = elementwise_cost(8),
                .dtypes = floats()});
  registry.add({.name = "layer_norm_grad",
                .infer = infer_layer_norm_grad,
                .cost = elementwise_cost(11),
                .dtypes = floats()});
}

}  // namespace stoker
