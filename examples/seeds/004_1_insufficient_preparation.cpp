// Seed 004, block 1: a slow function behind batch, run by the consumer itself: the model stands
// still while it runs. The seed's function sleeps, as reading from a disk or a service does. Stoker
// runs it ahead of the model, and, since its workers only wait, on more of them than there are
// cores.
#include <chrono>
#include <thread>

#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kSamples = 1280, kBatch = 32;

Tensor random_images() {
  Tensor images(DType::float32, {kSamples, 32, 32, 3});
  Rng rng(1);
  float* pixels = images.data_mut<float>();
  for (int64_t i = 0; i < images.elements(); ++i) pixels[i] = rng.uniform();
  return images;
}

// Simulates complex processing of a whole batch: half a millisecond an image.
Tensor preprocess_slow(Tensor images) {
  std::this_thread::sleep_for(std::chrono::microseconds(500) * images.shape()[0]);
  return images;
}

data::Dataset pipeline(const Tensor& images, Form form) {
  return ended(data::from_slices(images).batch(kBatch).map(
                   preprocess_slow, {.name = "preprocess_slow", .parallel = parallel(form)}),
               form);
}

// The seed's loop: a forward pass for every batch. Returns the last outputs of every epoch.
std::vector<Tensor> loop(const Sequential& model, const data::Dataset& dataset) {
  std::vector<Tensor> outputs;
  auto batches = dataset.iterate({.epochs = 2});
  for (Tensor last; !batches.finished(); outputs.push_back(last))
    while (const Batch* batch = batches.next()) last = model((*batch)[0]);
  return outputs;
}

}  // namespace

int main() {
  set_seed(1);
  Sequential model({Input({32, 32, 3}), Conv2D(32, 3, {.activation = "relu"}), Flatten(),
                    Dense(10, {.activation = "softmax"})});
  Tensor images = random_images();
  data::Dataset slow = pipeline(images, Form::slow), fast = pipeline(images, Form::stoker);
  std::vector<Tensor> slow_outputs = loop(model, slow), fast_outputs = loop(model, fast);
  report(Form::slow, slow);
  report(Form::stoker, fast);
  std::printf("\n%s\n", fast.explain().c_str());
  require(slow_outputs == fast_outputs, "both give the same outputs");
}
