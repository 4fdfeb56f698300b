// Seed 000, block 1: samples are made in a loop and appended to lists; training begins when the
// last one is there. Here the loop's body becomes a map: a sample is made when its batch needs it,
// beside the training, and only the batches ahead are in memory.
#include <chrono>

#include "../digits.h"
#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kSamples = 2000, kPixels = 28 * 28, kBatch = 32;

// Sample `index`: the image is written, the label returned.
int32_t draw_sample(int64_t index, float* pixels) {
  Rng rng(1, uint64_t(index));
  auto label = int32_t(rng.integer(0, 10));
  digits_detail::draw(pixels, label, rng);
  return label;
}

Sequential small_model() {
  set_seed(1);
  Sequential model({Input({28, 28, 1}), Conv2D(8, 3, {.activation = "relu"}), MaxPooling2D(2),
                    Flatten(), Dense(10, {.activation = "softmax"})});
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  return model;
}

// Seconds since it was made; the first step of a training is of interest.
struct Stopwatch : Callback {
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  double first_step = 0;
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  void on_train_batch_begin(int64_t) override {
    if (first_step == 0) first_step = seconds();
  }
};

void print(Form form, const Stopwatch& watch, double megabytes) {
  std::printf("%-10s first step after %.3f s, trained after %.2f s, %.2f MB of samples\n",
              name(form), watch.first_step, watch.seconds(), megabytes);
}

}  // namespace

int main() {
  Sequential slow = small_model();
  {
    Stopwatch watch;
    std::vector<float> x;
    std::vector<int32_t> y;
    for (int64_t i = 0; i < kSamples; ++i) {
      std::vector<float> image(kPixels);
      y.push_back(draw_sample(i, image.data()));
      x.insert(x.end(), image.begin(), image.end());
    }
    Tensor all_x = Tensor::from(x, {kSamples, 28, 28, 1}), all_y = Tensor::from(y, {kSamples});
    slow.fit(all_x, all_y,
             {.batch_size = kBatch, .shuffle = false, .verbose = 0, .callbacks = {watch}});
    print(Form::slow, watch, 1e-6 * double(2 * all_x.bytes()));  // the list and the array
  }

  Sequential fast = small_model();
  auto dataset =
      data::range(kSamples)
          .map(
              [](int64_t index, TensorView image, TensorView label) {
                label.values<int32_t>()[0] = draw_sample(index, image.values<float>().data());
              },
              {.name = "draw", .spec = {{{DType::float32, {28, 28, 1}}, {DType::int32, {}}}}})
          .batch(kBatch);
  {
    Stopwatch watch;
    fast.fit(dataset, {.verbose = 0, .callbacks = {watch}});
    print(Form::stoker, watch, 1e-6 * measured(dataset, "memory_peak_bytes"));
  }
  std::printf("\n%s\n", dataset.explain().c_str());
  require(slow.get_weights() == fast.get_weights(), "both give the same weights");
}
