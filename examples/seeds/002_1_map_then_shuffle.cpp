// Seed 002, block 1: map, shuffle(1000), batch, prefetch. A shuffle behind a map holds a thousand
// preprocessed elements, and the first batch waits until all of them are made. Because randomness
// in Stoker is keyed by the element, map and shuffle commute: positions are shuffled, and only
// what is needed is made.
#include <chrono>

#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kElements = 3000, kSide = 96;

Tensor pictures() {
  Tensor data(DType::uint8, {kElements, kSide, kSide, 3});
  auto* pixels = data.data_mut<uint8_t>();
  for (int64_t i = 0; i < data.elements(); ++i) pixels[i] = uint8_t(i * 31 + i / kSide);
  return data;
}

data::Dataset pipeline(const Tensor& data, Form form) {
  auto preprocess =
      image::random_crop(64, 64) | image::convert(DType::float32) | image::normalize({0.5}, {0.25});
  return ended(
      data::from_slices(data).map(preprocess, {.parallel = parallel(form)}).shuffle(1000).batch(32),
      form);
}

struct Walk {
  double first_batch = 0, sum = 0;  // the sum stands for a training loop
  std::vector<Tensor> some;
};

Walk walk(const data::Dataset& dataset) {
  auto begin = std::chrono::steady_clock::now();
  Walk result;
  int64_t number = 0;
  for (const Batch& batch : dataset) {
    if (number == 0)
      result.first_batch =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (float value : batch[0].values<float>()) result.sum += double(value);
    if (number++ % 20 == 0) result.some.push_back(batch[0]);  // stays valid: it is kept
  }
  return result;
}

}  // namespace

int main() {
  Tensor data = pictures();
  data::Dataset slow = pipeline(data, Form::slow), fast = pipeline(data, Form::stoker);
  Walk slow_walk = walk(slow), fast_walk = walk(fast);
  report(Form::slow, slow);
  report(Form::stoker, fast);
  std::printf("the first batch came after %.1f ms and %.1f ms\n", 1e3 * slow_walk.first_batch,
              1e3 * fast_walk.first_batch);
  std::printf("\n%s\n", fast.explain().c_str());
  require(slow_walk.sum == fast_walk.sum && slow_walk.some == fast_walk.some,
          "both give the same batches in the same order");
}
