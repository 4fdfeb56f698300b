#include <cmath>

#include <stoker/context.h>
#include <stoker/initializers.h>

#include "nn/running.h"

namespace stoker::test {
namespace {

struct Statistics {
  double mean = 0, deviation = 0, low = INFINITY, high = -INFINITY;
};
Statistics statistics(const Tensor& tensor) {
  Statistics found;
  auto count = double(tensor.elements());
  for (float value : tensor.values<float>()) {
    found.mean += double(value) / count;
    found.low = std::min(found.low, double(value));
    found.high = std::max(found.high, double(value));
  }
  for (float value : tensor.values<float>())
    found.deviation += (double(value) - found.mean) * (double(value) - found.mean) / count;
  found.deviation = std::sqrt(found.deviation);
  return found;
}

const Shape kShape = {3, 3, 128, 256};
constexpr double kFanIn = 9 * 128, kFanOut = 9 * 256;

void expect_uniform(const Initializer& initializer, double limit) {
  SCOPED_TRACE(initializer.kind());
  Statistics found = statistics(initializer(kShape));
  EXPECT_NEAR(found.mean, 0, limit * 0.01);
  EXPECT_NEAR(found.deviation, limit / std::sqrt(3.0), limit * 0.01);
  EXPECT_GE(found.low, -limit);
  EXPECT_LE(found.high, limit);
  EXPECT_GT(found.high, limit * 0.999);
}

// Truncated at two deviations of the distribution before truncation, so that `deviation` remains.
void expect_truncated(const Initializer& initializer, double deviation) {
  SCOPED_TRACE(initializer.kind());
  Statistics found = statistics(initializer(kShape));
  double bound = 2 * deviation / 0.87962566103423978;
  EXPECT_NEAR(found.mean, 0, deviation * 0.01);
  EXPECT_NEAR(found.deviation, deviation, deviation * 0.01);
  EXPECT_GE(found.low, -bound);
  EXPECT_LE(found.high, bound * (1 + 1e-6));
  EXPECT_GT(found.high, bound * 0.99);
}

TEST(Initializers, HaveKerasDistributions) {
  set_seed(1);
  expect_uniform("glorot_uniform", std::sqrt(6 / (kFanIn + kFanOut)));
  expect_uniform("he_uniform", std::sqrt(6 / kFanIn));
  expect_uniform("lecun_uniform", std::sqrt(3 / kFanIn));
  expect_uniform("uniform", 0.05);
  expect_truncated("glorot_normal", std::sqrt(2 / (kFanIn + kFanOut)));
  expect_truncated("he_normal", std::sqrt(2 / kFanIn));
  expect_truncated(LecunNormal(), std::sqrt(1 / kFanIn));
  expect_truncated(VarianceScaling({.scale = 3, .mode = "fan_out"}), std::sqrt(3 / kFanOut));
  expect_truncated(TruncatedNormal(), 0.05 * 0.87962566103423978);
}

TEST(Initializers, NormalHasMeanAndDeviationAndTails) {
  Statistics found = statistics(RandomNormal({.mean = 1, .stddev = 0.5, .seed = 3})(kShape));
  EXPECT_NEAR(found.mean, 1, 0.005);
  EXPECT_NEAR(found.deviation, 0.5, 0.005);
  EXPECT_GT(found.high, 1 + 0.5 * 3.5);
  Statistics scaled =
      statistics(VarianceScaling({.distribution = "untruncated_normal", .seed = 3})(kShape));
  EXPECT_NEAR(scaled.deviation, std::sqrt(1 / kFanIn), 0.01 * std::sqrt(1 / kFanIn));
}

TEST(Initializers, OfAMatrixUseItsSidesAsFans) {
  Statistics found = statistics(HeUniform({.seed = 1})({100, 5000}));
  EXPECT_NEAR(found.high, std::sqrt(6.0 / 100), 1e-3);
}

TEST(Initializers, RepeatWithTheSeed) {
  set_seed(42);
  Tensor first = Initializer("glorot_uniform")({10, 10}),
         second = Initializer("glorot_uniform")({10, 10});
  EXPECT_FALSE(first == second);
  set_seed(42);
  EXPECT_EQ(Initializer("glorot_uniform")({10, 10}), first);
  EXPECT_EQ(Initializer("glorot_uniform")({10, 10}), second);
  set_seed(43);
  EXPECT_FALSE(Initializer("glorot_uniform")({10, 10}) == first);
}

TEST(Initializers, WithTheirOwnSeedIgnoreTheContext) {
  set_seed(1);
  Tensor first = HeNormal({.seed = 7})({10, 10});
  set_seed(2);
  EXPECT_EQ(HeNormal({.seed = 7})({10, 10}), first);
}

TEST(Initializers, OfConstants) {
  EXPECT_TRUE(near(Zeros()({2}), {0, 0}));
  EXPECT_TRUE(near(Ones()({2}), {1, 1}));
  EXPECT_TRUE(near(Constant(2.5)({2}), {2.5, 2.5}));
  EXPECT_EQ(Initializer("zeros")({}, DType::int64).dtype(), DType::int64);
}

// The Gram matrix of the shorter side is gain² times the identity.
void expect_orthogonal(const Shape& shape, double gain) {
  SCOPED_TRACE(to_string(shape));
  Tensor matrix = Orthogonal(gain, {.seed = 5})(shape);
  int64_t columns = shape[-1], rows = matrix.elements() / columns;
  bool tall = rows >= columns;
  int64_t vectors = tall ? columns : rows, length = tall ? rows : columns;
  auto at = [&](int64_t vector, int64_t position) {
    return matrix.at(tall ? position * columns + vector : vector * columns + position);
  };
  for (int64_t first = 0; first < vectors; ++first)
    for (int64_t second = 0; second <= first; ++second) {
      double dot = 0;
      for (int64_t position = 0; position < length; ++position)
        dot += at(first, position) * at(second, position);
      EXPECT_NEAR(dot, first == second ? gain * gain : 0, 1e-5);
    }
}

TEST(Orthogonal, HasOrthonormalColumnsOrRows) {
  expect_orthogonal({20, 8}, 1);
  expect_orthogonal({8, 20}, 2);
  expect_orthogonal({3, 3, 4, 16}, 1);
}

TEST(Orthogonal, PrefersNoSign) {
  int64_t positive = 0;
  for (int64_t seed = 0; seed < 200; ++seed)
    positive += Orthogonal(1, {.seed = seed})({1, 1}).item() > 0;
  EXPECT_GT(positive, 60);
  EXPECT_LT(positive, 140);
}

}  // namespace
}  // namespace stoker::test
