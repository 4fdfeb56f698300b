// Mixed precision: set the policy, then define, compile and fit as usual. Products and activations
// are in 16 bits; weights, statistics and the loss stay float32. compile() turns on dynamic loss
// scaling under "mixed_float16", and the logs of every epoch show the scale.
#include <cmath>

#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

namespace {

Sequential create_model() {
  set_seed(1);
  return Sequential({Input({64, 64, 3}), Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(),
                     Conv2D(128, 3, {.activation = "relu"}), GlobalAveragePooling2D(),
                     // As Keras advises: the probabilities in float32.
                     Dense(10, {.activation = "softmax", .dtype = "float32"})});
}

// Idea: 6 lines in Keras.
Sequential compiled_under(const char* policy) {
  set_global_policy(policy);
  Sequential model = create_model();
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  return model;
}
// Shown:

void explain_without_gpu(const MemoryUse& use) {
  std::puts("No GPU here. The CPU computes in float32 under every policy: nothing to compare.");
  std::puts("On a GPU this compares float32 and mixed_float16: time, memory, loss, loss scale.");
  std::printf(
      "Of the %.0f MB of a step of 64 images, %.0f MB are activations, which 16 bits halve.\n",
      1e-6 * double(use.total), 1e-6 * double(use.activations));
}

}  // namespace

int main() {
  Sequential full = compiled_under("float32");
  auto [images, labels] = draw_float_pictures(on_gpu(full) ? 2048 : 128, 64);
  auto train = [&](const Model& model, int64_t epochs) {
    FitArgs args{.epochs = epochs, .batch_size = 64, .verbose = 0};
    return model.fit(images, labels, args)["loss"].back();
  };
  if (!on_gpu(full)) {
    explain_without_gpu(*full.memory_plan(64));
    double first = train(full, 1), last = train(full, 3);
    require(last < first, "it learns in float32");
    return 0;
  }
  Sequential mixed = compiled_under("mixed_float16");
  double wide = 0, narrow = 0;
  std::printf("a step of 64 images takes %.0f MB in float32 and %.0f MB in mixed_float16\n",
              1e-6 * double(full.memory_plan(64)->total),
              1e-6 * double(mixed.memory_plan(64)->total));
  compare({"ten epochs in float32", [&] { wide = train(full, 10); }},
          {"ten epochs in mixed_float16", [&] { narrow = train(mixed, 10); }});
  std::printf("loss %.4f in float32, %.4f in mixed_float16; loss scale %.0f, %ld steps skipped\n",
              wide, narrow, mixed.optimizer().loss_scale(),
              long(mixed.optimizer().skipped_steps()));
  require(std::abs(narrow - wide) < 0.1, "both learn the same");
}
