// Mixed precision with gradient clipping. One batch is an accident: its samples weigh 1000 times too
// much. Clipped to a norm of 1, its gradient is like any other's; unclipped, it stays in Adam's
// moments, and the steps after it go astray. Under loss scaling clipnorm sees the true gradients: it
// means the same in every policy.
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

namespace {

// Idea: 17 lines in Keras.
Model create_model() {
  Value input_tensor = Input({32, 32, 3});
  Value x = Conv2D(32, 3, {.padding = "same"})(input_tensor);
  x = BatchNormalization()(x);
  x = Activation("relu")(x);
  x = Flatten()(x);
  x = Dense(10, {.activation = "softmax", .dtype = "float32"})(x);
  return {input_tensor, x};
}

Model compiled_under(const char* policy, std::optional<double> clipnorm) {
  set_seed(1);
  set_global_policy(policy);
  Model model = create_model();
  Adam optimizer({.learning_rate = 1e-3, .clipnorm = clipnorm});
  model.compile({.optimizer = optimizer, .loss = "sparse_categorical_crossentropy"});
  return model;
}
// Shown:

// The loss of the epoch that follows the accident.
double loss_after_accident(const Model& model, const Pictures& pictures) {
  model.train_on_batch(pictures.x.slice(0, 32), pictures.y.slice(0, 32),
                       {.sample_weight = Tensor::full({32}, 1000)});
  return model.fit(pictures.x, pictures.y, {.shuffle = false, .verbose = 0})["loss"].back();
}

}  // namespace

int main() {
  Pictures pictures = draw_float_pictures(512, 32);
  Model clipped = compiled_under("float32", 1.0), unclipped = compiled_under("float32", {});
  double with = loss_after_accident(clipped, pictures);
  double without = loss_after_accident(unclipped, pictures);
  std::printf("loss after the accident: %.3f with clipnorm = 1, %.3f without\n", with, without);
  require(with < without, "clipping keeps the accident from spoiling what follows");
  if (!on_gpu(clipped)) {
    std::puts("No GPU here: the CPU computes in float32 under every policy.");
    std::puts("On a GPU the same follows in mixed_float16, with the memory of a step.");
    return 0;
  }
  Model mixed = compiled_under("mixed_float16", 1.0);
  double narrow = loss_after_accident(mixed, pictures);
  std::printf("in mixed_float16: %.3f with clipnorm = 1, %ld steps skipped\n", narrow,
              long(mixed.optimizer().skipped_steps()));
  std::printf("a step of 32 images takes %.1f MB in float32 and %.1f MB in mixed_float16\n",
              1e-6 * double(clipped.memory_plan(32)->total),
              1e-6 * double(mixed.memory_plan(32)->total));
  require(narrow < without, "so it does in mixed_float16");
}
