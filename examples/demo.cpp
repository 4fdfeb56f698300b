// What `make demo` shows: a small CNN learns to read drawn digits, with its plan before and its
// figures after.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include <stoker/stoker.h>

#include "digits.h"

using namespace stoker;

namespace {

// A line of /proc/self/status in MB; 0 where there is none.
double status_megabytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return std::stod(line.substr(key.size() + 1)) / 1000;
  return 0;
}

void show(const Tensor& image) {
  const char* shades = " .:-=+*#%@";
  for (int row = 0; row < 28; row += 2) {
    for (int column = 0; column < 28; ++column)
      std::putchar(shades[int(image.at(row * 28 + column) * 9.99)]);
    std::putchar('\n');
  }
}

struct Timer : Callback {
  std::chrono::steady_clock::time_point begin;
  double seconds = 0;
  int64_t steps = 0;
  void on_train_batch_begin(int64_t) override { begin = std::chrono::steady_clock::now(); }
  void on_train_batch_end(int64_t, const Logs&) override {
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ++steps;
  }
};

}  // namespace

int main() {
  set_seed(1);
  Digits train = draw_digits(2000, 1), test = draw_digits(500, 2);
  std::printf("2,000 drawn digits to learn from, 500 to be tested with. The first, a %d:\n",
              train.y.data<int32_t>()[0]);
  show(train.x[0]);

  double before = status_megabytes("VmRSS");
  Sequential model({
      Input({28, 28, 1}),
      Conv2D(64, 3, {.activation = "relu"}),
      MaxPooling2D(2),
      Conv2D(128, 3, {.activation = "relu"}),
      MaxPooling2D(2),
      Flatten(),
      Dense(10, {.activation = "softmax"}),
  });
  model.compile({.optimizer = Adam({.learning_rate = 1e-3}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});

  std::printf("\n%s\n", model.summary({.batch_size = 32}).c_str());
  Timer timer;
  model.fit(
      train.x, train.y,
      {.epochs = 4, .batch_size = 32, .validation_data = {test.x, test.y}, .callbacks = {timer}});

  std::printf("\nAccuracy on digits it has not seen: %.1f %%\n",
              100 * model.evaluate(test.x, test.y)["accuracy"]);
  std::printf("A training step of 32 images took %.1f ms.\n",
              1000 * timer.seconds / double(timer.steps));
  std::printf(
      "Memory: %.1f MB planned before the first step, %.1f MB taken, with code and threads.\n",
      double(model.memory_plan(32)->total) / 1e6, status_megabytes("VmHWM") - before);

  Tensor guess = model(test.x.slice(0, 1));
  int64_t best = 0;
  for (int64_t digit = 1; digit < 10; ++digit)
    if (guess.at(digit) > guess.at(best)) best = digit;
  std::printf("\nWhat is this? The model says %ld, with %.1f %% certainty.\n", long(best),
              100 * guess.at(best));
  show(test.x[0]);
}
