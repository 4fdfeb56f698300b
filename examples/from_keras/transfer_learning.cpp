// Keras's "Transfer learning & fine-tuning": a new head on a frozen network, then all of it slowly.
// The weights are random here; .weights of MobileNetV2 takes a file that scripts/keras_weights.py
// made.
#include <cstdio>

#include "../pictures.h"

using namespace stoker;

int main() {
  set_seed(1);
  Pictures pictures = draw_pictures(128, 32);
  Tensor labels = pictures.y.cast(DType::float32) / 9;

  // Idea: 18 lines in Keras.
  Model base =
      applications::MobileNetV2({.input_shape = {32, 32, 3}, .alpha = 0.35, .include_top = false});
  base.set_trainable(false);
  Value inputs = Input({32, 32, 3});
  Value x = Rescaling(1 / 127.5, -1)(inputs);
  x = base(x, {.training = false});
  x = GlobalAveragePooling2D()(x);
  x = Dropout(0.2)(x);
  Model model(inputs, Dense(1)(x));
  std::puts(model.summary().c_str());
  std::vector<Tensor> before = base.get_weights();
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  model.fit(pictures.x, labels, {.epochs = 2});
  bool kept = base.get_weights() == before;

  base.set_trainable(true);
  model.compile({.optimizer = Adam({.learning_rate = 1e-5}), .loss = "mse", .metrics = {"mae"}});
  model.fit(pictures.x, labels, {.epochs = 1});

  // Shown:
  std::printf("frozen weights %s, then %s\n", kept ? "stay" : "change",
              base.get_weights() == before ? "stay" : "change");
  return kept && base.get_weights() != before ? 0 : 1;
}
