// Places as arithmetic.
#include "engine/cuda/fuser/index.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <stoker/random.h>

namespace stoker::test {

namespace {

using fuser::Counter;
using fuser::Index;

Index counter(int64_t extent) { return Index::of(Counter::kept, extent); }

TEST(FuserIndex, PutsCoordinatesTogetherAgain) {
  Shape shape = {3, 5, 7, 2};
  Index k = counter(shape.elements());
  EXPECT_EQ(linear(coordinates(k, shape), shape), k);
}

TEST(FuserIndex, SeesThroughAReshape) {
  Index k = counter(60);
  Index there = linear(coordinates(k, {3, 20}), {3, 20});
  EXPECT_EQ(linear(coordinates(there, {5, 12}), {5, 12}), k);
}

TEST(FuserIndex, DividesAnUpsampledImageOnlyWhereItMust) {
  // [2, 4, 4, 8] from [2, 2, 2, 8]: three coordinates, of which two are halved.
  Index k = counter(2 * 4 * 4 * 8);
  auto at = coordinates(k, {2, 2, 2, 2, 2, 8});
  at[2] = at[4] = 0;
  EXPECT_EQ(linear(at, {2, 2, 1, 2, 1, 8}).terms().size(), 3U);
}

// A random expression, and what it is worth for a value of its counter.
Index random_index(Rng& rng, int64_t extent) {
  Index index = counter(extent);
  for (int64_t step = 0, steps = rng.integer(1, 6); step < steps; ++step) {
    int64_t by = rng.integer(1, 9);
    switch (rng.integer(0, 5)) {
      case 0:
        index = index / by;
        break;
      case 1:
        index = index % by;
        break;
      case 2:
        index = index * by;
        break;
      case 3:
        index = index + counter(extent) / by;
        break;
      default:
        index = index + by;
    }
  }
  return index;
}

TEST(FuserIndex, SimplifiesWithoutChangingAnyValue) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng(seed), same(seed);
    constexpr int64_t kExtent = 96;
    // The same steps on plain numbers.
    Index index = random_index(rng, kExtent);
    for (int64_t k = 0; k < kExtent; ++k) {
      Rng steps(seed);
      int64_t value = k;
      for (int64_t step = 0, count = steps.integer(1, 6); step < count; ++step) {
        int64_t by = steps.integer(1, 9);
        switch (steps.integer(0, 5)) {
          case 0:
            value /= by;
            break;
          case 1:
            value %= by;
            break;
          case 2:
            value *= by;
            break;
          case 3:
            value += k / by;
            break;
          default:
            value += by;
        }
      }
      ASSERT_EQ(index.value(k, 0), value) << "seed " << seed << ", " << index.text();
      ASSERT_LT(value, index.bound()) << "seed " << seed;
    }
  }
}

TEST(FuserIndex, KnowsHowLanesLie) {
  int regular = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Rng rng(seed);
    constexpr int64_t kExtent = 192;
    Index index = random_index(rng, kExtent);
    int lanes = 1 << rng.integer(1, 4);
    fuser::LaneForm form = lane_form(index, Counter::kept, lanes);
    if (!form.regular) continue;
    ++regular;
    for (int64_t first = 0; first + lanes <= kExtent; first += lanes) {
      int64_t start = index.value(first, 0);
      ASSERT_EQ(start % form.alignment, 0) << "seed " << seed << ", " << index.text();
      for (int64_t lane = 0; lane < lanes; ++lane)
        ASSERT_EQ(index.value(first + lane, 0), start + lane * form.stride)
            << "seed " << seed << ", " << index.text();
    }
  }
  EXPECT_GT(regular, 1000);
}

TEST(FuserIndex, TellsARangeThatIsTheSameForAllLanes) {
  fuser::Range whole{counter(64), 8, 48}, cut{counter(64), 6, 48};
  EXPECT_TRUE(whole.is_uniform(Counter::kept, 8));
  EXPECT_FALSE(cut.is_uniform(Counter::kept, 8));
}

}  // namespace

}  // namespace stoker::test
