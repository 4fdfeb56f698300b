// On a GPU, mixed precision ends where float32 does: a task of CIFAR's size, five seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "train/helpers.h"

namespace stoker::test {

namespace {

constexpr int64_t kSide = 32, kClasses = 10;

// A wave for each class, of its own direction, length and colour, under noise and a random phase.
Data waves(int64_t count, uint64_t seed) {
  Tensor x(DType::float32, {count, kSide, kSide, 3}), y(DType::int32, {count});
  float* pixels = x.data_mut<float>();
  auto* labels = y.data_mut<int32_t>();
  for (int64_t i = 0; i < count; ++i) {
    Rng rng(seed, uint64_t(i));
    labels[i] = int32_t(rng.integer(0, kClasses));
    float angle = 0.3F * float(labels[i]), phase = rng.uniform(0, 6.28F);
    float length = 0.4F + 0.08F * float(labels[i] % 4);
    for (int64_t row = 0; row < kSide; ++row)
      for (int64_t column = 0; column < kSide; ++column)
        for (int64_t channel = 0; channel < 3; ++channel) {
          float along = std::cos(angle) * float(column) + std::sin(angle) * float(row);
          float wave = std::sin(length * along + phase + float(channel * (labels[i] % 3)));
          *pixels++ = 0.35F * wave + rng.normal();
        }
  }
  return {x, y};
}

double accuracy(const std::string& policy, uint64_t seed, const Data& training, const Data& test) {
  default_context().policy = policy;
  set_seed(seed);
  Sequential model({Conv2D(32, 3, {.padding = "same", .use_bias = false}), BatchNormalization(),
                    Activation("relu"), MaxPooling2D(), Conv2D(64, 3, {.activation = "relu"}),
                    MaxPooling2D(), Flatten(), Dense(10, {.activation = "softmax"})});
  model.compile({.optimizer = Adam({.learning_rate = 1e-3}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  // The last epochs with small steps: else single weights decide the last batch's accuracy.
  model.fit(training.x, training.y, {.epochs = 6, .batch_size = 64, .verbose = 0});
  model.optimizer().set_learning_rate(1e-4);
  model.fit(training.x, training.y, {.epochs = 3, .batch_size = 64, .verbose = 0});
  return model.evaluate(test.x, test.y, {.verbose = 0})["accuracy"];
}

class GpuPrecision : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Policies, GpuPrecision, testing::Values("mixed_bfloat16", "mixed_float16"),
                         [](const auto& policy) { return policy.param; });

TEST_P(GpuPrecision, EndsWhereFloat32Does) {
  if (std::string why; !is_usable("cuda", &why)) GTEST_SKIP() << why;
  OnDevice device("cuda");
  Data training = waves(4096, 1), test = waves(1024, 2);
  double sum = 0, squares = 0;
  constexpr int kSeeds = 5;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    double full = accuracy("float32", seed, training, test);
    double mixed = accuracy(GetParam(), seed, training, test);
    std::cout << "seed " << seed << ": float32 " << full << ", " << GetParam() << " " << mixed
              << "\n";
    EXPECT_GT(full, 0.5) << "the task is learnt";
    sum += mixed - full;
    squares += (mixed - full) * (mixed - full);
  }
  default_context().policy = "float32";
  double mean = sum / kSeeds;
  double error = std::sqrt(std::max(squares / kSeeds - mean * mean, 0.0) / (kSeeds - 1));
  std::cout << "mean difference " << mean << " ± " << error << "\n";
  EXPECT_LT(std::abs(mean), 3 * error + 0.005);
}

}  // namespace

}  // namespace stoker::test
