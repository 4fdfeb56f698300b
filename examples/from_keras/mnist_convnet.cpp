// Keras's "Simple MNIST convnet", on drawn digits.
#include <cstdio>

#include "../digits.h"

using namespace stoker;

int main() {
  set_seed(1);
  Digits train = draw_digits(1600, 1), test = draw_digits(500, 2);

  // Idea: 17 lines in Keras.
  Tensor y_train = utils::to_categorical(train.y, 10), y_test = utils::to_categorical(test.y, 10);
  Sequential model({
      Input({28, 28, 1}),
      Conv2D(32, 3, {.activation = "relu"}),
      MaxPooling2D(2),
      Conv2D(64, 3, {.activation = "relu"}),
      MaxPooling2D(2),
      Flatten(),
      Dropout(0.5),
      Dense(10, {.activation = "softmax"}),
  });
  std::puts(model.summary().c_str());
  model.compile({.optimizer = "adam", .loss = "categorical_crossentropy", .metrics = {"accuracy"}});
  model.fit(train.x, y_train, {.epochs = 4, .batch_size = 32, .validation_split = 0.1});
  Logs score = model.evaluate(test.x, y_test);
  std::printf("Test loss: %.4f, accuracy: %.4f\n", score["loss"], score["accuracy"]);

  // Shown:
  return score["accuracy"] > 0.9 ? 0 : 1;
}
