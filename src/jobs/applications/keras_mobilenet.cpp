// MobileNet and MobileNetV2 as Keras has them.
#include <fmt/format.h>

#include "jobs/applications/keras_network.h"

namespace stoker::applications {

namespace {
namespace keras_mobilenet {

struct Block {
  int64_t filters, stride;
};

Value relu6(const Value& x, const std::string& name) {
  return ReLU({.max_value = 6, .name = name})(x);
}

// "mobilenet_1.00_224"
std::string full_name(const char* family, double alpha, const Shape& shape) {
  int64_t rows = shape.rank() == 0 ? 224 : shape[0];
  return fmt::format("{}_{:.2f}_{}", family, alpha, rows < 0 ? "None" : std::to_string(rows));
}

Value norm_relu6(const Value& x, const std::string& name) {
  return relu6(BatchNormalization({.name = name + "_bn"})(x), name + "_relu");
}

Value separable(Value x, Block block, int number, const MobileNetOptions& options) {
  if (block.stride == 2)
    x = ZeroPadding2D({{0, 1}, {0, 1}}, {.name = fmt::format("conv_pad_{}", number)})(x);
  std::string depthwise = fmt::format("conv_dw_{}", number);
  x = DepthwiseConv2D(3, {.strides = block.stride,
                          .padding = block.stride == 1 ? "same" : "valid",
                          .depth_multiplier = options.depth_multiplier,
                          .use_bias = false,
                          .name = depthwise})(x);
  x = norm_relu6(x, depthwise);
  std::string pointwise = fmt::format("conv_pw_{}", number);
  x = Conv2D(int64_t(double(block.filters) * options.alpha), 1,
             {.padding = "same", .use_bias = false, .name = pointwise})(x);
  return norm_relu6(x, pointwise);
}

Value classified(const Network& network, const Value& features, double dropout) {
  int64_t classes = network.options.classes;
  Value x = GlobalAveragePooling2D({.keepdims = true})(features);
  x = Dropout(dropout, {.name = "dropout"})(x);
  x = Conv2D(classes, 1, {.padding = "same", .name = "conv_preds"})(x);
  x = Reshape({classes}, {.name = "reshape_2"})(x);
  return Activation(network.options.classifier_activation, {.name = "predictions"})(x);
}

// --- the second version

Value norm(const Value& x, const std::string& name) {
  return BatchNormalization({.momentum = 0.999, .name = name})(x);
}

Value inverted(const Value& x, Block block, int number, double alpha) {
  int64_t channels = x.shape()[3];
  int64_t filters = make_divisible(double(int64_t(double(block.filters) * alpha)));
  std::string prefix = number == 0 ? "expanded_conv_" : fmt::format("block_{}_", number);
  Value y = x;
  if (number > 0) {
    y = Conv2D(6 * channels, 1,
               {.padding = "same", .use_bias = false, .name = prefix + "expand"})(y);
    y = relu6(norm(y, prefix + "expand_BN"), prefix + "expand_relu");
  }
  if (block.stride == 2) y = ZeroPadding2D(correct_pad(y, 3), {.name = prefix + "pad"})(y);
  y = DepthwiseConv2D(3, {.strides = block.stride,
                          .padding = block.stride == 1 ? "same" : "valid",
                          .use_bias = false,
                          .name = prefix + "depthwise"})(y);
  y = relu6(norm(y, prefix + "depthwise_BN"), prefix + "depthwise_relu");
  y = Conv2D(filters, 1, {.padding = "same", .use_bias = false, .name = prefix + "project"})(y);
  y = norm(y, prefix + "project_BN");
  bool adds = channels == filters && block.stride == 1;
  return adds ? Value(Add({.name = prefix + "add"})({x, y})) : y;
}

}  // namespace keras_mobilenet
}  // namespace

Model MobileNet(const MobileNetOptions& options) {
  using namespace keras_mobilenet;
  constexpr Block kBlocks[] = {{64, 1},  {128, 2},  {128, 1}, {256, 2}, {256, 1},
                               {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                               {512, 1}, {1024, 2}, {1024, 1}};
  check_alpha("MobileNet", options.alpha);
  Network network = start("MobileNet", full_name("mobilenet", options.alpha, options.input_shape),
                          common_options(options));
  Value x =
      Conv2D(int64_t(32 * options.alpha), 3,
             {.strides = 2, .padding = "same", .use_bias = false, .name = "conv1"})(network.input);
  x = norm_relu6(x, "conv1");
  int number = 1;
  for (Block block : kBlocks) x = separable(x, block, number++, options);
  return complete(
      network, options.include_top ? classified(network, x, options.dropout) : pooled(network, x));
}

Model MobileNetV2(const MobileNetV2Options& options) {
  using namespace keras_mobilenet;
  constexpr Block kBlocks[] = {{16, 1}, {24, 2},  {24, 1},  {32, 2},  {32, 1}, {32, 1},
                               {64, 2}, {64, 1},  {64, 1},  {64, 1},  {96, 1}, {96, 1},
                               {96, 1}, {160, 2}, {160, 1}, {160, 1}, {320, 1}};
  check_alpha("MobileNetV2", options.alpha);
  Network network =
      start("MobileNetV2", full_name("mobilenetv2", options.alpha, options.input_shape),
            common_options(options));
  Value x =
      Conv2D(make_divisible(32 * options.alpha), 3,
             {.strides = 2, .padding = "same", .use_bias = false, .name = "Conv1"})(network.input);
  x = relu6(norm(x, "bn_Conv1"), "Conv1_relu");
  int number = 0;
  for (Block block : kBlocks) x = inverted(x, block, number++, options.alpha);
  int64_t last = options.alpha > 1 ? make_divisible(1280 * options.alpha) : 1280;
  x = Conv2D(last, 1, {.use_bias = false, .name = "Conv_1"})(x);
  return finish(network, relu6(norm(x, "Conv_1_bn"), "out_relu"));
}

}  // namespace stoker::applications
