// map, batch, prefetch, and the advice to prefetch before batch, so that batches are not put
// together by the thread that trains. In Stoker its place does not matter: workers write rows
// straight into batches ahead of the consumer, wherever prefetch stands and without one too.
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

namespace {

// Idea: 28 lines in Keras.
constexpr int64_t kSamples = 480, kBatch = 32, kSide = 128;

// Quick: it does nothing.
std::pair<Tensor, int32_t> preprocess_fast(Tensor image, int32_t label) { return {image, label}; }

struct Forms {
  data::Dataset after, before, without;
};
Forms prefetched(const Tensor& images, const Tensor& labels) {
  data::Dataset dataset = data::from_tensor_slices({images, labels}).map(preprocess_fast);
  return {.after = dataset.batch(kBatch).prefetch(AUTOTUNE),
          .before = dataset.prefetch(AUTOTUNE).batch(kBatch),
          .without = dataset.batch(kBatch)};
}

Sequential create_model() {
  return Sequential({Input({kSide, kSide, 3}), Conv2D(8, 3, {.activation = "relu"}), Flatten(),
                     Dense(10, {.activation = "softmax"})});
}

std::vector<Tensor> loop(const Model& model, const data::Dataset& dataset) {
  std::vector<Tensor> outputs;
  for (const Batch& batch : dataset) outputs.push_back(model(batch[0]).clone());
  return outputs;
}
// Shown:

}  // namespace

int main() {
  auto [images, labels] = draw_float_pictures(kSamples, kSide);
  Sequential model = create_model();
  Forms forms = prefetched(images, labels);
  data::Dataset slow = as_written(forms.without);
  compare({"nothing prefetched", [&] { loop(model, slow); }},
          {"without prefetch, as Stoker runs it", [&] { loop(model, forms.without); }});
  compare({"prefetch after batch", [&] { loop(model, forms.after); }},
          {"prefetch before batch", [&] { loop(model, forms.before); }}, 4, 0);
  std::vector<Tensor> outputs = loop(model, slow);
  require(outputs == loop(model, forms.after) && outputs == loop(model, forms.before),
          "all forms give the same outputs");
}
