// Image models drawn at random, for what no single layer shows: shortcuts, values that are read in
// several layouts.
#pragma once

#include <stoker/stoker.h>

namespace stoker::test {

// An image goes through layers drawn from `rng`, with shortcuts, and ends in one of several heads.
class RandomModel {
 public:
  explicit RandomModel(uint64_t seed) : rng_(seed) {}

  Model make() {
    Value in = Input({pick({7, 8, 12}), pick({6, 9}), pick({1, 3})});
    Value x = in;
    for (int64_t count = rng_.integer(2, 8); count > 0; --count) x = step(x);
    return Model(in, head(x));
  }

 private:
  int64_t pick(std::initializer_list<int64_t> from) {
    return from.begin()[rng_.integer(0, int64_t(from.size()))];
  }
  std::string activation() {
    return std::vector<std::string>{"relu", "tanh", "gelu", "silu",
                                    "linear"}[size_t(rng_.integer(0, 5))];
  }
  Value shortcut(const Value& x) {
    Value y = Conv2D(x.shape()[-1], 3, {.padding = "same"})(x);
    return Activation(activation())(rng_.integer(0, 2) == 0 ? Add()({x, y})
                                                            : Concatenate()({y, x}));
  }
  Value gate(const Value& x) {  // squeeze and excite
    Value squeezed = GlobalAveragePooling2D({.keepdims = true})(x);
    return Multiply()({x, Conv2D(x.shape()[-1], 1, {.activation = "sigmoid"})(squeezed)});
  }
  Value step(const Value& x) {
    switch (rng_.integer(0, 10)) {
      case 0:
        return Conv2D(pick({3, 4, 6}), pick({1, 3}),
                      {.strides = pick({1, 2}), .padding = "same", .activation = activation()})(x);
      case 1:
        return DepthwiseConv2D(3, {.padding = "same"})(x);
      case 2:
        return BatchNormalization()(x);
      case 3:
        return MaxPooling2D(2, {.strides = pick({1, 2}), .padding = "same"})(x);
      case 4:
        return shortcut(x);
      case 5:
        return gate(x);
      case 6:
        return ZeroPadding2D({{1, 0}, {0, 2}})(x);
      case 7:
        return LayerNormalization()(x);
      case 8:
        return ops::mean(x, {.axes = {3}, .keepdims = true}) + x * 0.5;
      default:
        return Dense(pick({2, 5}), {.activation = activation()})(x);
    }
  }
  Value head(const Value& x) {
    switch (rng_.integer(0, 4)) {
      case 0:
        return x;
      case 1:
        return Dense(3, {.activation = "softmax"})(Flatten()(x));
      case 2:
        return Softmax()(GlobalMaxPooling2D()(x));
      default:
        return Permute({2, 3, 1})(x);
    }
  }
  Rng rng_;
};

// The same seed, the same model.
inline Model random_model(uint64_t seed) { return RandomModel(seed).make(); }

}  // namespace stoker::test
