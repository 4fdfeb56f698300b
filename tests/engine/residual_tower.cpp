#include "engine/residual_tower.h"

#include <cmath>

#include <fmt/format.h>

#include "support/draw.h"

namespace stoker::test {

std::string TowerOptions::text() const {
  return fmt::format("{}x{}x{}, {} channels, window {}, {}{}", batch, height, width, channels,
                     window, name(dtype), kinks ? "" : ", without kinks");
}

double unit_roundoff(DType dtype) {
  return dtype == DType::bfloat16 ? 0x1p-8 : dtype == DType::float16 ? 0x1p-11 : 0x1p-24;
}

ResidualTower::ResidualTower(const TowerOptions& options, uint64_t seed)
    : options_(options), rng_(seed, 5), shake_(options.shake_seed, 6) {
  TensorSpec image{DType::float32, {options.batch, options.height, options.width, 3}};
  inputs = {draw(image, {}, rng_)};
  Value x = graph.input("x", image);
  x = shaken(in_dtype(x));
  x = relu(norm(convolution(x, options.channels, 3, 1)));
  int64_t window = options.window, pad = window / 2;
  ops::Pool pool{.window = {window, window}, .strides = {2, 2}, .padding = {pad, pad, pad, pad}};
  x = options.kinks ? ops::max_pool2d(x, pool) : shaken(ops::average_pool2d(x, pool));
  x = block(block(x, 2), 1);
  x = ops::cast(x, DType::float32);
  graph.output(x, "image");
  // Slopes of their own: the mean of squares hardly changes behind a batch norm, and its gradients
  // would be what rounding leaves of large numbers.
  Value loss = ops::mean(x * graph.constant(draw({DType::float32, x.shape()}, {}, rng_)));
  Graph::Scope backward(graph, Phase::backward);
  for (const Value& gradient : gradients(loss, parameters_)) graph.output(gradient, "gradient");
}

Variable ResidualTower::parameter(const Shape& shape, double low, double high) {
  parameters_.emplace_back(fmt::format("p{}", parameters_.size()),
                           draw({DType::float32, shape}, {low, high}, rng_));
  return parameters_.back();
}

Value ResidualTower::convolution(const Value& x, int64_t filters, int64_t kernel, int64_t stride) {
  int64_t channels = x.shape()[3], pad = kernel / 2;
  double range = std::sqrt(3.0 / double(kernel * kernel * channels));
  Value w = graph.variable(parameter({kernel, kernel, channels, filters}, -range, range));
  return shaken(
      ops::conv2d(x, in_dtype(w), {.strides = {stride, stride}, .padding = {pad, pad, pad, pad}}));
}

Value ResidualTower::norm(const Value& x) {
  int64_t channels = x.shape()[3];
  Variable gamma = parameter({channels}, 0.5, 1.5), beta = parameter({channels}, -0.5, 0.5);
  return shaken(ops::batch_norm(x, gamma, beta).y);
}

Value ResidualTower::relu(const Value& x) {
  return options_.kinks ? ops::relu(x) : shaken(ops::tanh(x));
}

Value ResidualTower::in_dtype(const Value& x) {
  return options_.dtype == DType::float32 ? x : ops::cast(x, options_.dtype);
}

Value ResidualTower::shaken(const Value& x) {
  if (options_.shake == 0) return x;
  double unit = options_.shake * unit_roundoff(options_.dtype);
  Tensor factors = draw({DType::float32, x.shape()}, {1 - unit, 1 + unit}, shake_);
  return in_dtype(ops::cast(x, DType::float32) * graph.constant(factors));
}

Value ResidualTower::block(const Value& x, int64_t stride) {
  int64_t channels = x.shape()[3];
  Value y = relu(norm(convolution(x, channels, 3, stride)));
  y = norm(convolution(y, channels, 1, 1));
  Value shortcut = stride > 1 ? norm(convolution(x, channels, 1, stride)) : x;
  if (stride > 1 && options_.shortcut_slope != 1) {
    Value zero = shortcut - ops::stop_gradient(shortcut);
    shortcut = shortcut + zero * (options_.shortcut_slope - 1);
  }
  return relu(shaken(y + shortcut));
}

}  // namespace stoker::test
