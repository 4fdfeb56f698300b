// A model with half the filters beside the original. Both learn the same digits; the table says what
// the smaller one needs less of.
#include "../digits.h"
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

namespace {

// Idea: 21 lines in Keras.
Sequential original() {
  return Sequential({Input({28, 28, 1}), Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(2),
                     Conv2D(128, 3, {.activation = "relu"}), MaxPooling2D(2), Flatten(),
                     Dense(10, {.activation = "softmax"})});
}
Sequential optimized() {
  return Sequential({Input({28, 28, 1}), Conv2D(32, 3, {.activation = "relu"}), MaxPooling2D(2),
                     Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(2), Flatten(),
                     Dense(10, {.activation = "softmax"})});
}
void train(const Model& model, const Digits& digits) {
  model.fit(digits.x, digits.y, {.verbose = 0});
}
// Shown:

void row(const char* what, double before, double after, const char* unit) {
  std::printf("%-32s %10.2f %10.2f %-6s %6.2f times less\n", what, before, after, unit,
              before / after);
}

}  // namespace

int main() {
  set_seed(1);
  Digits digits = draw_digits(1500, 1), test = draw_digits(500, 2);
  Sequential large = compiled(original()), small = compiled(optimized());
  compare({"an epoch, 64 and 128 filters", [&] { train(large, digits); }},
          {"an epoch, 32 and 64 filters", [&] { train(small, digits); }}, 3);

  MemoryUse large_memory = *large.memory_plan(32), small_memory = *small.memory_plan(32);
  double large_accuracy = 100 * large.evaluate(test.x, test.y)["accuracy"];
  double small_accuracy = 100 * small.evaluate(test.x, test.y)["accuracy"];
  std::printf("%-32s %10s %10s\n", "filters", "64, 128", "32, 64");
  row("parameters", double(large.count_params()), double(small.count_params()), "");
  row("forward pass of a sample", 1e-6 * count_flops(large), 1e-6 * count_flops(small), "MFLOP");
  row("memory of a step of 32", 1e-6 * double(large_memory.total),
      1e-6 * double(small_memory.total), "MB");
  std::printf("%-32s %10.1f %10.1f %%\n\n", "accuracy", large_accuracy, small_accuracy);
  require(small_memory.total < large_memory.total && small_accuracy > 90,
          "the smaller model needs less and has learnt the digits");
}
