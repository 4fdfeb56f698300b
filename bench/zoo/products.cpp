// Networks made of products: MLP, vision transformer, ConvNeXt.
#include <stoker/attention.h>

#include "zoo/networks.h"

namespace stoker::bench {

Model mlp_big() {
  Value input = Input({1024}), x = input;
  for (int layer = 0; layer < 4; ++layer) x = Dense(4096, {.activation = "relu"})(x);
  return {input, Dense(1000, {.activation = "softmax", .dtype = "float32"})(x)};
}

namespace {

constexpr int64_t kTokens = 196, kWidth = 384, kHeads = 6;

Value normalised(const Value& x) { return LayerNormalization({.epsilon = 1e-6})(x); }

Value attention(const Value& x) {
  Value heads = Reshape({kTokens, 3 * kHeads, kWidth / kHeads})(Dense(3 * kWidth)(x));
  Values parts = ops::split(heads, 3, 2);  // [B, tokens, heads, size]
  Value mixed = ops::dot_product_attention(parts[0], parts[1], parts[2]);
  return Dense(kWidth)(Reshape({kTokens, kWidth})(mixed));
}

}  // namespace

Model vit_s16() {
  Picture begin = picture({224, 224, 3});
  Value x = Reshape({kTokens, kWidth})(Conv2D(kWidth, 16, {.strides = 16})(begin.x));
  for (int block = 0; block < 12; ++block) {
    x = Add()({x, attention(normalised(x))});
    Value y = Dense(4 * kWidth, {.activation = "gelu"})(normalised(x));
    x = Add()({x, Dense(kWidth)(y)});
  }
  return classifier(begin, ops::mean(normalised(x), {.axes = {1}}), 1000);
}

Model convnext_tiny() {
  struct Stage {
    int64_t width, blocks;
  };
  constexpr Stage kStages[] = {{96, 3}, {192, 3}, {384, 9}, {768, 3}};
  Picture begin = picture({224, 224, 3});
  Value x = normalised(Conv2D(96, 4, {.strides = 4})(begin.x));
  for (Stage stage : kStages) {
    if (stage.width > 96) x = Conv2D(stage.width, 2, {.strides = 2})(normalised(x));
    for (int64_t block = 0; block < stage.blocks; ++block) {
      Value y = normalised(DepthwiseConv2D(7, {.padding = "same"})(x));
      y = Dense(stage.width)(Dense(4 * stage.width, {.activation = "gelu"})(y));
      x = Add()({x, y});
    }
  }
  return classifier(begin, normalised(GlobalAveragePooling2D()(x)), 1000);
}

}  // namespace stoker::bench
