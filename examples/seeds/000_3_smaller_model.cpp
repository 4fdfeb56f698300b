// Seed 000, block 3: a model with fewer filters beside the original. Both learn the same digits;
// the table says what the smaller one costs and what it saves.
#include <chrono>

#include "../digits.h"
#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kBatch = 32;

struct StepTime : Callback {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin;
  double seconds = 0;
  int64_t steps = 0;
  void on_train_batch_begin(int64_t) override { begin = Clock::now(); }
  void on_train_batch_end(int64_t, const Logs&) override {
    seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    ++steps;
  }
};

struct Figures {
  double parameters, megabytes, megaflops, memory, milliseconds, accuracy;
};

Figures train(const char* name, const Digits& train, const Digits& test) {
  set_seed(1);
  Model model = applications::by_name(name, {.input_shape = {28, 28, 1}, .classes = 10});
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  StepTime time;
  model.fit(train.x, train.y,
            {.epochs = 3, .batch_size = kBatch, .verbose = 0, .callbacks = {time}});
  auto parameters = double(model.count_params());
  return {.parameters = parameters,
          .megabytes = 4e-6 * parameters,
          .megaflops = 1e-6 * count_flops(model),
          .memory = 1e-6 * double(model.memory_plan(kBatch)->total),
          .milliseconds = 1e3 * time.seconds / double(time.steps),
          .accuracy = 100 * model.evaluate(test.x, test.y)["accuracy"]};
}

void row(const char* what, double original, double smaller, const char* unit) {
  std::printf("%-28s %12.2f %12.2f %-4s %6.2f x\n", what, original, smaller, unit,
              original / smaller);
}

}  // namespace

int main() {
  Digits digits = draw_digits(1500, 1), test = draw_digits(500, 2);
  Figures original = train("cnn", digits, test), smaller = train("cnn-small", digits, test);
  std::printf("%-28s %12s %12s\n", "", "64, 128", "32, 64 filters");
  row("parameters", original.parameters, smaller.parameters, "");
  row("file", original.megabytes, smaller.megabytes, "MB");
  row("forward pass of a sample", original.megaflops, smaller.megaflops, "MFLOP");
  row("memory of a training step", original.memory, smaller.memory, "MB");
  row("training step", original.milliseconds, smaller.milliseconds, "ms");
  row("accuracy", original.accuracy, smaller.accuracy, "%");
  std::printf("\n");
  require(smaller.parameters < original.parameters && smaller.megaflops < original.megaflops &&
              smaller.memory < original.memory,
          "the smaller model needs less of everything");
  require(smaller.accuracy > 90, "and has learnt the digits too");
}
