// Ranks whose datasets leave bad elements out.
#include <algorithm>

#include <gtest/gtest.h>

#include "slices.h"

namespace stoker::data::slices {
namespace {

TEST(Slices, AreShorterWhereElementsAreBadAndAsManyOnAllRanks) {
  auto per_row = [](const Dataset& dataset) {
    return dataset.map([](const Tensor& x) { return x; },
                       {.spec = ElementSpec{{DType::int64, {-1}}}, .per_row = true});
  };
  Dataset good = bad_sevenths(61).on_error(OnError::skip);
  auto unknown = [](int64_t x) { return Tensor::from(std::vector<int64_t>{x, x}, {2}); };
  ElementSpec any{{DType::int64, {-1}}};
  std::vector<Family> skipping{
      {"batch", good.batch(5)},
      {"one row each", good.batch(2)},
      {"unknown shape", good.map(unknown, {.spec = any}).batch(2)},
      {"noise", noisy(good).batch(5)},
      {"window shuffle", noisy(good.shuffle(9)).batch(5)},
      {"repeat", good.repeat(2).batch(5)},
      {"cache", good.cache().batch(5)},
      {"concatenate", good.concatenate(bad_sevenths(9).on_error(OnError::skip)).batch(5)},
      {"per row", per_row(good.batch(3))},
      {"whole", good.batch(8).map([](const Tensor& x) { return x; }, {.spec = any})},
      {"padded", good.map(unknown, {.spec = any}).padded_batch(5)},
      {"a bad row of a batch", bad_sevenths(61).batch(3).on_error(OnError::skip)},
  };
  for (const Family& family : skipping) {
    Dataset dataset = family.dataset.with_options({.seed = 3});
    std::vector<std::string> one = of_ranks(dataset, 1);
    for (int64_t size : {2, 3, 4}) EXPECT_EQ(of_ranks(dataset, size), one) << family.name;
  }
  Integers values;
  for (int64_t rank = 0; rank < 2; ++rank) {
    std::vector<Batch> batches = walked(good.batch(4), rank_of(rank, 2), 3, 1);
    EXPECT_EQ(batches.size(), 16U + 1);
    for (const Batch& batch : batches)
      if (batch.size() > 0)
        for (int64_t value : batch[0].values<int64_t>()) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, integers(good));
}

TEST(Slices, ListTheirOwnBadElements) {
  size_t bad = 0;
  for (int64_t rank = 0; rank < 3; ++rank) {
    Iterator walk =
        bad_sevenths(30).on_error(OnError::skip).batch(6).iterate({.slice = rank_of(rank, 3)});
    while (!walk.finished()) walk.next();
    bad += walk.quarantine().size();
  }
  EXPECT_EQ(bad, 4U);
}

// Elements of a chain that looks at them in order are the same as in one process.
TEST(Slices, LeaveOutBadElementsBeforeStepsThatCount) {
  Dataset good = bad_sevenths(61).on_error(OnError::skip);
  for (const Dataset& dataset :
       {good.take(20).batch(4), good.skip(9).batch(4), good.enumerate().batch(4),
        zip({good, range(100)}).batch(4), good.window(3, {.drop_remainder = true}).batch(4),
        good.shard(2, 1).batch(4)}) {
    std::vector<std::string> whole = together({walked(dataset, {})});
    for (int64_t size : {1, 3}) EXPECT_EQ(of_ranks(dataset, size), whole);
  }
}

TEST(Slices, DoNotGoOnWithOtherBatches) {
  Dataset good = bad_sevenths(61).on_error(OnError::skip).batch(4);
  Iterator walk = good.iterate({.slice = rank_of(0, 2)});
  walk.next();
  EXPECT_NE(message_of([&] {
              good.iterate({.state = walk.state()});
            }).find("leave bad elements out where they stand"),
            std::string::npos);
  EXPECT_EQ(of_ranks(good, 3, 2, 1, walk.state()).size(), 16U);
}

}  // namespace
}  // namespace stoker::data::slices
