#include <array>
#include <cmath>
#include <random>

#include <gtest/gtest.h>
#include <stoker/error.h>
#include <stoker/random.h>

#include "base/philox.h"

namespace stoker {
namespace {

using Words = std::array<uint32_t, 4>;

TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  static_assert(philox_block({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);
}

TEST(RandomBits, PlacesIndexAndStreamInTheCounterAndTheSeedInTheKey) {
  uint64_t seed = 0x299f31d0a4093822, stream = 0x0370734413198a2e, block = 0x05a308d3243f6a88;
  Words words = philox({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  for (uint64_t word = 0; word < 4; ++word)
    EXPECT_EQ(random_bits(seed, stream, block * 4 + word), words[word]);
  EXPECT_EQ(random_bits(0, 0, 3), 0x9b00dbd8);
}

TEST(Rng, WalksTheSequenceThatRandomBitsNames) {
  Rng rng(7, 3);
  for (uint64_t index = 0; index < 100; ++index) EXPECT_EQ(rng(), random_bits(7, 3, index));
}

TEST(Rng, KeepsItsPlaceWhenCopied) {
  Rng rng(1);
  for (int i = 0; i < 5; ++i) rng();
  Rng copy = rng;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(copy(), rng());
}

TEST(Rng, DrawsTheHighHalfOf64BitsFirst) {
  Rng words(5), pairs(5);
  uint64_t high = words(), low = words();
  EXPECT_EQ(pairs.next64(), high << 32 | low);
}

TEST(Rng, ServesTheStandardDistributions) {
  Rng rng(1);
  std::uniform_int_distribution<int> die(1, 6);
  for (int i = 0; i < 100; ++i) {
    int thrown = die(rng);
    EXPECT_TRUE(thrown >= 1 && thrown <= 6);
  }
}

TEST(Rng, UniformNumbersLieBelowOneAndFillTheInterval) {
  EXPECT_EQ(unit_float(0), 0.0F);
  EXPECT_LT(unit_float(0xffffffff), 1.0F);
  Rng rng(2);
  double sum = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) sum += rng.uniform(-1, 3);
  EXPECT_NEAR(sum / kDraws, 1, 0.02);
}

TEST(Rng, NormalNumbersHaveMeanZeroAndDeviationOne) {
  Rng rng(3);
  double sum = 0, squares = 0, fourth = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    double value = rng.normal();
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
  EXPECT_NEAR(fourth / kDraws, 3, 0.1);
}

TEST(Rng, TruncatedNormalNumbersStayWithinTwoDeviations) {
  Rng rng(4);
  double squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    double value = rng.truncated_normal();
    ASSERT_LE(std::abs(value), 2);
    squares += value * value;
  }
  EXPECT_NEAR(squares / kDraws, 0.7737, 0.01);  // the variance of a normal cut at two deviations
}

TEST(Rng, IntegersFillTheirRangeEvenly) {
  Rng rng(5);
  std::array<int, 7> seen{};
  for (int i = 0; i < 70'000; ++i) ++seen[size_t(rng.integer(-3, 4) + 3)];
  for (int count : seen) EXPECT_NEAR(count, 10'000, 400);
}

TEST(Rng, IntegersReachTheLimitsOfTheirType) {
  Rng rng(6);
  EXPECT_EQ(rng.integer(INT64_MAX - 1, INT64_MAX), INT64_MAX - 1);
  bool negative = false, positive = false;
  for (int i = 0; i < 64; ++i) (rng.integer(INT64_MIN, INT64_MAX) < 0 ? negative : positive) = true;
  EXPECT_TRUE(negative && positive);
  EXPECT_THROW(rng.integer(3, 3), ValueError);
  EXPECT_THROW(rng.integer(4, 3), ValueError);
}

}  // namespace
}  // namespace stoker
