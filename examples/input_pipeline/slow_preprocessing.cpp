// A slow function behind batch, run by the consumer itself: the model stands still meanwhile. The
// function sleeps, as one that reads from a disk or a service does. Stoker runs it ahead of the
// model and, since its workers only wait, on more of them than there are cores.
#include <thread>

#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

namespace {

// Idea: 28 lines in Keras.
constexpr int64_t kSamples = 960, kBatch = 32;

// Half a millisecond per image.
Tensor preprocess_slow(Tensor images) {
  std::this_thread::sleep_for(std::chrono::microseconds(500) * images.shape()[0]);
  return images;
}

data::Dataset dataset(const Tensor& images) {
  return data::from_tensor_slices(images).batch(kBatch).map(preprocess_slow);
}

Sequential create_model() {
  return Sequential({Input({32, 32, 3}), Conv2D(32, 3, {.activation = "relu"}), Flatten(),
                     Dense(10, {.activation = "softmax"})});
}

// A forward pass for every batch.
Tensor loop(const Model& model, const data::Dataset& batches) {
  Tensor last;
  for (const Batch& batch : batches) last = model(batch[0]);
  return last;
}
// Shown:

}  // namespace

int main() {
  Tensor images = draw_float_pictures(kSamples, 32).x;
  Sequential model = create_model();
  data::Dataset slow = as_written(dataset(images)), fast = as_stoker_runs_it(dataset(images));
  data::Dataset ready = data::from_tensor_slices(images).batch(kBatch);
  compare({"the loop runs preprocess_slow itself", [&] { loop(model, slow); }},
          {"preprocess_slow runs ahead of the loop", [&] { loop(model, fast); }});
  compare({"preprocess_slow runs ahead of the loop", [&] { loop(model, fast); }},
          {"no preprocess_slow: what is left to gain", [&] { loop(model, ready); }});
  std::printf("%s\n", fast.explain().c_str());
  require(loop(model, slow) == loop(model, fast), "both give the same outputs");
}
