// ConvNeXt: depthwise 7×7 convolutions and inverted bottlenecks of Dense layers.
#include <array>

#include <fmt/format.h>
#include <stoker/residual_layers.h>

#include "jobs/applications/keras_network.h"

namespace stoker::applications {

namespace {
namespace convnext {

constexpr double kEpsilon = 1e-6;

using Depths = std::array<int64_t, 4>;
constexpr Depths kShallow = {3, 3, 9, 3}, kDeep = {3, 3, 27, 3};

Layer norm(const std::string& name) {
  return LayerNormalization({.epsilon = kEpsilon, .name = name});
}

Value block(const Value& x, const std::string& name) {
  int64_t width = x.shape()[3];
  Value y =
      Conv2D(width, 7, {.padding = "same", .groups = width, .name = name + "_depthwise_conv"})(x);
  y = norm(name + "_layernorm")(y);
  y = Dense(4 * width, {.name = name + "_pointwise_conv_1"})(y);
  y = Activation("gelu", {.name = name + "_gelu"})(y);
  y = Dense(width, {.name = name + "_pointwise_conv_2"})(y);
  y = LayerScale({.initializer = Constant(1e-6), .name = name + "_layer_scale"})(y);
  return Add()({x, y});
}

// What comes before the blocks of a stage.
Value shrunk(const Value& x, size_t stage, int64_t width, const std::string& name) {
  if (stage == 0)
    return Sequential({Conv2D(width, 4, {.strides = 4, .name = name + "_stem_conv"}),
                       norm(name + "_stem_layernorm")},
                      {.name = name + "_stem"})(x);
  std::string number = std::to_string(stage - 1);
  return Sequential(
      {norm(name + "_downsampling_layernorm_" + number),
       Conv2D(width, 2, {.strides = 2, .name = name + "_downsampling_conv_" + number})},
      {.name = name + "_downsampling_block_" + number})(x);
}

Value classified(const Network& network, const Value& features) {
  const std::string& name = network.options.name;
  Value x = norm(name +
                 "_head_layernorm")(GlobalAveragePooling2D({.name = name + "_head_gap"})(features));
  return Dense(network.options.classes, {.activation = network.options.classifier_activation,
                                         .name = name + "_head_dense"})(x);
}

Model make(const char* function, const char* default_name, const Depths& depths, int64_t width,
           const PreprocessingOptions& options) {
  Network network = start(function, default_name, common_options(options));
  const std::string& name = network.options.name;
  Value x = network.input;
  if (options.include_preprocessing && x.shape()[3] == 3) {
    auto square = [](double deviation) { return deviation * 255 * deviation * 255; };
    x = Normalization({.mean = {0.485 * 255, 0.456 * 255, 0.406 * 255},
                       .variance = {square(0.229), square(0.224), square(0.225)},
                       .name = name + "_prestem_normalization"})(x);
  }
  for (size_t stage = 0; stage < depths.size(); ++stage) {
    x = shrunk(x, stage, width << stage, name);
    for (int64_t i = 0; i < depths[stage]; ++i)
      x = block(x, fmt::format("{}_stage_{}_block_{}", name, stage, i));
  }
  if (options.include_top) return complete(network, classified(network, x));
  return complete(network, norm("layer_normalization")(pooled(network, x)));
}

}  // namespace convnext
}  // namespace

Model ConvNeXtTiny(const PreprocessingOptions& options) {
  return convnext::make("ConvNeXtTiny", "convnext_tiny", convnext::kShallow, 96, options);
}
Model ConvNeXtSmall(const PreprocessingOptions& options) {
  return convnext::make("ConvNeXtSmall", "convnext_small", convnext::kDeep, 96, options);
}
Model ConvNeXtBase(const PreprocessingOptions& options) {
  return convnext::make("ConvNeXtBase", "convnext_base", convnext::kDeep, 128, options);
}
Model ConvNeXtLarge(const PreprocessingOptions& options) {
  return convnext::make("ConvNeXtLarge", "convnext_large", convnext::kDeep, 192, options);
}
Model ConvNeXtXLarge(const PreprocessingOptions& options) {
  return convnext::make("ConvNeXtXLarge", "convnext_xlarge", convnext::kDeep, 256, options);
}

}  // namespace stoker::applications
