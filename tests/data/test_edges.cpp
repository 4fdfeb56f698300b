// Sizes at the edge: nothing, endless, huge.
#include <gtest/gtest.h>

#include "elements.h"

namespace stoker::data {
namespace {

TEST(Edges, EmptyDatasetsAreEmptyThroughEveryOperation) {
  auto none = [](const Dataset& dataset) { return integers(dataset).empty(); };
  auto yes = [](int64_t) { return true; };
  auto expand = [](const Batch&) { return range(0); };
  for (const Dataset& empty : {range(0), range(9).take(0), range(9).filter(yes).take(0),
                               range(9).repeat(0), range(9).filter(yes).repeat(0),
                               range(4).flat_map(kNumber, expand), range(3).skip(INT64_MAX)}) {
    EXPECT_TRUE(none(empty));
    EXPECT_TRUE(none(empty.batch(3)));
    EXPECT_TRUE(none(empty.batch(3).unbatch()));
    EXPECT_TRUE(none(empty.padded_batch(3)));
    EXPECT_TRUE(none(empty.repeat())) << "nothing without end is nothing";
    EXPECT_TRUE(none(empty.filter(yes).repeat()));
    EXPECT_TRUE(none(empty.shuffle(4).cache().enumerate().take(7).skip(1).shard(2, 1)));
    EXPECT_TRUE(none(empty.concatenate(empty)));
    EXPECT_TRUE(none(zip({empty, range(5)})));
    EXPECT_TRUE(none(empty.interleave(kNumber, expand)));
    EXPECT_TRUE(none(empty.on_error(OnError::skip)));
    EXPECT_TRUE(none(empty.ceiling()));
  }
  EXPECT_TRUE(none(range(0).shuffle().on_error(OnError::replace).batch(2)));
}

TEST(Edges, HugeCountsAreCounted) {
  auto odd = [](int64_t x) { return x % 2 == 1; };
  Dataset small = range(10), stream = range(10).filter(odd);
  EXPECT_EQ(integers(small.batch(INT64_MAX)).size(), 10U);
  EXPECT_EQ(integers(stream.batch(INT64_MAX)).size(), 5U);
  EXPECT_EQ(integers(small.padded_batch(INT64_MAX)).size(), 10U);
  EXPECT_EQ(integers(stream.padded_batch(int64_t(1) << 40).map([](const Tensor& x) {
              return x.clone();
            })).size(),
            5U);
  EXPECT_EQ(integers(small.take(INT64_MAX)).size(), 10U);
  EXPECT_EQ(integers(stream.take(INT64_MAX)).size(), 5U);
  EXPECT_EQ(integers(stream.batch(4).skip(INT64_MAX)).size(), 0U);
  EXPECT_EQ(integers(stream.skip(1).batch(4).skip(INT64_MAX)).size(), 0U);
  EXPECT_EQ(integers(small.shard(INT64_MAX, 3)), Integers{3});
  EXPECT_EQ(integers(stream.shard(INT64_MAX, 3)), Integers{7});
  EXPECT_EQ(integers(small.repeat(INT64_MAX).take(12)).size(), 12U);
  EXPECT_EQ(integers(stream.repeat(INT64_MAX).take(12)).size(), 12U);
  EXPECT_EQ(integers(stream.take(0).repeat(INT64_MAX)).size(), 0U);
  EXPECT_EQ(integers(small.shuffle(INT64_MAX)).size(), 10U);
  EXPECT_EQ(integers(stream.shuffle(INT64_MAX)).size(), 5U);
  EXPECT_EQ(integers(small.interleave(kNumber, [](const Batch&) { return range(2); },
                                      {.cycle = int64_t(1) << 40}))
                .size(),
            20U);
  Dataset endless = range(INT64_MAX - 1);
  EXPECT_EQ(integers(endless.concatenate(endless).take(2)), (Integers{0, 1}));
  EXPECT_EQ(integers(endless.skip(INT64_MAX - 3)), (Integers{INT64_MAX - 3, INT64_MAX - 2}));
  EXPECT_EQ(integers(endless.batch(3).take(1)), (Integers{0, 1, 2}));
  EXPECT_EQ(all_of(endless.shuffle().batch(4).take(2)).size(), 2U);
}

TEST(Edges, DatasetsWithoutEndGoOn) {
  Iterator walk = walk_with(range(3).repeat().batch(2), 4);
  for (int64_t i = 0; i < 5000; ++i)
    ASSERT_EQ((*walk.next())[0], Tensor::from<int64_t>({2 * i % 3, (2 * i + 1) % 3}, {2}));
  Iterator epochs = walk_with(range(3), 2, 0);
  for (int64_t i = 0; i < 1000; ++i) {
    ASSERT_FALSE(epochs.finished());
    const Batch* element = epochs.next();
    ASSERT_EQ(element == nullptr, i % 4 == 3);
  }
}

TEST(Edges, AFilterThatLeavesNothingOfOneEpochDoesNotEndARepetition) {
  Dataset sometimes = range(1).filter([](int64_t, Rng& rng) { return rng.integer(0, 2) == 0; });
  EXPECT_GT(integers(sometimes.repeat(40).with_options({.seed = 1})).size(), 5U);
  EXPECT_EQ(integers(sometimes.repeat().take(40).with_options({.seed = 1})).size(), 40U);
}

TEST(Edges, NestedInterleavesRunOnOneThread) {
  auto inner = [](const Batch& element) {
    auto n = int64_t(element[0].item());
    return range(n, n + 3).filter([](int64_t) { return true; });
  };
  auto middle = [inner](const Batch& element) {
    auto n = int64_t(element[0].item());
    return range(n, n + 4).interleave(kNumber, inner, {.cycle = 3});
  };
  Dataset nested = range(6)
                       .filter([](int64_t) { return true; })
                       .interleave(kNumber, middle, {.cycle = 4, .block = 2})
                       .map([](int64_t x) { return x; }, {.parallel = 4})
                       .filter([](int64_t) { return true; })
                       .batch(5);
  auto values = [&](int threads) {
    Integers all;
    Iterator walk = walk_with(nested, threads);
    while (const Batch* batch = walk.next())
      for (int64_t value : (*batch)[0].values<int64_t>()) all.push_back(value);
    return all;
  };
  Integers alone = values(1);
  EXPECT_EQ(alone.size(), 72U);
  for (int threads : {2, 3, 16}) EXPECT_EQ(values(threads), alone);
}

}  // namespace
}  // namespace stoker::data
