#include "engine/residual_tower.h"

#include <cmath>

#include <fmt/format.h>

#include "support/draw.h"

namespace stoker::test {

std::string TowerOptions::text() const {
  return fmt::format("{}x{}x{}, {} channels, window {}, {}", batch, height, width, channels, window,
                     name(dtype));
}

ResidualTower::ResidualTower(const TowerOptions& options, uint64_t seed)
    : dtype_(options.dtype), rng_(seed, 5) {
  TensorSpec image{DType::float32, {options.batch, options.height, options.width, 3}};
  inputs = {draw(image, {}, rng_)};
  Value x = graph.input("x", image);
  if (dtype_ != DType::float32) x = ops::cast(x, dtype_);
  x = ops::relu(norm(convolution(x, options.channels, 3, 1)));
  int64_t window = options.window, pad = window / 2;
  x = ops::max_pool2d(
      x, {.window = {window, window}, .strides = {2, 2}, .padding = {pad, pad, pad, pad}});
  x = block(block(x, 2), 1);
  Value loss = ops::mean(ops::cast(x, DType::float32) * ops::cast(x, DType::float32));
  graph.output(loss, "loss");
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
  if (dtype_ != DType::float32) w = ops::cast(w, dtype_);
  return ops::conv2d(x, w, {.strides = {stride, stride}, .padding = {pad, pad, pad, pad}});
}

Value ResidualTower::norm(const Value& x) {
  int64_t channels = x.shape()[3];
  Variable gamma = parameter({channels}, 0.5, 1.5), beta = parameter({channels}, -0.5, 0.5);
  return ops::batch_norm(x, gamma, beta).y;
}

Value ResidualTower::block(const Value& x, int64_t stride) {
  int64_t channels = x.shape()[3];
  Value y = ops::relu(norm(convolution(x, channels, 3, stride)));
  y = norm(convolution(y, channels, 1, 1));
  Value shortcut = stride > 1 ? norm(convolution(x, channels, 1, stride)) : x;
  return ops::relu(y + shortcut);
}

}  // namespace stoker::test
