// Seed 001, block 1: two random maps, one after the other, then batch and prefetch. Written so,
// every map passes each image through memory once. Stoker runs both on the worker that makes the
// row, and the second writes into the batch itself. What is drawn for an image depends on its
// number and not on threads: both forms train to the same weights.
#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kImages = 1000, kSide = 96;

// Pictures of one colour each, with noise; the label says which.
std::pair<Tensor, Tensor> labelled_images() {
  Tensor images(DType::float32, {kImages, kSide, kSide, 3}), labels(DType::int32, {kImages});
  for (int64_t i = 0; i < kImages; ++i) {
    Rng rng(1, uint64_t(i));
    auto label = int32_t(rng.integer(0, 3));
    labels.data_mut<int32_t>()[i] = label;
    float* pixels = images.data_mut<float>() + i * kSide * kSide * 3;
    for (int64_t k = 0; k < kSide * kSide * 3; ++k)
      pixels[k] = 0.8F * rng.uniform() + (k % 3 == label ? 0.1F : 0.0F);
  }
  return {images, labels};
}

data::Dataset pipeline(const Tensor& images, const Tensor& labels, Form form) {
  return ended(data::from_slices({images, labels})
                   .map(image::random_flip_left_right(), {.parallel = parallel(form)})
                   .map(image::random_brightness(0.2), {.parallel = parallel(form)})
                   .batch(32),
               form);
}

Sequential train(const data::Dataset& dataset, int64_t epochs) {
  set_seed(1);
  Sequential model({Input({kSide, kSide, 3}), AveragePooling2D(16), Flatten(),
                    Dense(3, {.activation = "softmax"})});
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  History history = model.fit(dataset, {.epochs = epochs, .verbose = 0});
  std::printf("loss %.3f in the first epoch, %.3f in the last\n", history["loss"].front(),
              history["loss"].back());
  return model;
}

}  // namespace

int main() {
  auto [images, labels] = labelled_images();
  data::Dataset slow = pipeline(images, labels, Form::slow);
  data::Dataset fast = pipeline(images, labels, Form::stoker);
  Sequential slow_model = train(slow, 3), fast_model = train(fast, 3);
  report(Form::slow, slow);
  report(Form::stoker, fast);
  std::printf("\n%s\n", fast.explain().c_str());
  require(slow_model.get_weights() == fast_model.get_weights(), "both give the same weights");
}
