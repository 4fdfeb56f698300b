// DenseNet: every block adds 32 channels to those of all blocks before it.
#include <array>

#include <fmt/format.h>

#include "jobs/applications/keras_network.h"

namespace stoker::applications {

namespace {
namespace densenet {

constexpr int64_t kGrowth = 32;
using Depths = std::array<int64_t, 4>;

Value norm_relu(const Value& x, const std::string& name) {
  Value y = BatchNormalization({.epsilon = 1.001e-5, .name = name + "bn"})(x);
  return Activation("relu", {.name = name + "relu"})(y);
}

Value block(const Value& x, const std::string& name) {
  Value y = norm_relu(x, name + "_0_");
  y = Conv2D(4 * kGrowth, 1, {.use_bias = false, .name = name + "_1_conv"})(y);
  y = norm_relu(y, name + "_1_");
  y = Conv2D(kGrowth, 3, {.padding = "same", .use_bias = false, .name = name + "_2_conv"})(y);
  return Concatenate(-1, {.name = name + "_concat"})({x, y});
}

Value transition(const Value& x, const std::string& name) {
  Value y = norm_relu(x, name + "_");
  y = Conv2D(x.shape()[3] / 2, 1, {.use_bias = false, .name = name + "_conv"})(y);
  return AveragePooling2D(2, {.strides = 2, .name = name + "_pool"})(y);
}

Model make(const char* function, const char* name, const Depths& depths,
           const ApplicationOptions& options) {
  Network network = start(function, name, options);
  Value x = ZeroPadding2D(3)(network.input);
  x = norm_relu(Conv2D(64, 7, {.strides = 2, .use_bias = false, .name = "conv1_conv"})(x),
                "conv1_");
  x = MaxPooling2D(3, {.strides = 2, .name = "pool1"})(ZeroPadding2D(1)(x));
  for (size_t stage = 0; stage < depths.size(); ++stage) {
    if (stage > 0) x = transition(x, fmt::format("pool{}", stage + 1));
    for (int64_t i = 1; i <= depths[stage]; ++i)
      x = block(x, fmt::format("conv{}_block{}", stage + 2, i));
  }
  return finish(network, norm_relu(x, ""), kPoolNames);
}

}  // namespace densenet
}  // namespace

Model DenseNet121(const ApplicationOptions& options) {
  return densenet::make("DenseNet121", "densenet121", {6, 12, 24, 16}, options);
}
Model DenseNet169(const ApplicationOptions& options) {
  return densenet::make("DenseNet169", "densenet169", {6, 12, 32, 32}, options);
}
Model DenseNet201(const ApplicationOptions& options) {
  return densenet::make("DenseNet201", "densenet201", {6, 12, 48, 32}, options);
}

}  // namespace stoker::applications
