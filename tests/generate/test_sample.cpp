#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include <stoker/error.h>

#include "train/generate/sample.h"

namespace stoker::test {
namespace {

std::vector<double> shares(const std::vector<float>& logits, GenerateOptions options,
                           size_t draws = 20'000) {
  std::vector<double> counts(logits.size());
  for (size_t i = 0; i < draws; ++i)
    counts[size_t(sample_token(logits, options, {7, i % 5, i}))] += 1.0 / double(draws);
  return counts;
}

TEST(SampleToken, TakesTheLargestLogitAtTemperatureZero) {
  EXPECT_EQ(sample_token(std::vector<float>{1, 5, 2, 5}, {.temperature = 0}, {}), 1);
}

TEST(SampleToken, DrawsInProportionToTheSoftmax) {
  std::vector<double> drawn = shares({0, 1, 2}, {});
  double sum = 1 + std::exp(1) + std::exp(2);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(drawn[i], std::exp(double(i)) / sum, 0.015);
}

TEST(SampleToken, DividesLogitsByTheTemperature) {
  std::vector<double> hot = shares({0, 2}, {.temperature = 2}), one = shares({0, 1}, {});
  EXPECT_NEAR(hot[1], one[1], 0.015);
}

TEST(SampleToken, KeepsTheKLargestWithTheFirstOfEquals) {
  std::vector<double> drawn = shares({1, 3, 3, 3, 0}, {.top_k = 2});
  EXPECT_NEAR(drawn[1], 0.5, 0.02);
  EXPECT_NEAR(drawn[2], 0.5, 0.02);
  EXPECT_EQ(drawn[0] + drawn[3] + drawn[4], 0);
}

TEST(SampleToken, KeepsTheFewestThatReachP) {
  // Probabilities 0.5, 0.3, 0.2.
  std::vector<float> logits = {std::log(0.2F), std::log(0.5F), std::log(0.3F)};
  EXPECT_NEAR(shares(logits, {.top_p = 0.4})[1], 1, 1e-9);
  std::vector<double> two = shares(logits, {.top_p = 0.7});
  EXPECT_EQ(two[0], 0);
  EXPECT_NEAR(two[1], 0.5 / 0.8, 0.02);
}

TEST(SampleToken, IsAFunctionOfSeedRowAndIndex) {
  std::vector<float> logits(100, 0);
  auto draw = [&](DrawPlace place) { return sample_token(logits, {}, place); };
  EXPECT_EQ(draw({1, 2, 3}), draw({1, 2, 3}));
  std::set<int64_t> others;
  for (uint64_t seed = 0; seed < 4; ++seed)
    for (size_t row = 0; row < 4; ++row)
      for (size_t index = 0; index < 4; ++index) others.insert(draw({seed, row, index}));
  EXPECT_GT(others.size(), 30U);
}

TEST(SampleToken, NeverDrawsWhatIsRuledOut) {
  float none = -std::numeric_limits<float>::infinity();
  std::vector<double> drawn = shares({none, 0, none, 0}, {});
  EXPECT_EQ(drawn[0] + drawn[2], 0);
}

TEST(SampleToken, RefusesLogitsThatAreNotFinite) {
  float none = -std::numeric_limits<float>::infinity();
  EXPECT_THROW(sample_token(std::vector<float>{0, NAN}, {}, {}), NonFiniteError);
  EXPECT_THROW(sample_token(std::vector<float>{none, none}, {}, {}), NonFiniteError);
}

TEST(SampleOptions, OutOfRangeOrWithoutEffectAreRefused) {
  for (const GenerateOptions& bad : {GenerateOptions{.max_new_tokens = -1},
                                     {.temperature = -0.5},
                                     {.temperature = NAN},
                                     {.top_k = -1},
                                     {.top_p = 0.0},
                                     {.top_p = 1.5},
                                     {.temperature = 0, .top_k = 3},
                                     {.temperature = 0, .seed = 1}})
    EXPECT_THROW(check_sampling(bad), ValueError);
  EXPECT_NO_THROW(check_sampling({.temperature = 0.7, .top_k = 3, .top_p = 0.9, .seed = 1}));
}

}  // namespace
}  // namespace stoker::test
