// Xception: separable convolutions with residual connections.
#include <algorithm>

#include <fmt/format.h>

#include "jobs/applications/keras_network.h"

namespace stoker::applications {

namespace {
namespace xception {

Value relu(const Value& x, const std::string& name) {
  return Activation("relu", {.name = name})(x);
}
Value norm(const Value& x, const std::string& name) {
  return BatchNormalization({.name = name})(x);
}

Value separable(const Value& x, int64_t filters, const std::string& name) {
  Value y = SeparableConv2D(filters, 3, {.padding = "same", .use_bias = false, .name = name})(x);
  return norm(y, name + "_bn");
}

Value entry(Value x) {
  constexpr const char* kNames[] = {"block1_conv1", "block1_conv2"};
  for (int i = 0; i < 2; ++i) {
    std::string name = kNames[i];
    x = Conv2D(32 << i, 3, {.strides = i == 0 ? 2 : 1, .use_bias = false, .name = name})(x);
    x = relu(norm(x, name + "_bn"), name + "_act");
  }
  return x;
}

// Two separable convolutions and a pooling, around them a projection.
Value shrinking(const Value& x, int block, int64_t first, int64_t filters, KerasNames& names) {
  Value residual = Conv2D(
      filters, 1, {.strides = 2, .padding = "same", .use_bias = false, .name = names("conv2d")})(x);
  residual = norm(residual, names("batch_normalization"));
  std::string prefix = fmt::format("block{}", block);
  // Block 2 begins with what an activation gave.
  Value y = block == 2 ? x : relu(x, prefix + "_sepconv1_act");
  y = separable(y, first, prefix + "_sepconv1");
  y = separable(relu(y, prefix + "_sepconv2_act"), filters, prefix + "_sepconv2");
  y = MaxPooling2D(3, {.strides = 2, .padding = "same", .name = prefix + "_pool"})(y);
  return Add()({y, residual});
}

Value middle(const Value& x, int block) {
  Value y = x;
  for (int i = 1; i <= 3; ++i) {
    std::string name = fmt::format("block{}_sepconv{}", block, i);
    y = separable(relu(y, name + "_act"), 728, name);
  }
  return Add()({y, x});
}

}  // namespace xception
}  // namespace

Model Xception(const ApplicationOptions& options) {
  Network network = start("Xception", "xception", options, {.standard = 299, .least = 71});
  KerasNames names;
  Value x = xception::entry(network.input);
  int block = 2;
  for (int64_t filters : {128, 256, 728})
    x = xception::shrinking(x, block++, filters, filters, names);
  for (; block < 13; ++block) x = xception::middle(x, block);
  x = xception::shrinking(x, block, 728, 1024, names);
  for (int64_t filters : {1536, 2048}) {
    std::string name = filters == 1536 ? "block14_sepconv1" : "block14_sepconv2";
    x = xception::relu(xception::separable(x, filters, name), name + "_act");
  }
  return finish(network, x, {.average = options.include_top ? "avg_pool" : ""});
}

}  // namespace stoker::applications
