#include "engine/random_network.h"

#include <cmath>

#include <fmt/format.h>
#include <stoker/ops.h>

namespace stoker::test {

RandomNetwork::RandomNetwork(uint64_t seed) : rng_(seed, 77) {
  static constexpr Step kSteps[] = {&RandomNetwork::convolution, &RandomNetwork::bias,
                                    &RandomNetwork::activation,  &RandomNetwork::activation,
                                    &RandomNetwork::pooling,     &RandomNetwork::normalization,
                                    &RandomNetwork::shortcut};
  TensorSpec image{
      DType::float32,
      {pick({1, 2, 3}), pick({7, 8, 12, 13}), pick({7, 9, 12}), pick({1, 2, 3, 4, 5, 8})}};
  x_ = graph.input("x", image);
  inputs = {draw(image, {}, rng_), Tensor()};
  stem();
  for (int64_t step = pick({1, 3, 5, 7}); step > 0; --step)
    (this->*kSteps[rng_.integer(0, std::ssize(kSteps))])();
  head();
}

int64_t RandomNetwork::pick(std::initializer_list<int64_t> choices) {
  return choices.begin()[rng_.integer(0, std::ssize(choices))];
}

Variable RandomNetwork::parameter(const Shape& shape, double low, double high) {
  parameters.emplace_back(fmt::format("p{}", parameters.size()),
                          draw({DType::float32, shape}, {low, high}, rng_));
  return parameters.back();
}

void RandomNetwork::then(const std::string& what, const Value& value) {
  story += (story.empty() ? "" : " | ") + what;
  earlier_.push_back(x_);
  x_ = value;
}

// The usual beginning, so that it is met often.
void RandomNetwork::stem() {
  convolution();
  if (pick({0, 1, 1}) == 0) return;
  bias();
  then("relu", ops::relu(x_));
  if (pick({0, 1}) == 1 && x_.shape()[1] >= 2 && x_.shape()[2] >= 2)
    then("max 2x2 s2", ops::max_pool2d(x_));
}

// Layers that pad, as in networks that came from elsewhere.
void RandomNetwork::padding() {
  if (pick({0, 0, 0, 1}) == 0) return;
  int64_t top = pick({0, 1, 1, 2}), bottom = pick({0, 1, 1}), left = pick({0, 1, 1, 2}),
          right = pick({0, 1, 1});
  then(fmt::format("pad {}{}{}{}", top, bottom, left, right),
       ops::pad(x_, {0, top, left, 0}, {0, bottom, right, 0}));
}

void RandomNetwork::convolution() {
  padding();
  int64_t height = pick({1, 2, 3, 3, 5}), width = pick({1, 3, 3, 5}), channels = x_.shape()[3];
  bool depthwise = pick({0, 0, 0, 1}) == 1;
  int64_t groups = depthwise ? channels : channels % 2 == 0 ? pick({1, 1, 2}) : 1;
  int64_t filters = groups * pick({1, 2, 3, 8});
  ops::Conv options{.strides = {pick({1, 1, 2}), pick({1, 1, 2})},
                    .padding = {},
                    .dilation = {1, 1},
                    .groups = groups};
  if (pick({0, 1}) == 1)
    options.padding = ops::same_padding(x_.shape(), {height, width}, options.strides);
  const ops::Padding& pad = options.padding;
  if (x_.shape()[1] + pad.top + pad.bottom < height || x_.shape()[2] + pad.left + pad.right < width)
    return;
  double range = std::sqrt(6.0 / double(height * width * channels / groups));
  Variable kernel = parameter({height, width, channels / groups, filters}, -range, range);
  then(fmt::format("conv {}x{}x{}x{} s{}{} g{} pad {}{}{}{}", height, width, channels / groups,
                   filters, options.strides[0], options.strides[1], groups, pad.top, pad.bottom,
                   pad.left, pad.right),
       ops::conv2d(x_, kernel, options));
}

void RandomNetwork::bias() { then("bias", x_ + Value(parameter({x_.shape()[3]}, -0.5, 0.5))); }

void RandomNetwork::activation() {
  static const char* const kNames[] = {"relu", "relu", "tanh",      "sigmoid",
                                       "elu",  "gelu", "leaky_relu"};
  std::string name = kNames[rng_.integer(0, std::ssize(kNames))];
  then(name, ops::activation(x_, name));
}

void RandomNetwork::pooling() {
  padding();
  int64_t window = pick({2, 2, 3}), stride = pick({1, 2, 2});
  ops::Pool options{.window = {window, window}, .strides = {stride, stride}, .padding = {}};
  if (window == 3 && pick({0, 1}) == 1) options.padding = {1, 1, 1, 1};
  if (x_.shape()[1] < window || x_.shape()[2] < window) return;
  bool max = pick({0, 1, 1}) == 1;
  then(fmt::format("{} {}x{} s{} pad {}", max ? "max" : "average", window, window, stride,
                   options.padding.top),
       max ? ops::max_pool2d(x_, options) : ops::average_pool2d(x_, options));
}

void RandomNetwork::normalization() {
  int64_t channels = x_.shape()[3];
  bool over_batch = pick({0, 1, 1}) == 1;
  // Of few numbers the variance may be near zero, and rounding would decide everything.
  if ((over_batch ? x_.shape().elements() / channels : channels) < 5) return;
  Variable gamma = parameter({channels}, 0.5, 1.5), beta = parameter({channels}, -0.5, 0.5);
  if (over_batch)
    then("batch norm", ops::batch_norm(x_, gamma, beta).y);
  else
    then("layer norm", ops::layer_norm(x_, gamma, beta));
}

void RandomNetwork::shortcut() {
  for (const Value& value : earlier_)
    if (value.shape() == x_.shape()) return then("shortcut", x_ + value);
}

void RandomNetwork::head() {
  x_ = pick({0, 1}) == 1 ? ops::flatten(x_) : ops::mean(x_, {.axes = {1, 2}});
  Value logits = ops::matmul(x_, parameter({x_.shape()[1], 5}, -0.3, 0.3));
  if (pick({0, 1}) == 1) logits = ops::relu(logits + Value(parameter({5}, -0.5, 0.5)));
  TensorSpec labels{DType::int32, {x_.shape()[0]}};
  inputs[1] = draw(labels, {0, 5}, rng_);
  Value loss = ops::mean(ops::sparse_softmax_cross_entropy(logits, graph.input("y", labels)));
  graph.output(loss, "loss");
  for (const Value& gradient : gradients(loss, parameters)) graph.output(gradient, "gradient");
}

}  // namespace stoker::test
