// Seed 003, block 1: shuffle(buffer_size = len(images)), then convert, resize, flip, batch,
// prefetch. The seed's buffer holds every decoded image; shuffle() here is exact, holds nothing and
// starts at once. Convert, resize and flip are one operation, one pass over the pixels.
#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kImages = 500, kBatch = 32;

Tensor random_images() {
  Tensor images(DType::uint8, {kImages, 200, 200, 3});
  auto* pixels = images.data_mut<uint8_t>();
  Rng rng(1);
  for (int64_t i = 0; i < images.elements(); i += 4) {
    uint32_t bits = rng();
    for (int64_t k = 0; k < 4; ++k) pixels[i + k] = uint8_t(bits >> (8 * k));
  }
  return images;
}

Tensor random_labels() {
  Tensor labels(DType::int64, {kImages});
  Rng rng(2);
  for (int64_t i = 0; i < kImages; ++i) labels.data_mut<int64_t>()[i] = rng.integer(0, 10);
  return labels;
}

// As people write it: three functions, each with an image in and an image out.
data::Dataset slow_form(const Tensor& images, const Tensor& labels) {
  return ended(data::from_slices({images, labels})
                   .shuffle()
                   .map(image::convert(DType::float32), {.parallel = 1})
                   .map(image::resize(256, 256), {.parallel = 1})
                   .map(image::random_flip_left_right(), {.parallel = 1})
                   .batch(kBatch),
               Form::slow);
}

data::Dataset create_dataset(const Tensor& images, const Tensor& labels) {
  auto preprocess =
      image::convert(DType::float32) | image::resize(256, 256) | image::random_flip_left_right();
  return ended(data::from_slices({images, labels}).shuffle().map(preprocess).batch(kBatch),
               Form::stoker);
}

// Labels say which image came when.
std::vector<Tensor> labels_of(const data::Dataset& dataset) {
  std::vector<Tensor> labels;
  for (const Batch& batch : dataset) labels.push_back(batch[1].clone());
  return labels;
}

}  // namespace

int main() {
  Tensor images = random_images(), labels = random_labels();
  data::Dataset slow = slow_form(images, labels), fast = create_dataset(images, labels);
  std::vector<Tensor> slow_labels = labels_of(slow), fast_labels = labels_of(fast);
  report(Form::slow, slow);
  report(Form::stoker, fast);
  std::printf("a buffer of all resized images would hold %.0f MB; shuffle() holds none\n",
              1e-6 * kImages * 256 * 256 * 3 * 4);
  std::printf("\n%s\n", fast.explain().c_str());
  require(slow_labels == fast_labels, "both give the images in the same order");
}
