// Networks made of products: MLP, vision transformer, ConvNeXt.
#include <cmath>

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

// By ops, as written without a layer for it: softmax(q · kᵀ / √d) · v.
Value attention(const Value& x) {
  constexpr int64_t kSize = kWidth / kHeads;
  Value heads = Reshape({kTokens, 3 * kHeads, kSize})(Dense(3 * kWidth)(x));
  Values parts = ops::split(Permute({2, 1, 3})(heads), 3, 1);  // [B, heads, tokens, size]
  Value scores =
      ops::matmul(parts[0], parts[1], {.transpose_b = true}) * (1 / std::sqrt(double(kSize)));
  Value mixed = ops::matmul(ops::softmax(scores), parts[2]);
  return Dense(kWidth)(Reshape({kTokens, kWidth})(Permute({2, 1, 3})(mixed)));
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
