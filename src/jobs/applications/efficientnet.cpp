// EfficientNet and EfficientNetV2: inverted bottlenecks, scaled in width and depth.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <stoker/residual_layers.h>

#include "jobs/applications/keras_network.h"

namespace stoker::applications {

namespace {
namespace efficientnet {

// The two versions differ in little.
struct Version {
  bool second = false;
  double momentum = 0.99;      // of batch normalisation
  const char* depthwise = "";  // what the layer is called
};
constexpr Version kFirst = {false, 0.99, "dwconv"}, kSecond = {true, 0.9, "dwconv2"};

struct Stage {
  int64_t kernel, repeats, in, out, expansion, stride;
  bool squeezes = true;
  bool fused = false;  // one convolution in place of an expanding and a depthwise one
};
using Stages = std::vector<Stage>;

struct Scaling {
  double width, depth;
  int64_t size;
  double dropout = 0.2;
};

struct Block {
  const Version& version;
  Stage stage;
  double drop;         // the share of samples without it
  std::string prefix;  // "block1a_"
};

Initializer conv_initializer() { return VarianceScaling({.scale = 2, .mode = "fan_out"}); }

Value convolution(const Value& x, int64_t filters, int64_t kernel, int64_t stride,
                  const std::string& name) {
  return Conv2D(filters, kernel,
                {.strides = stride,
                 .padding = "same",
                 .use_bias = false,
                 .kernel_initializer = conv_initializer(),
                 .name = name})(x);
}

Value norm(const Value& x, const Version& version, const std::string& name) {
  return BatchNormalization({.momentum = version.momentum, .name = name})(x);
}

// Batch normalisation and swish: "stem_bn", "stem_activation".
Value norm_swish(const Value& x, const Version& version, const std::string& prefix) {
  return Activation("swish", {.name = prefix + "activation"})(norm(x, version, prefix + "bn"));
}

Value depthwise(Value x, const Block& block) {
  bool pads = !block.version.second && block.stage.stride == 2;
  if (pads)
    x = ZeroPadding2D(correct_pad(x, block.stage.kernel), {.name = block.prefix + "dwconv_pad"})(x);
  x = DepthwiseConv2D(block.stage.kernel, {.strides = block.stage.stride,
                                           .padding = pads ? "valid" : "same",
                                           .use_bias = false,
                                           .depthwise_initializer = conv_initializer(),
                                           .name = block.prefix + block.version.depthwise})(x);
  return norm_swish(x, block.version, block.prefix);
}

Value squeezed(const Value& x, const Block& block) {
  const std::string prefix = block.prefix + "se_";
  int64_t filters = x.shape()[3];
  auto pointwise = [&](int64_t out, const char* activation, const char* name) {
    return Conv2D(out, 1,
                  {.padding = "same",
                   .activation = activation,
                   .kernel_initializer = conv_initializer(),
                   .name = prefix + name});
  };
  Value y = GlobalAveragePooling2D({.name = prefix + "squeeze"})(x);
  y = Reshape({1, 1, filters}, {.name = prefix + "reshape"})(y);
  y = pointwise(std::max<int64_t>(1, block.stage.in / 4), "swish", "reduce")(y);
  y = pointwise(filters, "sigmoid", "expand")(y);
  return Multiply({.name = prefix + "excite"})({x, y});
}

Value bottleneck(const Value& x, const Block& block) {
  const auto& [version, stage, drop, prefix] = block;
  bool expands = stage.expansion != 1;
  Value y = x;
  if (expands) {
    int64_t wide = stage.in * stage.expansion;
    y = stage.fused ? convolution(y, wide, stage.kernel, stage.stride, prefix + "expand_conv")
                    : convolution(y, wide, 1, 1, prefix + "expand_conv");
    y = norm_swish(y, version, prefix + "expand_");
  }
  if (!stage.fused) y = depthwise(y, block);
  if (stage.squeezes) y = squeezed(y, block);
  bool whole = stage.fused && !expands;  // the projection is the block's only convolution
  y = convolution(y, stage.out, whole ? stage.kernel : 1, whole ? stage.stride : 1,
                  prefix + "project_conv");
  y = norm(y, version, prefix + "project_bn");
  if (whole) y = Activation("swish", {.name = prefix + "project_activation"})(y);
  if (stage.stride != 1 || stage.in != stage.out) return y;
  if (drop > 0) y = StochasticDepth(drop, {.name = prefix + "drop"})(y);
  return Add({.name = prefix + "add"})({y, x});
}

int64_t scaled_filters(int64_t filters, const Scaling& scaling, const Version& version) {
  double wide = double(filters) * scaling.width;
  if (!version.second) return make_divisible(wide);
  return std::max<int64_t>(8, int64_t(wide + 4) / 8 * 8);
}

Value body(Value x, const Stages& stages, const Scaling& scaling, const Version& version) {
  constexpr double kDropConnect = 0.2;
  auto repeats = [&](const Stage& stage) {
    return int64_t(std::ceil(scaling.depth * double(stage.repeats)));
  };
  double blocks = 0;  // Keras counts them before scaling in the second version
  for (const Stage& stage : stages)
    blocks += double(version.second ? stage.repeats : repeats(stage));
  int64_t done = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    Stage stage = stages[i];
    stage.in = scaled_filters(stage.in, scaling, version);
    stage.out = scaled_filters(stage.out, scaling, version);
    for (int64_t j = 0; j < repeats(stages[i]); ++j) {
      double drop = kDropConnect * double(done++) / blocks;
      x = bottleneck(x, {version, stage, drop, fmt::format("block{}{}_", i + 1, char('a' + j))});
      stage.stride = 1;
      stage.in = stage.out;
    }
  }
  return x;
}

Model head(const Network& network, Value x, const Scaling& scaling, const Version& version) {
  x = convolution(x, scaled_filters(1280, scaling, version), 1, 1, "top_conv");
  x = norm_swish(x, version, "top_");
  if (!network.options.include_top) return complete(network, pooled(network, x, kPoolNames));
  x = GlobalAveragePooling2D({.name = kPoolNames.average})(x);
  x = Dropout(scaling.dropout, {.name = "top_dropout"})(x);
  return complete(
      network, predictions(network, x,
                           VarianceScaling(
                               {.scale = 1.0 / 3, .mode = "fan_out", .distribution = "uniform"})));
}

Model make_first(char number, const Scaling& scaling, const ApplicationOptions& options) {
  const Stages stages = {{3, 1, 32, 16, 1, 1},  {3, 2, 16, 24, 6, 2},  {5, 2, 24, 40, 6, 2},
                         {3, 3, 40, 80, 6, 2},  {5, 3, 80, 112, 6, 1}, {5, 4, 112, 192, 6, 2},
                         {3, 1, 192, 320, 6, 1}};
  Network network =
      start(fmt::format("EfficientNetB{}", number).c_str(), fmt::format("efficientnetb{}", number),
            options, {.standard = scaling.size});
  Value x = Normalization({.name = "normalization"})(Rescaling(1.0 / 255)(network.input));
  x = ZeroPadding2D(correct_pad(x, 3), {.name = "stem_conv_pad"})(x);
  x = Conv2D(scaled_filters(32, scaling, kFirst), 3,
             {.strides = 2,
              .use_bias = false,
              .kernel_initializer = conv_initializer(),
              .name = "stem_conv"})(x);
  x = norm_swish(x, kFirst, "stem_");
  return head(network, body(x, stages, scaling, kFirst), scaling, kFirst);
}

Stages stages_of(const std::string& variant) {
  if (variant == "S")
    return {{3, 2, 24, 24, 1, 1, false, true},
            {3, 4, 24, 48, 4, 2, false, true},
            {3, 4, 48, 64, 4, 2, false, true},
            {3, 6, 64, 128, 4, 2},
            {3, 9, 128, 160, 6, 1},
            {3, 15, 160, 256, 6, 2}};
  if (variant == "M")
    return {{3, 3, 24, 24, 1, 1, false, true},
            {3, 5, 24, 48, 4, 2, false, true},
            {3, 5, 48, 80, 4, 2, false, true},
            {3, 7, 80, 160, 4, 2},
            {3, 14, 160, 176, 6, 1},
            {3, 18, 176, 304, 6, 2},
            {3, 5, 304, 512, 6, 1}};
  if (variant == "L")
    return {{3, 4, 32, 32, 1, 1, false, true},
            {3, 7, 32, 64, 4, 2, false, true},
            {3, 7, 64, 96, 4, 2, false, true},
            {3, 10, 96, 192, 4, 2},
            {3, 19, 192, 224, 6, 1},
            {3, 25, 224, 384, 6, 2},
            {3, 7, 384, 640, 6, 1}};
  return {{3, 1, 32, 16, 1, 1, false, true},
          {3, 2, 16, 32, 4, 2, false, true},
          {3, 2, 32, 48, 4, 2, false, true},
          {3, 3, 48, 96, 4, 2},
          {3, 5, 96, 112, 6, 1},
          {3, 8, 112, 192, 6, 2}};
}

Value preprocessed(const Value& x, bool imagenet) {
  if (!imagenet) return Rescaling(1.0 / 128, -1)(x);
  return Normalization(
      {.mean = {0.485, 0.456, 0.406}, .variance = {0.229 * 0.229, 0.224 * 0.224, 0.225 * 0.225}})(
      Rescaling(1.0 / 255)(x));
}

Model make_second(const std::string& variant, const Scaling& scaling,
                  const PreprocessingOptions& options) {
  std::string lower = variant;
  lower[0] = char(std::tolower(lower[0]));
  Stages stages = stages_of(variant);
  Network network = start(("EfficientNetV2" + variant).c_str(), "efficientnetv2-" + lower,
                          common_options(options), {.standard = scaling.size});
  Value x = network.input;
  if (options.include_preprocessing) x = preprocessed(x, variant[0] == 'B' && x.shape()[3] == 3);
  x = convolution(x, scaled_filters(stages[0].in, scaling, kSecond), 3, 2, "stem_conv");
  x = norm_swish(x, kSecond, "stem_");
  return head(network, body(x, stages, scaling, kSecond), scaling, kSecond);
}

}  // namespace efficientnet
}  // namespace

Model EfficientNetB0(const ApplicationOptions& options) {
  return efficientnet::make_first('0', {1.0, 1.0, 224, 0.2}, options);
}
Model EfficientNetB1(const ApplicationOptions& options) {
  return efficientnet::make_first('1', {1.0, 1.1, 240, 0.2}, options);
}
Model EfficientNetB2(const ApplicationOptions& options) {
  return efficientnet::make_first('2', {1.1, 1.2, 260, 0.3}, options);
}
Model EfficientNetB3(const ApplicationOptions& options) {
  return efficientnet::make_first('3', {1.2, 1.4, 300, 0.3}, options);
}
Model EfficientNetB4(const ApplicationOptions& options) {
  return efficientnet::make_first('4', {1.4, 1.8, 380, 0.4}, options);
}
Model EfficientNetB5(const ApplicationOptions& options) {
  return efficientnet::make_first('5', {1.6, 2.2, 456, 0.4}, options);
}
Model EfficientNetB6(const ApplicationOptions& options) {
  return efficientnet::make_first('6', {1.8, 2.6, 528, 0.5}, options);
}
Model EfficientNetB7(const ApplicationOptions& options) {
  return efficientnet::make_first('7', {2.0, 3.1, 600, 0.5}, options);
}

Model EfficientNetV2B0(const PreprocessingOptions& options) {
  return efficientnet::make_second("B0", {1.0, 1.0, 224}, options);
}
Model EfficientNetV2B1(const PreprocessingOptions& options) {
  return efficientnet::make_second("B1", {1.0, 1.1, 240}, options);
}
Model EfficientNetV2B2(const PreprocessingOptions& options) {
  return efficientnet::make_second("B2", {1.1, 1.2, 260}, options);
}
Model EfficientNetV2B3(const PreprocessingOptions& options) {
  return efficientnet::make_second("B3", {1.2, 1.4, 300}, options);
}
Model EfficientNetV2S(const PreprocessingOptions& options) {
  return efficientnet::make_second("S", {1.0, 1.0, 384}, options);
}
Model EfficientNetV2M(const PreprocessingOptions& options) {
  return efficientnet::make_second("M", {1.0, 1.0, 480}, options);
}
Model EfficientNetV2L(const PreprocessingOptions& options) {
  return efficientnet::make_second("L", {1.0, 1.0, 480}, options);
}

}  // namespace stoker::applications
