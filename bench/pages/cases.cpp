#include "pages/cases.h"

#include <chrono>
#include <thread>

namespace stoker::bench {

namespace {

constexpr int64_t kBatch = 32, kClasses = 10;

Tensor noise(const Shape& shape, DType dtype) {
  Tensor tensor(dtype, shape);
  Rng rng(1);
  for (int64_t i = 0; i < tensor.elements(); ++i)
    if (dtype == DType::uint8)
      tensor.data_mut<uint8_t>()[i] = uint8_t(rng.integer(0, 256));
    else
      tensor.data_mut<float>()[i] = rng.uniform();
  return tensor;
}

Tensor labels(int64_t count) {
  Tensor tensor(DType::int32, {count});
  for (int64_t i = 0; i < count; ++i) tensor.data_mut<int32_t>()[i] = int32_t(i % kClasses);
  return tensor;
}

data::Dataset ended(const data::Dataset& chain, const ChainSettings& settings) {
  data::Dataset with_depth = settings.depth ? chain.prefetch(*settings.depth) : chain;
  return with_depth.with_options({.seed = 7, .as_written = settings.as_written});
}

// A chain over slices: `between` puts maps between them and the batches.
using Between = std::function<data::Dataset(const data::Dataset&, const data::MapOptions&)>;
Case chain(const std::string& name, const Tensor& x, const Shape& sample, const Between& between) {
  Tensor y = labels(x.shape()[0]);
  return {.name = name, .sample = sample, .chain = [=](const ChainSettings& settings) {
            data::Dataset slices = data::from_slices({x, y});
            return ended(between(slices, {.parallel = settings.parallel}).batch(kBatch), settings);
          }};
}

Case arrays(const std::string& name, int64_t count, const Shape& sample) {
  return {.name = name,
          .sample = sample,
          .x = noise(sample.prepend(count), DType::float32),
          .y = labels(count)};
}

// A sample that takes some microseconds to make.
std::pair<Tensor, int32_t> drawn(int64_t index) {
  Tensor image(DType::float32, {28, 28, 1});
  Rng rng(1, uint64_t(index));
  for (int64_t i = 0; i < image.elements(); ++i) image.data_mut<float>()[i] = rng.normal();
  return {image, int32_t(index % kClasses)};
}

Case drawn_samples() {
  data::MapOptions options{.spec = {{{DType::float32, {28, 28, 1}}, {DType::int32, {}}}}};
  return {.name = "000_1 samples drawn in a map",
          .sample = {28, 28, 1},
          .chain = [options](const ChainSettings& settings) {
            data::MapOptions with = options;
            with.parallel = settings.parallel;
            return ended(data::range(512).map(drawn, with).batch(kBatch), settings);
          }};
}

Case sleeping_map() {
  Tensor x = noise({320, 32, 32, 3}, DType::float32), y = labels(320);
  auto slow = [](Tensor images, Tensor targets) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::pair(std::move(images), std::move(targets));
  };
  return {.name = "004_1 a map that waits",
          .sample = {32, 32, 3},
          .chain =
              [=](const ChainSettings& settings) {
                return ended(data::from_slices({x, y}).batch(kBatch).map(
                                 slow, {.parallel = settings.parallel}),
                             settings);
              },
          .waits = true};
}

}  // namespace

std::vector<Case> cases() {
  using data::Dataset;
  using data::MapOptions;
  Tensor small = noise({768, 28, 28, 1}, DType::float32),
         large = noise({512, 200, 200, 1}, DType::uint8),
         colour = noise({512, 96, 96, 3}, DType::uint8),
         floats = noise({512, 96, 96, 3}, DType::float32);
  std::vector<Case> list;
  list.push_back(chain("page 000's chain", small, {28, 28, 1},
                       [](const Dataset& slices, const MapOptions& options) {
                         return slices.map(image::resize(28, 28), options);
                       }));
  list.back().epochs = 40;  // as long as the page's own training
  list.push_back(drawn_samples());
  list.push_back(chain(
      "000_2 resize", large, {28, 28, 1}, [](const Dataset& slices, const MapOptions& options) {
        return slices.map(
            image::resize(28, 28, {.antialias = true}) | image::convert(DType::float32), options);
      }));
  list.push_back(arrays("000_3 arrays, a smaller model", 768, {28, 28, 1}));
  list.push_back(chain("001_1 two random maps", floats, {96, 96, 3},
                       [](const Dataset& slices, const MapOptions& options) {
                         return slices.map(image::random_flip_left_right(), options)
                             .map(image::random_brightness(0.2), options);
                       }));
  list.push_back(arrays("001_2 arrays, mixed precision's data", 512, {32, 32, 3}));
  list.push_back(arrays("001_3 arrays, memory growth's data", 512, {64}));
  list.push_back(chain("002_1 map, then shuffle", colour, {64, 64, 3},
                       [](const Dataset& slices, const MapOptions& options) {
                         return slices
                             .map(image::random_crop(64, 64) | image::convert(DType::float32) |
                                      image::normalize({0.5}, {0.25}),
                                  options)
                             .shuffle(1000);
                       }));
  list.push_back(arrays("002_2 arrays, a slow layer's data", 512, {16, 16, 8}));
  list.push_back(chain("002_3 slices, an own step's data", small, {28, 28, 1},
                       [](const Dataset& slices, const MapOptions&) { return slices; }));
  list.push_back(chain("003_1 shuffle and three maps", colour, {128, 128, 3},
                       [](const Dataset& slices, const MapOptions& options) {
                         return slices.shuffle()
                             .map(image::convert(DType::float32), options)
                             .map(image::resize(128, 128), options)
                             .map(image::random_flip_left_right(), options);
                       }));
  list.push_back(arrays("003_2 arrays, clipping's data", 512, {32, 32, 1}));
  list.push_back(chain("003_3 points, shuffled", noise({1600, 16}, DType::float32), {16},
                       [](const Dataset& slices, const MapOptions&) { return slices.shuffle(); }));
  list.push_back(sleeping_map());
  list.push_back(
      chain("004_2 a map that does nothing", noise({512, 64, 64, 3}, DType::float32), {64, 64, 3},
            [](const Dataset& slices, const MapOptions& options) {
              return slices.map(
                  [](Tensor image, int32_t label) { return std::pair(std::move(image), label); },
                  options);
            }));
  list.push_back(arrays("004_3 arrays, a host layer's data", 256, {64, 64, 3}));
  return list;
}

Sequential model_for(const Shape& sample, bool large) {
  set_seed(1);
  bool image = sample.rank() == 3;
  std::vector<Layer> layers{Input(sample)};
  auto add = [&](const Layer& layer) { layers.push_back(layer); };
  if (image && !large) {
    if (sample[0] > 32) add(AveragePooling2D(4));
    add(Conv2D(8, 3, {.activation = "relu"}));
    add(MaxPooling2D(2));
  } else if (image) {
    if (sample[0] > 64) add(AveragePooling2D(2));
    add(Conv2D(32, 3, {.activation = "relu"}));
    add(MaxPooling2D(2));
    add(Conv2D(64, 3, {.activation = "relu"}));
    add(MaxPooling2D(2));
  } else {
    for (int i = 0; i < 2; ++i) add(Dense(large ? 1024 : 32, {.activation = "relu"}));
  }
  add(Flatten());
  add(Dense(kClasses, {.activation = "softmax"}));
  Sequential model(layers);
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  return model;
}

}  // namespace stoker::bench
