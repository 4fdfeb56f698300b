// VGG, Xception, MobileNet, EfficientNet and U-Net.
#include <algorithm>

#include "zoo/networks.h"

namespace stoker::bench {

Model vgg_cifar() {
  Picture begin = picture({32, 32, 3});
  Value x = begin.x;
  for (int64_t filters : {64, 128, 256, 512})
    x = MaxPooling2D()(conv_bn(conv_bn(x, filters, 3), filters, 3));
  return classifier(begin, GlobalAveragePooling2D()(x), 10);
}

Model xception_mini() {
  auto separable = [](const Value& x, int64_t filters) {
    return BatchNormalization()(
        SeparableConv2D(filters, 3, {.padding = "same", .use_bias = false})(x));
  };
  auto relu = [](const Value& x) { return Activation("relu")(x); };
  Picture begin = picture({180, 180, 3});
  Value x = conv_bn(begin.x, 128, 3, 2);
  for (int64_t filters : {256, 512, 728}) {
    Value y = separable(relu(separable(relu(x), filters)), filters);
    y = MaxPooling2D(3, {.strides = 2, .padding = "same"})(y);
    x = Add()({y, Conv2D(filters, 1, {.strides = 2, .padding = "same"})(x)});
  }
  return classifier(begin, GlobalAveragePooling2D()(relu(separable(x, 1024))), 2);
}

Model mobilenet_v1() {
  struct Block {
    int64_t filters, stride;
  };
  constexpr Block kBlocks[] = {{64, 1},  {128, 2},  {128, 1}, {256, 2}, {256, 1},
                               {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                               {512, 1}, {1024, 2}, {1024, 1}};
  Picture begin = picture({224, 224, 3});
  Value x = conv_bn(begin.x, 32, 3, 2);
  for (Block block : kBlocks)
    x = conv_bn(depthwise_bn(x, 3, block.stride, "relu"), block.filters, 1);
  return classifier(begin, GlobalAveragePooling2D()(x), 1000);
}

namespace {

// An inverted bottleneck with squeeze and excitation.
Value mbconv(const Value& x, int64_t expansion, int64_t filters, int64_t kernel, int64_t stride) {
  int64_t channels = x.shape()[3], wide = channels * expansion;
  Value y = expansion > 1 ? conv_bn(x, wide, 1, 1, "silu") : x;
  y = depthwise_bn(y, kernel, stride, "silu");
  Value squeezed = GlobalAveragePooling2D({.keepdims = true})(y);
  squeezed = Conv2D(std::max<int64_t>(1, channels / 4), 1, {.activation = "silu"})(squeezed);
  y = Multiply()({y, Conv2D(wide, 1, {.activation = "sigmoid"})(squeezed)});
  y = conv_bn(y, filters, 1, 1, "");
  return stride == 1 && channels == filters ? Value(Add()({x, y})) : y;
}

}  // namespace

Model efficientnet_b0() {
  struct Stage {
    int64_t expansion, filters, blocks, stride, kernel;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1, 3}, {6, 24, 2, 2, 3},  {6, 40, 2, 2, 5},
                               {6, 80, 3, 2, 3}, {6, 112, 3, 1, 5}, {6, 192, 4, 2, 5},
                               {6, 320, 1, 1, 3}};
  Picture begin = picture({224, 224, 3});
  Value x = conv_bn(begin.x, 32, 3, 2, "silu");
  for (const Stage& stage : kStages)
    for (int64_t block = 0; block < stage.blocks; ++block)
      x = mbconv(x, stage.expansion, stage.filters, stage.kernel, block == 0 ? stage.stride : 1);
  return classifier(begin, GlobalAveragePooling2D()(conv_bn(x, 1280, 1, 1, "silu")), 1000);
}

Model unet() {
  Picture begin = picture({160, 160, 3});
  Value x = begin.x;
  Values skipped;
  for (int64_t filters : {64, 128, 256}) {
    x = conv_bn(conv_bn(x, filters, 3), filters, 3);
    skipped.push_back(x);
    x = MaxPooling2D()(x);
  }
  x = conv_bn(conv_bn(x, 512, 3), 512, 3);
  for (int64_t filters : {256, 128, 64}) {
    x = Concatenate()({UpSampling2D()(x), skipped.back()});
    skipped.pop_back();
    x = conv_bn(conv_bn(x, filters, 3), filters, 3);
  }
  Value y = Conv2D(3, 1, {.activation = "softmax", .dtype = "float32"})(x);
  return {begin.input, y};
}

}  // namespace stoker::bench
