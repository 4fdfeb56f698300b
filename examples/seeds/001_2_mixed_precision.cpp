// Seed 001, block 2: mixed precision. Set the policy, then define, compile and fit as usual.
// Products and activations are float16; weights, statistics and the loss float32. compile() turns
// on dynamic loss scaling by itself, and the epochs' logs show it, because the seed is right that
// numerical stability wants watching. A machine without such products trains in float32 and says
// so.
#include <cmath>

#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kImages = 1024, kSide = 32, kClasses = 10;

// Pictures with a tint for each class, under noise.
std::pair<Tensor, Tensor> tints() {
  Tensor images(DType::float32, {kImages, kSide, kSide, 3}), labels(DType::int32, {kImages});
  for (int64_t i = 0; i < kImages; ++i) {
    Rng rng(1, uint64_t(i));
    auto label = int32_t(rng.integer(0, kClasses));
    labels.data_mut<int32_t>()[i] = label;
    int tint[3] = {label % 3, label / 3 % 3, label / 9};
    float* pixels = images.data_mut<float>() + i * kSide * kSide * 3;
    for (int64_t k = 0; k < kSide * kSide * 3; ++k)
      pixels[k] = rng.uniform() + 0.4F * float(tint[k % 3]);
  }
  return {images, labels};
}

History train(const std::string& policy) {
  set_global_policy(policy);
  set_seed(1);
  Sequential model({Input({kSide, kSide, 3}), Conv2D(32, 3, {.activation = "relu"}), MaxPooling2D(),
                    Conv2D(64, 3, {.activation = "relu"}), GlobalAveragePooling2D(),
                    Dense(64, {.activation = "relu"}),
                    // As Keras advises: the probabilities in float32.
                    Dense(kClasses, {.activation = "softmax", .dtype = "float32"})});
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  auto [images, labels] = tints();
  std::printf("\n%s: a step of 64 images takes %.1f MB\n", policy.c_str(),
              1e-6 * double(model.memory_plan(64)->total));
  History history = model.fit(images, labels, {.epochs = 6, .batch_size = 32});
  if (model.optimizer().scales_loss())
    std::printf("loss scale %.0f, %ld steps skipped\n", model.optimizer().loss_scale(),
                long(model.optimizer().skipped_steps()));
  return history;
}

}  // namespace

int main() {
  default_context().device = "auto";  // a GPU where there is one
  History full = train("float32"), mixed = train("mixed_float16");
  double first = full["loss"].front(), wide = full["loss"].back(), narrow = mixed["loss"].back();
  std::printf("\nloss after 6 epochs: %.4f in float32, %.4f in mixed_float16\n", wide, narrow);
  require(narrow < first && std::abs(narrow - wide) < 0.1 * first, "both learn the same");
}
