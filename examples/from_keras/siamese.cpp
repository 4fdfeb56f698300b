// Keras's "Image similarity estimation using a Siamese network with a contrastive loss".
#include <cstdio>

#include "../digits.h"

using namespace stoker;

int main() {
  set_seed(1);

  // Idea: 30 lines in Keras.
  auto make_pair = [](int64_t i, Rng& rng) {
    auto [a, label] = draw_digit(i);
    bool same = rng.integer(0, 2) == 1;
    int64_t other = rng.integer(0, 10000);
    while ((draw_digit(other).second == label) != same) ++other;
    return std::tuple(a, draw_digit(other).first, same ? 0.0F : 1.0F);
  };
  TensorSpec picture{DType::float32, {28, 28, 1}};
  data::Dataset pairs =
      data::range(800)
          .map(make_pair, {.name = "pair", .spec = {{picture, picture, {DType::float32, {}}}}})
          .batch(32);

  Value input = Input({28, 28, 1});
  Value x = BatchNormalization()(input);
  x = Conv2D(8, 5, {.activation = "relu"})(x);
  x = AveragePooling2D(2)(x);
  x = Conv2D(16, 5, {.activation = "relu"})(x);
  x = AveragePooling2D(2)(x);
  x = Flatten()(x);
  x = BatchNormalization()(x);
  Model embedding(input, Dense(10, {.activation = "tanh"})(x), {.name = "embedding"});

  Value left = Input({28, 28, 1}), right = Input({28, 28, 1});
  Value gap = Subtract()({embedding(left), embedding(right)});
  Value distance = Lambda([](const Value& v) {
    return ops::sqrt(ops::maximum(ops::sum(ops::square(v), {.axes = {1}, .keepdims = true}), 1e-7));
  })(gap);
  Value output = Dense(1, {.activation = "sigmoid"})(BatchNormalization()(distance));
  Model siamese(Values{left, right}, Values{output});

  Loss contrastive("contrastive", [](const Value& y, const Value& p) {
    return ops::mean((1.0 - y) * ops::square(p) + y * ops::square(ops::maximum(1.0 - p, 0.0)),
                     {.axes = {1}});
  });
  siamese.compile({.optimizer = "rmsprop", .loss = contrastive, .metrics = {"accuracy"}});
  siamese.fit(pairs, {.epochs = 4, .verbose = 2});

  // Shown:
  double accuracy = siamese.history()["accuracy"].back();
  std::printf("pairs told apart: %.3f\n", accuracy);
  return accuracy > 0.65 ? 0 : 1;
}
