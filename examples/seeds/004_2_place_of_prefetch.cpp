// Seed 004, block 2: map, batch, prefetch, and the advice to put prefetch before batch. In Stoker
// its place does not matter: workers write rows straight into batches ahead of the consumer, so
// nothing is left for its thread. Three forms, the same batches.
#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kSamples = 2000, kBatch = 32;

Tensor random_images() {
  Tensor images(DType::float32, {kSamples, 64, 64, 3});
  Rng rng(1);
  float* pixels = images.data_mut<float>();
  for (int64_t i = 0; i < images.elements(); ++i) pixels[i] = rng.uniform();
  return images;
}

Tensor labels() {
  Tensor labels(DType::int64, {kSamples});
  for (int64_t i = 0; i < kSamples; ++i) labels.data_mut<int64_t>()[i] = i % 10;
  return labels;
}

// The seed's preprocessing does nothing.
std::pair<Tensor, int64_t> preprocess_fast(Tensor image, int64_t label) {
  return {std::move(image), label};
}

std::vector<Tensor> loop(const Sequential& model, const data::Dataset& dataset) {
  std::vector<Tensor> outputs;
  for (const Batch& batch : dataset) outputs.push_back(model(batch[0]).clone());
  return outputs;
}

}  // namespace

int main() {
  set_seed(1);
  Sequential model({Input({64, 64, 3}), Conv2D(32, 3, {.activation = "relu"}), Flatten(),
                    Dense(10, {.activation = "softmax"})});
  data::Dataset mapped = data::from_slices({random_images(), labels()})
                             .map(preprocess_fast, {.name = "preprocess_fast"});
  data::Dataset slow = ended(mapped.batch(kBatch), Form::slow);
  data::Dataset after = mapped.batch(kBatch).prefetch(AUTOTUNE);
  data::Dataset before = mapped.prefetch(AUTOTUNE).batch(kBatch);

  std::vector<Tensor> slow_outputs = loop(model, slow), after_outputs = loop(model, after),
                      before_outputs = loop(model, before);
  report(Form::slow, slow);
  std::printf("prefetch after batch, as in the seed:\n");
  report(Form::stoker, after);
  std::printf("prefetch before batch, as the seed advises:\n");
  report(Form::stoker, before);
  std::printf("\n%s\n", before.explain().c_str());
  require(slow_outputs == after_outputs && after_outputs == before_outputs,
          "all three give the same outputs");
}
