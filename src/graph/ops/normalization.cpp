// batch_norm, batch_norm_inference, layer_norm and the gradient ops.
#include <fmt/format.h>

#include "graph/autodiff.h"
#include "graph/emit.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

TensorSpec per_channel(const TensorSpec& x) { return {DType::float32, {x.shape[-1]}}; }

Value as_float(const Value& x) { return emit::cast(x, DType::float32); }

Value sum_to_channels(const Value& x) { return emit::sum_to(x, {x.shape()[-1]}); }

// a, b or their sum, whichever are defined.
Value sum_of(const Value& a, const Value& b) {
  return a.defined() && b.defined() ? a + b : a.defined() ? a : b;
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

// The gradient of the statistics: d(mean)/d(x) = 1 / n, d(variance)/d(x) = 2 (x − mean) / n.
Value statistics_gradient(const Value& x, const Value& mean, const Value& dmean,
                          const Value& dvariance) {
  double share = double(x.shape()[-1]) / double(std::max<int64_t>(x.shape().elements(), 1));
  Value dx;
  if (dmean.defined()) dx = emit::broadcast_to(dmean * share, x.shape());
  if (dvariance.defined()) dx = sum_of(dx, (as_float(x) - mean) * (dvariance * (2 * share)));
  return dx.defined() ? emit::cast(dx, x.dtype()) : dx;
}

Values batch_norm_gradient(const GradientCall& call) {
  const Value &x = call.inputs[0], &mean = call.outputs[1], &dy = call.output_gradients[0];
  Values gradients(3);
  if (dy.defined())
    gradients =
        apply("batch_norm_grad", {dy, x, call.inputs[1], mean, call.outputs[2]},
              {{"epsilon", call.attrs.get<double>("epsilon")}, {"activation", std::string()}});
  if (call.needed[0])
    gradients[0] = sum_of(gradients[0], statistics_gradient(x, mean, call.output_gradients[1],
                                                            call.output_gradients[2]));
  return gradients;
}

// dx = gamma · rstd · (dy − (Σ dy + z · Σ dy · z) / n), with z = (x − mean) · rstd.
Values compose_batch_norm_grad(const Attrs& attrs, const Values& in) {
  if (in.size() > 5)
    throw Error("a fused batch_norm_grad has no gradient; take gradients before fusing");
  Value dy = as_float(in[0]), x = as_float(in[1]);
  double share = double(x.shape()[-1]) / double(std::max<int64_t>(x.shape().elements(), 1));
  Value rstd = emit::unary("rsqrt", in[4] + attrs.get<double>("epsilon"));
  Value z = (x - in[3]) * rstd;
  Value dbeta = sum_to_channels(dy), dgamma = sum_to_channels(dy * z);
  Value dx = in[2] * rstd * (dy - (dbeta + z * dgamma) * share);
  return {emit::cast(dx, in[0].dtype()), dgamma, dbeta};
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

  Value wide = as_float(dy);
  Value dbeta = sum_to_channels(wide);
  if (call.needed[2]) gradients[2] = dbeta;
  if (call.needed[3]) gradients[3] = -(scale * dbeta);
  if (!call.needed[1] && !call.needed[4]) return gradients;

  Value dgamma = sum_to_channels(wide * (as_float(x) - mean)) * rstd;
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

// A statistic of every row, so that it broadcasts against the row.
Value beside_features(const Value& statistic, int features) {
  Ints dims = emit::dims(statistic.shape());
  dims.insert(dims.end(), size_t(features), 1);
  return emit::reshape(statistic, to_shape(dims));
}

// d(mean)/d(x) = 1 / n, d(rstd)/d(x) = −rstd³ (x − mean) / n.
Value row_statistics_gradient(const GradientCall& call) {
  const Value &x = call.inputs[0], &dmean = call.output_gradients[1],
              &drstd = call.output_gradients[2];
  int features = call.inputs[1].shape().rank();
  double share = 1 / double(std::max<int64_t>(call.inputs[1].shape().elements(), 1));
  Value dx;
  if (dmean.defined()) dx = emit::broadcast_to(beside_features(dmean * share, features), x.shape());
  if (drstd.defined()) {
    Value rstd = call.outputs[2];
    Value slope = drstd * rstd * emit::unary("square", rstd) * -share;
    dx = sum_of(dx, (as_float(x) - beside_features(call.outputs[1], features)) *
                        beside_features(slope, features));
  }
  return dx.defined() ? emit::cast(dx, x.dtype()) : dx;
}

Values layer_norm_gradient(const GradientCall& call) {
  const Value& dy = call.output_gradients[0];
  Values gradients(3);
  if (dy.defined())
    gradients = apply("layer_norm_grad",
                      {dy, call.inputs[0], call.inputs[1], call.outputs[1], call.outputs[2]});
  if (call.needed[0]) gradients[0] = sum_of(gradients[0], row_statistics_gradient(call));
  return gradients;
}

// dx = rstd · (d − (Σ d + z · Σ d · z) / n), with d = dy · gamma and z = (x − mean) · rstd.
Values compose_layer_norm_grad(const Attrs&, const Values& in) {
  Value dy = as_float(in[0]), x = as_float(in[1]);
  const Value& gamma = in[2];
  int features = gamma.shape().rank(), rank = x.shape().rank();
  Ints axes;
  for (int axis = rank - features; axis < rank; ++axis) axes.push_back(axis);
  Value rstd = beside_features(in[4], features);
  Value z = (x - beside_features(in[3], features)) * rstd, d = dy * gamma;
  double share = 1 / double(std::max<int64_t>(gamma.shape().elements(), 1));
  Value mean = emit::reduce("sum", d, axes, true), product = emit::reduce("sum", d * z, axes, true);
  Value dx = rstd * (d - (mean + z * product) * share);
  return {emit::cast(dx, in[0].dtype()), emit::sum_to(dy * z, gamma.shape()),
          emit::sum_to(dy, gamma.shape())};
}

}  // namespace

void register_normalization_ops(OpRegistry& registry) {
  // Two passes over x (sums, then scaling): about 8 operations an element; the gradients need
  // about 11.
  registry.add({.name = "batch_norm",
                .infer = infer_batch_norm,
                .gradient = batch_norm_gradient,
                .cost = elementwise_cost(8),
                .dtypes = floats(),
                .traits = {.operands = Operands::normalization, .epilogue = Epilogue::relu}});
  registry.add({.name = "batch_norm_grad",
                .infer = infer_batch_norm_grad,
                .gradient = gradient_of(compose_batch_norm_grad),
                .cost = elementwise_cost(11),
                .dtypes = floats()});
  registry.add({.name = "batch_norm_inference",
                .infer = infer_batch_norm_inference,
                .gradient = batch_norm_inference_gradient,
                .cost = elementwise_cost(2),
                .dtypes = floats(),
                .in_place = shares({{0, 0}}),
                .traits = {.operands = Operands::normalization, .epilogue = Epilogue::relu}});
  registry.add({.name = "layer_norm",
                .infer = infer_layer_norm,
                .gradient = layer_norm_gradient,
                .cost = elementwise_cost(8),
                .dtypes = floats(),
                .traits = {.operands = Operands::normalization}});
  registry.add({.name = "layer_norm_grad",
                .infer = infer_layer_norm_grad,
                .gradient = gradient_of(compose_layer_norm_grad),
                .cost = elementwise_cost(11),
                .dtypes = floats()});
}

}  // namespace stoker
