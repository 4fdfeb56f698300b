// Seed 003, block 2: mixed precision with gradient clipping. In float16 gradients are multiplied by
// the loss scale, and clipnorm is meant for the gradients themselves: Stoker divides and clips in
// one pass, so that clipnorm = 1 means the same under any policy. The outputs are float32.
#include <cmath>

#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kSide = 64, kImages = 256;

Model create_model() {
  Value input = Input({kSide, kSide, 3});
  Value x = Conv2D(32, 3, {.padding = "same"})(input);
  x = BatchNormalization()(x);
  x = Activation("relu")(x);
  x = Flatten()(x);
  x = Dense(10, {.activation = "softmax", .dtype = "float32"})(x);
  return {input, x};
}

// Pictures of one brightness each; the label says which.
std::pair<Tensor, Tensor> greys() {
  Tensor images(DType::float32, {kImages, kSide, kSide, 3}), labels(DType::int32, {kImages});
  for (int64_t i = 0; i < kImages; ++i) {
    Rng rng(1, uint64_t(i));
    auto label = int32_t(rng.integer(0, 10));
    labels.data_mut<int32_t>()[i] = label;
    float* pixels = images.data_mut<float>() + i * kSide * kSide * 3;
    for (int64_t k = 0; k < kSide * kSide * 3; ++k) pixels[k] = rng.uniform() + 0.3F * float(label);
  }
  return {images, labels};
}

// How far the trainable weights have moved.
double distance(const Model& model, const std::vector<Tensor>& before) {
  std::vector<Tensor> now = model.get_weights();
  std::vector<Variable> weights = model.weights();
  double squares = 0;
  for (size_t i = 0; i < weights.size(); ++i)
    for (int64_t k = 0; weights[i].trainable() && k < now[i].elements(); ++k)
      squares += std::pow(now[i].at(k) - before[i].at(k), 2);
  return std::sqrt(squares);
}

struct Run {
  History history;
  double longest_step = 0;  // of one update
};

Run train(const std::string& policy) {
  set_global_policy(policy);
  set_seed(1);
  Model model = create_model();
  SGD optimizer({.learning_rate = 0.01, .global_clipnorm = 1.0});
  model.compile(
      {.optimizer = optimizer, .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  auto [images, labels] = greys();
  Run run;
  for (int64_t first = 0; first < kImages; first += 32) {
    std::vector<Tensor> before = model.get_weights();
    model.train_on_batch(images.slice(first, first + 32), labels.slice(first, first + 32));
    run.longest_step = std::max(run.longest_step, distance(model, before));
  }
  run.history = model.fit(images, labels, {.epochs = 3, .batch_size = 32, .verbose = 0});
  std::printf("%-14s loss %.3f, longest step %.5f, %ld steps skipped\n", policy.c_str(),
              run.history["loss"].back(), run.longest_step, long(optimizer.skipped_steps()));
  return run;
}

}  // namespace

int main() {
  default_context().device = "auto";  // a GPU where there is one
  Run full = train("float32"), mixed = train("mixed_float16");
  require(mixed.longest_step <= 0.01 * 1.01, "no step is longer than learning rate × clipnorm");
  require(std::isfinite(mixed.history["loss"].back()), "the loss stays finite");
}
