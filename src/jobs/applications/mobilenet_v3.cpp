// MobileNetV3: inverted bottlenecks with squeeze-and-excite and hard-swish.
#include <span>

#include <fmt/format.h>

#include "jobs/applications/keras_network.h"

namespace stoker::applications {

namespace {
namespace mobilenet_v3 {

struct Block {
  double expansion;
  int64_t filters, kernel, stride;
  bool squeezes;
  bool swishes;  // hard-swish; else ReLU
};
// Kernels of 5, squeezing and hard-swish are what "minimalistic" leaves out.
constexpr Block kSmall[] = {{1, 16, 3, 2, true, false},
                            {72.0 / 16, 24, 3, 2, false, false},
                            {88.0 / 24, 24, 3, 1, false, false},
                            {4, 40, 5, 2, true, true},
                            {6, 40, 5, 1, true, true},
                            {6, 40, 5, 1, true, true},
                            {3, 48, 5, 1, true, true},
                            {3, 48, 5, 1, true, true},
                            {6, 96, 5, 2, true, true},
                            {6, 96, 5, 1, true, true},
                            {6, 96, 5, 1, true, true}};
constexpr Block kLarge[] = {
    {1, 16, 3, 1, false, false},  {4, 24, 3, 2, false, false},  {3, 24, 3, 1, false, false},
    {3, 40, 5, 2, true, false},   {3, 40, 5, 1, true, false},   {3, 40, 5, 1, true, false},
    {6, 80, 3, 2, false, true},   {2.5, 80, 3, 1, false, true}, {2.3, 80, 3, 1, false, true},
    {2.3, 80, 3, 1, false, true}, {6, 112, 3, 1, true, true},   {6, 112, 3, 1, true, true},
    {6, 160, 5, 2, true, true},   {6, 160, 5, 1, true, true},   {6, 160, 5, 1, true, true}};

Value activated(const Value& x, bool swishes) {
  return swishes ? Activation("hard_swish")(x) : ReLU()(x);
}
Value norm(const Value& x, const std::string& name) {
  return BatchNormalization({.momentum = 0.999, .name = name})(x);
}

Value squeezed(const Value& x, const std::string& prefix) {
  int64_t filters = x.shape()[3];
  Value y =
      GlobalAveragePooling2D({.keepdims = true, .name = prefix + "squeeze_excite_avg_pool"})(x);
  y = Conv2D(make_divisible(double(filters) * 0.25), 1,
             {.padding = "same", .name = prefix + "squeeze_excite_conv"})(y);
  y = ReLU({.name = prefix + "squeeze_excite_relu"})(y);
  y = Conv2D(filters, 1, {.padding = "same", .name = prefix + "squeeze_excite_conv_1"})(y);
  y = Activation("hard_sigmoid")(y);
  return Multiply({.name = prefix + "squeeze_excite_mul"})({x, y});
}

Value inverted(const Value& x, const Block& block, int number, double alpha) {
  int64_t channels = x.shape()[3], filters = make_divisible(double(block.filters) * alpha);
  std::string prefix = number == 0 ? "expanded_conv_" : fmt::format("expanded_conv_{}_", number);
  Value y = x;
  if (number > 0) {
    y = Conv2D(make_divisible(double(channels) * block.expansion), 1,
               {.padding = "same", .use_bias = false, .name = prefix + "expand"})(y);
    y = activated(norm(y, prefix + "expand_bn"), block.swishes);
  }
  if (block.stride == 2)
    y = ZeroPadding2D(correct_pad(y, block.kernel), {.name = prefix + "depthwise_pad"})(y);
  y = DepthwiseConv2D(block.kernel, {.strides = block.stride,
                                     .padding = block.stride == 1 ? "same" : "valid",
                                     .use_bias = false,
                                     .name = prefix + "depthwise"})(y);
  y = activated(norm(y, prefix + "depthwise_bn"), block.swishes);
  if (block.squeezes) y = squeezed(y, prefix);
  y = Conv2D(filters, 1, {.padding = "same", .use_bias = false, .name = prefix + "project"})(y);
  y = norm(y, prefix + "project_bn");
  bool adds = channels == filters && block.stride == 1;
  return adds ? Value(Add({.name = prefix + "add"})({x, y})) : y;
}

Value classified(const Network& network, const Value& features, int64_t last,
                 const MobileNetV3Options& options) {
  if (options.alpha > 1) last = make_divisible(double(last) * options.alpha);
  Value x = GlobalAveragePooling2D({.keepdims = true})(features);
  x = Conv2D(last, 1, {.padding = "same", .name = "conv_2"})(x);
  x = activated(x, !options.minimalistic);
  if (options.dropout_rate > 0) x = Dropout(options.dropout_rate)(x);
  x = Conv2D(options.classes, 1, {.padding = "same", .name = "logits"})(x);
  return Activation(network.options.classifier_activation, {.name = "predictions"})(Flatten()(x));
}

Model make(const char* function, std::span<const Block> blocks, int64_t last,
           const MobileNetV3Options& options) {
  check_alpha(function, options.alpha);
  Network network = start(function, function, common_options(options), {.any_with_top = true});
  Value x = network.input;
  if (options.include_preprocessing) x = Rescaling(1 / 127.5, -1)(x);
  x = Conv2D(16, 3, {.strides = 2, .padding = "same", .use_bias = false, .name = "conv"})(x);
  x = activated(norm(x, "conv_bn"), !options.minimalistic);
  int number = 0;
  for (Block block : blocks) {
    if (options.minimalistic) block.kernel = 3, block.squeezes = block.swishes = false;
    x = inverted(x, block, number++, options.alpha);
  }
  x = Conv2D(make_divisible(double(x.shape()[3]) * 6), 1,
             {.padding = "same", .use_bias = false, .name = "conv_1"})(x);
  x = activated(norm(x, "conv_1_bn"), !options.minimalistic);
  return complete(network, options.include_top ? classified(network, x, last, options)
                                               : pooled(network, x, kPoolNames));
}

}  // namespace mobilenet_v3
}  // namespace

Model MobileNetV3Small(const MobileNetV3Options& options) {
  return mobilenet_v3::make("MobileNetV3Small", mobilenet_v3::kSmall, 1024, options);
}
Model MobileNetV3Large(const MobileNetV3Options& options) {
  return mobilenet_v3::make("MobileNetV3Large", mobilenet_v3::kLarge, 1280, options);
}

}  // namespace stoker::applications
