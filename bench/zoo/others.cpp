// Networks that no kernel was written for: DenseNet-121, a ShuffleNet, an MLP-Mixer and a
// segmentation network with dilations and a feature pyramid.
#include "zoo/networks.h"

namespace stoker::bench {

namespace {

Value bn_relu(const Value& x) { return Activation("relu")(BatchNormalization()(x)); }

Value plain_conv(const Value& x, int64_t filters, int64_t kernel) {
  return Conv2D(filters, kernel, {.padding = "same", .use_bias = false})(x);
}

}  // namespace

Model densenet121() {
  constexpr int64_t kGrowth = 32;
  constexpr int64_t kBlocks[] = {6, 12, 24, 16};
  Picture begin = picture({224, 224, 3});
  Value x = MaxPooling2D(3, {.strides = 2, .padding = "same"})(conv_bn(begin.x, 64, 7, 2));
  for (int64_t layers : kBlocks) {
    if (layers != kBlocks[0]) x = AveragePooling2D()(plain_conv(bn_relu(x), x.shape()[3] / 2, 1));
    for (int64_t layer = 0; layer < layers; ++layer) {
      Value y = plain_conv(bn_relu(x), 4 * kGrowth, 1);
      x = Concatenate()({x, plain_conv(bn_relu(y), kGrowth, 3)});
    }
  }
  return classifier(begin, GlobalAveragePooling2D()(bn_relu(x)), 1000);
}

namespace {

// [B, H, W, 2 · half] → channels of the two halves in turn.
Value shuffled(const Value& x) {
  const Shape& shape = x.shape();
  int64_t half = shape[3] / 2;
  Value y = Permute({1, 2, 4, 3})(Reshape({shape[1], shape[2], 2, half})(x));
  return Reshape({shape[1], shape[2], 2 * half})(y);
}

Value shuffle_unit(const Value& x, int64_t filters, int64_t stride) {
  int64_t half = filters / 2;
  auto branch = [&](const Value& in) {
    Value y = depthwise_bn(conv_bn(in, half, 1), 3, stride, "");
    return conv_bn(y, half, 1);
  };
  if (stride == 1) {
    Values parts = ops::split(x, 2, 3);
    return shuffled(Concatenate()({parts[0], branch(parts[1])}));
  }
  Value left = conv_bn(depthwise_bn(x, 3, 2, ""), half, 1);
  return shuffled(Concatenate()({left, branch(x)}));
}

}  // namespace

Model shufflenet() {
  struct Stage {
    int64_t filters, units;
  };
  constexpr Stage kStages[] = {{116, 4}, {232, 8}, {464, 4}};
  Picture begin = picture({224, 224, 3});
  Value x = MaxPooling2D(3, {.strides = 2, .padding = "same"})(conv_bn(begin.x, 24, 3, 2));
  for (Stage stage : kStages)
    for (int64_t unit = 0; unit < stage.units; ++unit)
      x = shuffle_unit(x, stage.filters, unit == 0 ? 2 : 1);
  return classifier(begin, GlobalAveragePooling2D()(conv_bn(x, 1024, 1)), 1000);
}

Model mlp_mixer() {
  constexpr int64_t kTokens = 196, kWidth = 512, kTokenWidth = 256;
  auto mlp = [](const Value& x, int64_t wide, int64_t narrow) {
    return Dense(narrow)(Dense(wide, {.activation = "gelu"})(x));
  };
  auto normalised = [](const Value& x) { return LayerNormalization({.epsilon = 1e-6})(x); };
  Picture begin = picture({224, 224, 3});
  Value x = Reshape({kTokens, kWidth})(Conv2D(kWidth, 16, {.strides = 16})(begin.x));
  for (int block = 0; block < 8; ++block) {
    Value tokens = mlp(Permute({2, 1})(normalised(x)), kTokenWidth, kTokens);
    x = Add()({x, Permute({2, 1})(tokens)});
    x = Add()({x, mlp(normalised(x), 4 * kWidth, kWidth)});
  }
  return classifier(begin, ops::mean(normalised(x), {.axes = {1}}), 1000);
}

Model fpn_dilated() {
  Picture begin = picture({192, 192, 3});
  Values levels;
  Value x = conv_bn(begin.x, 32, 3, 2);
  for (int64_t filters : {64, 128, 256}) {
    x = conv_bn(conv_bn(x, filters, 3, 2), filters, 3);
    levels.push_back(x);
  }
  Values context;
  for (int64_t dilation : {1, 2, 4}) context.push_back(conv_bn(x, 128, 3, 1, "relu", dilation));
  x = conv_bn(Concatenate()(context), 128, 1);
  for (int level = 1; level >= 0; --level) {
    Value side = Conv2D(128, 1)(levels[size_t(level)]);
    x = conv_bn(Add()({UpSampling2D()(x), side}), 128, 3);
  }
  Value y = Conv2D(8, 1)(x);
  y = UpSampling2D(4)(y);
  return {begin.input, Activation("softmax", {.dtype = "float32"})(y)};
}

}  // namespace stoker::bench
