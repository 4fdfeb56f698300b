#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "data/runtime/permutation.h"

namespace stoker::data {
namespace {

TEST(Permutation, VisitsEveryPlaceOnce) {
  for (int64_t count = 1; count <= 300; ++count)
    for (uint64_t key = 0; key < 5; ++key) {
      Permutation order(count, mixed(key, 3));
      std::vector<bool> seen(size_t(count), false);
      for (int64_t i = 0; i < count; ++i) {
        int64_t at = order(i);
        ASSERT_TRUE(at >= 0 && at < count) << count;
        ASSERT_FALSE(seen[size_t(at)]) << count;
        seen[size_t(at)] = true;
      }
    }
}

TEST(Permutation, VisitsEveryPlaceOnceOfAMillionAndOne) {
  constexpr int64_t kCount = 1'000'001;
  Permutation order(kCount, 17);
  std::vector<bool> seen(kCount, false);
  for (int64_t i = 0; i < kCount; ++i) seen[size_t(order(i))] = true;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), kCount);
}

TEST(Permutation, StaysInsideOfVeryLargeRanges) {
  for (int64_t count : {(int64_t(1) << 40) + 1, int64_t(1) << 62, INT64_MAX - 1}) {
    Permutation order(count, 5);
    for (int64_t i = 0; i < 1000; ++i) {
      ASSERT_GE(order(i), 0);
      ASSERT_LT(order(i), count);
      ASSERT_LT(order(count - 1 - i), count);
    }
  }
}

TEST(Permutation, DiffersFromKeyToKey) {
  for (int64_t count : {20, 100, 1000}) {
    int64_t fixed = 0;
    constexpr uint64_t kKeys = 50;
    for (uint64_t key = 0; key < kKeys; ++key) {
      Permutation one(count, key), other(count, key + 1);
      for (int64_t i = 0; i < count; ++i) fixed += one(i) == other(i) ? 1 : 0;
    }
    // Two random orders agree in one place on average.
    EXPECT_NEAR(double(fixed) / kKeys, 1.0, 1.0) << count;
  }
}

TEST(Permutation, PutsEveryElementEverywhereAboutEquallyOften) {
  constexpr int kKeys = 20'000;
  for (int64_t count = 2; count <= 12; ++count) {
    std::vector<int> often(size_t(count * count), 0);
    for (int key = 0; key < kKeys; ++key) {
      Permutation order(count, mixed(1234, uint64_t(key)));
      for (int64_t i = 0; i < count; ++i) ++often[size_t(i * count + order(i))];
    }
    double expected = double(kKeys) / double(count);
    double deviation = std::sqrt(expected * (1 - 1 / double(count)));
    for (int64_t cell = 0; cell < count * count; ++cell)
      EXPECT_NEAR(often[size_t(cell)], expected, 5 * deviation)
          << count << " elements: element " << cell / count << " at place " << cell % count;
  }
}

TEST(Permutation, PutsNeighboursAnywhere) {
  constexpr int kKeys = 20'000;
  constexpr int64_t kCount = 7;
  // Of ordered pairs (place of 0, place of 1) there are 42.
  std::vector<int> often(kCount * kCount, 0);
  for (int key = 0; key < kKeys; ++key) {
    Permutation order(kCount, mixed(99, uint64_t(key)));
    ++often[size_t(order(0) * kCount + order(1))];
  }
  double expected = double(kKeys) / 42;
  for (int64_t cell = 0; cell < kCount * kCount; ++cell) {
    double wanted = cell / kCount == cell % kCount ? 0 : expected;
    EXPECT_NEAR(often[size_t(cell)], wanted, 5 * std::sqrt(expected)) << cell;
  }
}

// Coarsely: which eighth of the range the places of two neighbours lie in.
void expect_pairs_in_all_eighths(int64_t count, int64_t first, int64_t second) {
  constexpr int kKeys = 32'000;
  std::vector<int> often(64, 0);
  for (int key = 0; key < kKeys; ++key) {
    Permutation order(count, mixed(7, uint64_t(key)));
    ++often[size_t(order(first) * 8 / count * 8 + order(second) * 8 / count)];
  }
  double expected = kKeys / 64.0;
  for (size_t cell = 0; cell < often.size(); ++cell)
    EXPECT_NEAR(often[cell], expected, 5 * std::sqrt(expected))
        << count << ": " << first << " and " << second << " in " << cell;
}

TEST(Permutation, PutsNeighboursOfLargeRangesAnywhere) {
  for (int64_t count : {1025, 4096, 5000, 60'000, 1'281'167}) {
    expect_pairs_in_all_eighths(count, 0, 1);
    expect_pairs_in_all_eighths(count, count / 2, count / 2 + 1);
    expect_pairs_in_all_eighths(count, 0, count - 1);
  }
}

TEST(Permutation, SeparatesNeighbours) {
  constexpr int64_t kCount = 5000, kKeys = 400;
  int64_t still = 0;
  for (uint64_t key = 0; key < kKeys; ++key) {
    Permutation order(kCount, key);
    for (int64_t i = 0; i + 1 < kCount; ++i) still += std::abs(order(i) - order(i + 1)) == 1;
  }
  // Two of the others' 4999 places are next to it.
  EXPECT_NEAR(double(still) / kKeys, 2.0, 0.4);
}

}  // namespace
}  // namespace stoker::data
