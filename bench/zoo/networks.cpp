#include "zoo/networks.h"

#include <stoker/applications.h>

namespace stoker::bench {

std::vector<Network> networks() {
  return {
      {"resnet18", resnet18, 256, 8},
      {"resnet50", resnet50, 256, 4},
      {"vgg_cifar", vgg_cifar, 512, 32, {32, 32, 3}, 10},
      {"xception_mini", xception_mini, 128, 8, {180, 180, 3}, 2},
      {"mobilenet_v1", mobilenet_v1, 128, 8, {224, 224, 3}, 1000, false, 1.5},
      {"efficientnet_b0", efficientnet_b0, 128, 8, {224, 224, 3}, 1000, false, 1.5},
      {"mlp_big", mlp_big, 1024, 128, {1024}, 1000, false, 1.15},
      {"unet", unet, 32, 2, {160, 160, 3}, 3, true, 1.5},
      {"vit_s16", vit_s16, 128, 4},
      {"convnext_tiny", convnext_tiny, 128, 4, {224, 224, 3}, 1000, false, 1.3},
      {"densenet121", densenet121, 128, 4},
      {"shufflenet", shufflenet, 256, 8},
      {"mlp_mixer", mlp_mixer, 128, 4},
      {"fpn_dilated", fpn_dilated, 32, 2, {192, 192, 3}, 8, true},
  };
}

Picture picture(const Shape& shape) {
  Value input = Input(shape, {.dtype = DType::uint8});
  return {input, Rescaling(1.0 / 255)(input)};
}

namespace {

Value activated(const Value& x, const std::string& activation) {
  return activation.empty() ? x : Activation(activation)(x);
}

}  // namespace

Value conv_bn(const Value& x, int64_t filters, int64_t kernel, int64_t stride,
              const std::string& activation, int64_t dilation) {
  Value y = Conv2D(
      filters, kernel,
      {.strides = stride, .padding = "same", .dilation_rate = dilation, .use_bias = false})(x);
  return activated(BatchNormalization()(y), activation);
}

Value depthwise_bn(const Value& x, int64_t kernel, int64_t stride, const std::string& activation) {
  Value y = DepthwiseConv2D(kernel, {.strides = stride, .padding = "same", .use_bias = false})(x);
  return activated(BatchNormalization()(y), activation);
}

Model classifier(const Picture& picture, const Value& features, int64_t classes) {
  return {picture.input, Dense(classes, {.activation = "softmax", .dtype = "float32"})(features)};
}

Model resnet18() { return applications::resnet18({.dtype = DType::uint8}); }
Model resnet50() { return applications::resnet50({.dtype = DType::uint8}); }

}  // namespace stoker::bench
