// Trains the small CNN that every tutorial trains.
//   example_mnist [FOLDER_WITH_IDX_FILES [EPOCHS]]
// The folder holds train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte, plain or with .gz. Without an argument it draws a small set of digits
// itself.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <stoker/stoker.h>

#include "digits.h"

using namespace stoker;

namespace {

Tensor read(const std::string& folder, const std::string& name) {
  std::string path = folder + "/" + name;
  return load_idx(std::filesystem::exists(path) ? path : path + ".gz");
}

// Pixels in [0, 1], with a channel: [count, 28, 28, 1]
Tensor scaled(const Tensor& pixels) {
  Tensor x(DType::float32, {pixels.shape()[0], 28, 28, 1});
  float* out = x.data_mut<float>();
  for (int64_t i = 0; i < x.elements(); ++i) out[i] = float(pixels.data<uint8_t>()[i]) / 255;
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  set_seed(1);
  bool real = argc > 1;
  int64_t epochs = argc > 2 ? std::atoi(argv[2]) : real ? 5 : 4;
  Digits train, test;
  if (real) {
    train = {scaled(read(argv[1], "train-images-idx3-ubyte")),
             read(argv[1], "train-labels-idx1-ubyte")};
    test = {scaled(read(argv[1], "t10k-images-idx3-ubyte")),
            read(argv[1], "t10k-labels-idx1-ubyte")};
  } else {
    train = draw_digits(1500, 1);
    test = draw_digits(500, 2);
  }

  Sequential model({
      Input({28, 28, 1}),
      Conv2D(64, 3, {.activation = "relu"}),
      MaxPooling2D(2),
      Conv2D(128, 3, {.activation = "relu"}),
      MaxPooling2D(2),
      Flatten(),
      Dense(10, {.activation = "softmax"}),
  });
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  // Small steps at the end: the last two of five epochs run at a tenth of the learning rate.
  LambdaCallback slow_down({.on_epoch_begin = [&](int64_t epoch) {
    if (epoch >= 3 && epoch == epochs - 2) model.optimizer().set_learning_rate(1e-4);
  }});
  model.fit(train.x, train.y,
            {.epochs = epochs,
             .batch_size = 64,
             .validation_data = {test.x, test.y},
             .callbacks = {slow_down}});
  double accuracy = model.evaluate(test.x, test.y, {.batch_size = 100})["accuracy"];
  std::printf("test accuracy %.4f\n", accuracy);
  return accuracy > 0.9 ? 0 : 1;
}
