// Samples loaded one after the other into a list: training begins when the last one is there, and
// all of them stay in memory. As a map the same loading runs on every core beside the training, and
// only the batches that are made ahead are held.
#include "../digits.h"
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

namespace {

constexpr int64_t kSamples = 5000;
const data::ElementSpec kSample = {{DType::float32, {28, 28, 1}}, {DType::int32, {}}};

// Idea: 13 lines in Keras.
void train_from_lists(const Model& model, FirstStep& watch) {
  std::vector<float> x_train;
  std::vector<int32_t> y_train;
  for (int64_t i = 0; i < kSamples; ++i) {
    auto [image, label] = draw_digit(i);  // stands for loading and preprocessing
    x_train.insert(x_train.end(), image.data<float>(), image.data<float>() + image.elements());
    y_train.push_back(label);
  }
  Tensor x = Tensor::from(x_train, {kSamples, 28, 28, 1}), y = Tensor::from(y_train, {kSamples});
  model.fit(x, y, {.shuffle = false, .verbose = 0, .callbacks = {watch}});
}
data::Dataset dataset() {
  return data::range(kSamples).map([](int64_t i) { return draw_digit(i); }, {.spec = kSample});
}
// Shown:

}  // namespace

int main() {
  Sequential listed = small_classifier({28, 28, 1}), mapped = small_classifier({28, 28, 1});
  data::Dataset train = dataset().batch(32);
  FirstStep after_lists, after_map;
  compare({"loaded into lists, then trained",
           [&] {
             after_lists.restart();
             train_from_lists(listed, after_lists);
           }},
          {"loaded by a map while training", [&] {
             after_map.restart();
             mapped.fit(train, {.verbose = 0, .callbacks = {after_map}});
           }});
  print_milliseconds("first step, lists", after_lists.seconds);
  print_milliseconds("first step, map", after_map.seconds);
  std::printf("samples in memory: %.1f MB (a list and an array) against %.1f MB\n",
              2e-6 * kSamples * 28 * 28 * 4, peak_megabytes(train));
  require(listed.get_weights() == mapped.get_weights(), "both give the same weights");
}
