// map, shuffle(1000), batch, prefetch. A shuffle behind a map holds a thousand preprocessed
// elements, and the first batch waits until all of them are made. Randomness in Stoker is keyed by
// the element, so map and shuffle commute: positions are shuffled, and only what is needed is made.
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

int main() {
  Tensor pictures = draw_pictures(3000, 96).x;
  auto preprocess =
      image::random_crop(64, 64) | image::convert(DType::float32) | image::normalize({0.5}, {0.25});
  // Idea: 8 lines in Keras.
  data::Dataset dataset = data::from_tensor_slices(pictures);
  dataset = dataset.map(preprocess, {.parallel = AUTOTUNE});
  dataset = dataset.shuffle(1000);
  dataset = dataset.batch(32);
  dataset = dataset.prefetch(AUTOTUNE);
  auto loop = [](const data::Dataset& batches, double& sum) {
    for (const Batch& batch : batches) sum += batch[0].mean();  // stands for a training step
  };
  // Shown:
  data::Dataset slow = as_written(dataset), fast = as_stoker_runs_it(dataset);
  auto first = [](const data::Dataset& batches) {
    return [&batches] { batches.iterate().next(); };
  };
  double slow_sum = 0, fast_sum = 0;
  compare({"first batch, shuffle holds elements", first(slow)},
          {"first batch, shuffle moves positions", first(fast)});
  compare({"an epoch, shuffle holds elements", [&] { loop(slow, slow_sum); }},
          {"an epoch, shuffle moves positions", [&] { loop(fast, fast_sum); }});
  std::printf("held at most: %.1f MB against %.1f MB\n", peak_megabytes(slow),
              peak_megabytes(fast));
  require(slow_sum == fast_sum, "both give the same batches");
}
