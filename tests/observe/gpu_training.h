// A small network on a GPU, for tests of what is seen of its training.
#pragma once

#include <gtest/gtest.h>

#include "support/gpu_test.h"
#include "train/helpers.h"
#include "train/model/weights_hash.h"

namespace stoker::test {

inline constexpr int64_t kBatch = 32;

// Runs once for each policy; skipped, with the reason, where there is no GPU.
class GpuTraining : public GpuTest<testing::TestWithParam<std::string>> {
 protected:
  static Context context(DeviceKnobs knobs = {}) {
    return {.seed = 4,
            .device = "cuda",
            .policy = GetParam(),
            .capture = knobs.capture,
            .pin = knobs.pin,
            .out = nullptr};
  }

  static Data pictures(int64_t count, uint64_t seed) {
    Tensor x(DType::uint8, {count, 28, 28, 3}), y(DType::int32, {count});
    Rng rng(seed);
    auto* pixel = x.data_mut<uint8_t>();
    for (int64_t i = 0; i < x.elements(); ++i) pixel[i] = uint8_t(rng.integer(0, 256));
    for (int64_t i = 0; i < count; ++i) y.data_mut<int32_t>()[i] = int32_t(i % 4);
    return {x, y};
  }

  static Sequential picture_model(Context& context, const Optimizer& optimizer = Adam()) {
    set_seed(2);
    context.seed.set(2);
    Sequential model({Input({28, 28, 3}, {.dtype = DType::uint8}), Rescaling(1.0 / 127.5, -1.0),
                      Conv2D(32, 3, {.use_bias = false, .name = "first"}), BatchNormalization(),
                      Activation("relu"), MaxPooling2D(), Conv2D(64, 3, {.activation = "relu"}),
                      Flatten(), Dropout(0.2),
                      Dense(4, {.activation = "softmax", .name = "probs", .dtype = "float32"})});
    model.compile({.optimizer = optimizer,
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"},
                   .context = &context});
    return model;
  }

  static data::Dataset pipeline(const Data& data) {
    return data::from_slices({data.x, data.y}).batch(kBatch).prefetch(AUTOTUNE);
  }
};

}  // namespace stoker::test
