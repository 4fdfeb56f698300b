// How gradients are divided into buckets.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "train/step/replica_sums.h"

namespace stoker {
namespace {

constexpr int64_t kMiB = 1 << 20;

// Bytes of each bucket.
std::vector<int64_t> buckets(const std::vector<int64_t>& bytes, int64_t bucket_bytes) {
  std::vector<int64_t> found;
  size_t first = 0;
  for (size_t end : bucket_ends(bytes, bucket_bytes)) {
    EXPECT_GT(end, first);
    found.push_back(
        std::accumulate(bytes.begin() + int64_t(first), bytes.begin() + int64_t(end), int64_t(0)));
    first = end;
  }
  EXPECT_EQ(first, bytes.size());
  return found;
}

TEST(Buckets, BecomeSmallerTowardsTheEndOfTheBackwardPass) {
  std::vector<int64_t> even(160, kMiB / 4);  // 40 MiB
  std::vector<int64_t> found = buckets(even, 4 * kMiB);
  EXPECT_EQ(found.front(), 4 * kMiB);
  EXPECT_EQ(found.back(), kMiB / 4);
  EXPECT_TRUE(std::ranges::is_sorted(found, std::greater()));
  EXPECT_LE(found.size(), 16U);
}

TEST(Buckets, DoNotHoldUpGradientsForALargeOneBehindThem) {
  // A dense layer, then a convolution of 9 MiB: ResNet-18.
  EXPECT_EQ(buckets({2 * kMiB, 9 * kMiB, 9 * kMiB}, 4 * kMiB),
            (std::vector<int64_t>{2 * kMiB, 9 * kMiB, 9 * kMiB}));
}

TEST(Buckets, OfASmallModelAreOne) {
  EXPECT_EQ(buckets({4000, 100, 60'000, 200}, 4 * kMiB), (std::vector<int64_t>{64'300}));
  EXPECT_TRUE(bucket_ends({}, 4 * kMiB).empty());
}

}  // namespace
}  // namespace stoker
