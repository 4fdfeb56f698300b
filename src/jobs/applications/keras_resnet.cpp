// ResNet and ResNetV2 as Keras has them: bottlenecks with the stride in the first convolution (V2: in
// the last block of a stage), and convolutions with a bias.
#include <array>

#include <fmt/format.h>

#include "jobs/applications/keras_network.h"

namespace stoker::applications {

namespace {
namespace keras_resnet {

using Depths = std::array<int64_t, 4>;  // blocks per stage

Value norm(const Value& x, const std::string& name) {
  return BatchNormalization({.epsilon = 1.001e-5, .name = name})(x);
}
Value norm_relu(const Value& x, const std::string& name) {
  return Activation("relu", {.name = name + "_relu"})(norm(x, name + "_bn"));
}

Value block_v1(const Value& x, int64_t filters, int64_t stride, bool projects,
               const std::string& name) {
  Value shortcut = x;
  if (projects)
    shortcut = norm(Conv2D(4 * filters, 1, {.strides = stride, .name = name + "_0_conv"})(x),
                    name + "_0_bn");
  Value y =
      norm_relu(Conv2D(filters, 1, {.strides = stride, .name = name + "_1_conv"})(x), name + "_1");
  y = norm_relu(Conv2D(filters, 3, {.padding = "same", .name = name + "_2_conv"})(y), name + "_2");
  y = norm(Conv2D(4 * filters, 1, {.name = name + "_3_conv"})(y), name + "_3_bn");
  y = Add({.name = name + "_add"})({shortcut, y});
  return Activation("relu", {.name = name + "_out"})(y);
}

Value block_v2(const Value& x, int64_t filters, int64_t stride, bool projects,
               const std::string& name) {
  Value preact = norm_relu(x, name + "_preact");
  Value shortcut = x;
  if (projects)
    shortcut = Conv2D(4 * filters, 1, {.strides = stride, .name = name + "_0_conv"})(preact);
  else if (stride > 1)
    shortcut = MaxPooling2D(1, {.strides = stride})(x);
  Value y = norm_relu(Conv2D(filters, 1, {.use_bias = false, .name = name + "_1_conv"})(preact),
                      name + "_1");
  y = ZeroPadding2D(1, {.name = name + "_2_pad"})(y);
  y = norm_relu(
      Conv2D(filters, 3, {.strides = stride, .use_bias = false, .name = name + "_2_conv"})(y),
      name + "_2");
  y = Conv2D(4 * filters, 1, {.name = name + "_3_conv"})(y);
  return Add({.name = name + "_out"})({shortcut, y});
}

Value stages(Value x, const Depths& depths, bool v2) {
  for (size_t stage = 0; stage < depths.size(); ++stage)
    for (int64_t i = 1; i <= depths[stage]; ++i) {
      int64_t filters = 64 << stage;
      std::string name = fmt::format("conv{}_block{}", stage + 2, i);
      // V1 shrinks at the beginning of every stage but the first, V2 at the end of all but the last.
      bool shrinks = v2 ? i == depths[stage] && stage < 3 : i == 1 && stage > 0;
      x = (v2 ? block_v2 : block_v1)(x, filters, shrinks ? 2 : 1, i == 1, name);
    }
  return x;
}

Model make(const char* function, const char* name, const Depths& depths, bool v2,
           const ApplicationOptions& options) {
  Network network = start(function, name, options);
  Value x = ZeroPadding2D(3, {.name = "conv1_pad"})(network.input);
  x = Conv2D(64, 7, {.strides = 2, .name = "conv1_conv"})(x);
  if (!v2) x = norm_relu(x, "conv1");
  x = MaxPooling2D(
      3, {.strides = 2, .name = "pool1_pool"})(ZeroPadding2D(1, {.name = "pool1_pad"})(x));
  x = stages(x, depths, v2);
  if (v2) x = norm_relu(x, "post");
  return finish(network, x, kPoolNames);
}

constexpr Depths k50 = {3, 4, 6, 3}, k101 = {3, 4, 23, 3}, k152 = {3, 8, 36, 3};

}  // namespace keras_resnet
}  // namespace

Model ResNet50(const ApplicationOptions& options) {
  return keras_resnet::make("ResNet50", "resnet50", keras_resnet::k50, false, options);
}
Model ResNet101(const ApplicationOptions& options) {
  return keras_resnet::make("ResNet101", "resnet101", keras_resnet::k101, false, options);
}
Model ResNet152(const ApplicationOptions& options) {
  return keras_resnet::make("ResNet152", "resnet152", keras_resnet::k152, false, options);
}
Model ResNet50V2(const ApplicationOptions& options) {
  return keras_resnet::make("ResNet50V2", "resnet50v2", keras_resnet::k50, true, options);
}
Model ResNet101V2(const ApplicationOptions& options) {
  return keras_resnet::make("ResNet101V2", "resnet101v2", keras_resnet::k101, true, options);
}
Model ResNet152V2(const ApplicationOptions& options) {
  return keras_resnet::make("ResNet152V2", "resnet152v2", keras_resnet::k152, true, options);
}

}  // namespace stoker::applications
