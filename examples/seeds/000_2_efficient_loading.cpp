// Seed 000, block 2: slices, a preprocessing function under map, batch, prefetch. In the seed every
// piece that makes it fast has to be asked for (num_parallel_calls, prefetch, AUTOTUNE); forgetting
// one is the slow form. In Stoker the bare chain map | batch runs like the full one.
#include "../digits.h"
#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kSide = 200;

// Digits as pictures of 200×200: something to resize.
Digits large_digits(int64_t count) {
  Digits digits = draw_digits(count, 1);
  Tensor large(DType::uint8, {count, kSide, kSide, 1});
  auto enlarge = image::resize(kSide, kSide) | image::convert(DType::uint8);
  for (int64_t i = 0; i < count; ++i) {
    Tensor picture = enlarge(digits.x[i]);
    std::copy_n(picture.data<uint8_t>(), kSide * kSide,
                large.data_mut<uint8_t>() + i * kSide * kSide);
  }
  return {large, digits.y};
}

image::Op preprocess() {
  return image::resize(28, 28, {.antialias = true}) | image::convert(DType::float32);
}

data::Dataset pipeline(const Digits& digits, Form form) {
  return ended(data::from_slices({digits.x, digits.y})
                   .map(preprocess(), {.parallel = parallel(form)})
                   .batch(32),
               form);
}

std::vector<Tensor> train(const data::Dataset& dataset) {
  set_seed(1);
  Sequential model({Input({28, 28, 1}), Conv2D(8, 3, {.activation = "relu"}), MaxPooling2D(2),
                    Flatten(), Dense(10, {.activation = "softmax"})});
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  model.fit(dataset, {.epochs = 2, .verbose = 0});
  return model.get_weights();
}

}  // namespace

int main() {
  Digits digits = large_digits(1500);
  data::Dataset slow = pipeline(digits, Form::slow), fast = pipeline(digits, Form::stoker);
  // Nobody asked for anything: Stoker adds what is missing.
  data::Dataset bare = data::from_slices({digits.x, digits.y}).map(preprocess()).batch(32);
  std::vector<Tensor> slow_weights = train(slow), fast_weights = train(fast);
  std::vector<Tensor> bare_weights = train(bare);
  report(Form::slow, slow);
  report(Form::stoker, fast);
  std::printf("without AUTOTUNE and prefetch, as Stoker runs it:\n");
  report(Form::stoker, bare);
  std::printf("\n%s\n", bare.explain().c_str());
  require(slow_weights == fast_weights && fast_weights == bare_weights,
          "all three give the same weights");
}
