// shuffle with a buffer of all images, then convert, resize, flip, batch and prefetch. In tf.data
// the buffer holds every image; here positions are shuffled, and nothing is held. Convert, resize
// and flip are one operation: one pass over the pixels.
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

namespace {

// Idea: 18 lines in Keras.
image::Op preprocess_image() {
  return image::convert(DType::float32) | image::resize(256, 256) | image::random_flip_left_right();
}

data::Dataset create_dataset(const Tensor& images, const Tensor& labels, int64_t batch_size) {
  data::Dataset dataset = data::from_tensor_slices({images, labels});
  dataset = dataset.shuffle(images.shape()[0]);
  dataset = dataset.map(preprocess_image(), {.parallel = AUTOTUNE});
  dataset = dataset.batch(batch_size);
  dataset = dataset.prefetch(AUTOTUNE);
  return dataset;
}
// Shown:

// As it is written first: three functions, each with an image in and an image out.
data::Dataset step_by_step(const Tensor& images, const Tensor& labels, int64_t batch_size) {
  return data::from_tensor_slices({images, labels})
      .shuffle(images.shape()[0])
      .map(image::convert(DType::float32), {.parallel = 1})
      .map(image::resize(256, 256), {.parallel = 1})
      .map(image::random_flip_left_right(), {.parallel = 1})
      .batch(batch_size);
}

}  // namespace

int main() {
  auto [images, labels] = draw_pictures(500, 200);
  data::Dataset slow = as_written(step_by_step(images, labels, 32));
  data::Dataset fast = as_stoker_runs_it(create_dataset(images, labels, 32));
  auto labels_of = [](const data::Dataset& dataset) {
    std::vector<Tensor> order;
    for (const Batch& batch : dataset) order.push_back(batch[1].clone());
    return order;
  };
  compare({"an epoch, step by step", [&] { labels_of(slow); }},
          {"an epoch, create_dataset", [&] { labels_of(fast); }});
  std::printf("a buffer of all images would hold %.0f MB; shuffled positions hold none\n",
              1e-6 * double(images.bytes()));
  std::printf("%s\n", fast.explain().c_str());
  require(labels_of(slow) == labels_of(fast), "both give the images in the same order");
}
