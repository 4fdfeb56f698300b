// save, load and cache(path).
#include <gtest/gtest.h>

#include "elements.h"
#include "support/temp_dir.h"

namespace stoker::data {
namespace {

Dataset pairs() {
  return range(10).map([](int64_t x) { return std::tuple(x * x, std::to_string(x)); });
}

TEST(Shards, GiveBackWhatWasSaved) {
  test::TempDir folder;
  EXPECT_EQ(pairs().save(folder / "shards"), 10);
  Dataset loaded = load(folder / "shards");
  EXPECT_TRUE(loaded.random_access());
  EXPECT_EQ(loaded.spec(), pairs().spec());
  std::vector<Batch> elements = all_of(loaded.batch(4));
  ASSERT_EQ(elements.size(), 3U);
  EXPECT_EQ(elements[2][0], Tensor::from<int64_t>({64, 81}, {2}));
  EXPECT_EQ(elements[2][1].data<std::string>()[1], "9");
  EXPECT_THROW(range(3).repeat().save(folder / "endless"), ValueError);
  EXPECT_THROW(load(folder / "nothing"), FileError);
}

TEST(FileCache, IsCompleteAfterOneEpoch) {
  test::TempDir folder;
  std::atomic<int> calls = 0;
  auto counted = [&calls](int64_t x) { return ++calls, 3 * x; };
  auto cached = [&] {
    return range(20).map(counted).cache(folder / "cache").with_options({.seed = 3});
  };
  Dataset first = cached();
  Integers values = integers(first);
  EXPECT_EQ(calls, 20);
  EXPECT_EQ(integers(first), values);
  EXPECT_EQ(integers(cached()), values) << "also in another program";
  EXPECT_EQ(calls, 20);
  EXPECT_THROW(integers(range(20).map(counted).cache(folder / "cache").with_options({.seed = 4})),
               FileError);
}

TEST(FileCache, KeepsStreams) {
  test::TempDir folder;
  Dataset odd = range(9).filter([](int64_t x) { return x % 2 == 1; }).cache(folder / "cache");
  EXPECT_EQ(integers(odd), (Integers{1, 3, 5, 7}));
  EXPECT_EQ(integers(odd), (Integers{1, 3, 5, 7}));
  EXPECT_EQ(integers(load(folder / "cache")), (Integers{1, 3, 5, 7}));
}

TEST(FileCache, LeavesNothingWhenItWasNotCompleted) {
  test::TempDir folder;
  {
    Dataset cached = range(1000).cache(folder / "cache").prefetch(0);
    Iterator walk = cached.iterate();
    walk.next();
  }
  EXPECT_THROW(load(folder / "cache"), FileError);
}

}  // namespace
}  // namespace stoker::data
