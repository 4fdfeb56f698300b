// The algebra, on small chains whose results can be written down.
#include <gtest/gtest.h>
#include <stoker/dataset.h>

#include <algorithm>
#include <numeric>

#include "elements.h"

namespace stoker::data {
namespace {

TEST(Dataset, WalksOverSlices) {
  Tensor images = Tensor::from({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {3, 2});
  Tensor labels = Tensor::from({7, 8, 9}, {3});
  Dataset dataset = from_slices({images, labels});
  EXPECT_EQ(to_string(dataset.spec()), "(float32[2], int32[])");
  EXPECT_EQ(dataset.cardinality().count, 3);
  std::vector<Batch> elements = all_of(dataset);
  ASSERT_EQ(elements.size(), 3U);
  EXPECT_EQ(elements[1][0], Tensor::from({3.0F, 4.0F}, {2}));
  EXPECT_EQ(elements[2][1].item(), 9);
}

TEST(Dataset, CountsWithRange) {
  EXPECT_EQ(integers(range(4)), (Integers{0, 1, 2, 3}));
  EXPECT_EQ(integers(range(2, 9, 3)), (Integers{2, 5, 8}));
  EXPECT_EQ(integers(range(5, 0, -2)), (Integers{5, 3, 1}));
  EXPECT_EQ(integers(range(0)), Integers{});
  EXPECT_THROW(range(0, 5, 0), ValueError);
}

TEST(Dataset, MapsWithTypedFunctions) {
  Dataset doubled = range(4).map([](int64_t x) { return 2 * x; });
  EXPECT_EQ(integers(doubled), (Integers{0, 2, 4, 6}));
  Dataset pairs = range(3).map([](int64_t x) { return std::tuple(x, float(x) / 2); });
  EXPECT_EQ(to_string(pairs.spec()), "(int64[], float32[])");
  EXPECT_EQ(all_of(pairs)[2][1].item(), 1.0);
}

TEST(Dataset, BatchesInPlaceWithARemainder) {
  std::vector<Batch> batches = all_of(range(5).map([](int64_t x) { return x * x; }).batch(2));
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[0][0], Tensor::from<int64_t>({0, 1}, {2}));
  EXPECT_EQ(batches[2][0], Tensor::from<int64_t>({16}, {1}));
  EXPECT_EQ(all_of(range(5).batch(2, {.drop_remainder = true})).size(), 2U);
}

TEST(Dataset, ShufflesExactly) {
  Integers order = integers(range(100).shuffle().with_options({.seed = 1}));
  Integers sorted = order;
  std::sort(sorted.begin(), sorted.end());
  Integers numbers(100);
  std::iota(numbers.begin(), numbers.end(), 0);
  EXPECT_EQ(sorted, numbers);
  EXPECT_NE(order, numbers);
  Dataset twice = range(100).shuffle().with_options({.seed = 1});
  EXPECT_EQ(integers(twice), order);
  EXPECT_NE(integers(twice), order) << "the second walk is the second epoch";
}

TEST(Dataset, FiltersRepeatsTakesSkipsAndShards) {
  auto even = [](int64_t x) { return x % 2 == 0; };
  EXPECT_EQ(integers(range(7).filter(even)), (Integers{0, 2, 4, 6}));
  EXPECT_EQ(integers(range(3).repeat(2)), (Integers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(integers(range(3).repeat().take(5)), (Integers{0, 1, 2, 0, 1}));
  EXPECT_EQ(integers(range(7).filter(even).skip(1).take(2)), (Integers{2, 4}));
  EXPECT_EQ(integers(range(10).shard(3, 1)), (Integers{1, 4, 7}));
  EXPECT_EQ(integers(range(10).filter(even).shard(2, 1)), (Integers{2, 6}));
}

TEST(Dataset, ZipsConcatenatesAndEnumerates) {
  Dataset both = zip({range(3), range(10, 20)});
  EXPECT_EQ(both.cardinality().count, 3);
  EXPECT_EQ(all_of(both)[2][1].item(), 12);
  EXPECT_EQ(integers(range(2).concatenate(range(5, 7))), (Integers{0, 1, 5, 6}));
  std::vector<Batch> numbered = all_of(range(5, 8).enumerate(1));
  EXPECT_EQ(numbered[2][0].item(), 3);
  EXPECT_EQ(numbered[2][1].item(), 7);
}

TEST(Dataset, ExpandsAndInterleaves) {
  ElementSpec number{{DType::int64, {}}};
  auto run = [](const Batch& element) {
    auto n = int64_t(element[0].item());
    return range(10 * n, 10 * n + 3);
  };
  EXPECT_EQ(integers(range(2).flat_map(number, run)), (Integers{0, 1, 2, 10, 11, 12}));
  EXPECT_EQ(integers(range(3).interleave(number, run, {.cycle = 2, .block = 2})),
            (Integers{0, 1, 10, 11, 2, 12, 20, 21, 22}));
}

TEST(Dataset, PadsBatchesOfUnequalLength) {
  Dataset ragged = range(1, 4).map([](int64_t n) { return std::vector<int64_t>(size_t(n), n); });
  EXPECT_EQ(to_string(ragged.spec()), "(int64[None])");
  std::vector<Batch> batches = all_of(ragged.padded_batch(2, {.padding_value = -1, .mask = true}));
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0][0], Tensor::from<int64_t>({1, -1, 2, 2}, {2, 2}));
  EXPECT_EQ(batches[0][1].shape(), (Shape{2, 2}));
  EXPECT_EQ(batches[0][1].at(1), 0);
  EXPECT_EQ(all_of(ragged.padded_batch(3, {.lengths = {4, 8}}))[0][0].shape(), (Shape{3, 4}));
  EXPECT_THROW(all_of(ragged.padded_batch(3, {.lengths = {2}})), ShapeError);
  EXPECT_THROW(ragged.padded_batch(3, {.padding_value = 0.5}), ValueError);
}

TEST(Dataset, HasTfDatasNamesForTensors) {
  Tensor x = Tensor::from({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2}), y = Tensor::from<int64_t>({5, 6}, {2});
  Dataset rows = from_tensor_slices({x, y});
  EXPECT_EQ(to_string(rows.spec()), "(float32[2], int64[])");
  EXPECT_EQ(all_of(rows)[1][0], Tensor::from({3.0F, 4.0F}, {2}));
  EXPECT_EQ(all_of(from_tensor_slices(y)).size(), 2U);
  std::vector<Batch> whole = all_of(from_tensors({x, y}));
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole[0][0], x);
  EXPECT_EQ(whole[0][1], y);
}

TEST(Dataset, UnbatchesAndCaches) {
  EXPECT_EQ(integers(range(5).batch(2).unbatch()), (Integers{0, 1, 2, 3, 4}));
  int calls = 0;
  Dataset cached =
      range(5).map([&calls](int64_t x) { return ++calls, x; }, {.parallel = 1}).cache();
  EXPECT_EQ(integers(cached), (Integers{0, 1, 2, 3, 4}));
  EXPECT_EQ(integers(cached), (Integers{0, 1, 2, 3, 4}));
  EXPECT_EQ(calls, 5);
}

TEST(Dataset, AddressesErrorsOfUserFunctions) {
  Dataset bad = range(5).map(
      [](int64_t x) {
        if (x == 3) throw std::runtime_error("three is not welcome");
        return x;
      },
      {.name = "picky"});
  try {
    all_of(bad.batch(2));
    FAIL() << "no exception";
  } catch (const ElementError& error) {
    EXPECT_EQ(error.index(), 3);
    EXPECT_STREQ(error.what(), "map(\"picky\"): element 3 of epoch 0: three is not welcome");
  }
  EXPECT_EQ(integers(bad.on_error(OnError::skip)), (Integers{0, 1, 2, 4}));
  Integers replaced = integers(bad.on_error(OnError::replace));
  ASSERT_EQ(replaced.size(), 5U);
  EXPECT_NE(replaced[3], 3);
}

TEST(Dataset, GoesOnWhereAStateWasTaken) {
  Dataset dataset = range(20)
                        .shuffle()
                        .map([](int64_t x, Rng& rng) { return x + rng.integer(0, 9); })
                        .batch(3)
                        .with_options({.seed = 5});
  std::vector<Batch> all = all_of(dataset);
  Iterator walk = dataset.iterate();
  for (int i = 0; i < 3; ++i) walk.next();
  Iterator resumed = dataset.iterate({.state = walk.state()});
  for (size_t i = 3; i < all.size(); ++i) {
    const Batch* batch = resumed.next();
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ((*batch)[0], all[i][0]);
  }
  EXPECT_EQ(resumed.next(), nullptr);
}

TEST(Dataset, ReplaysTheOrderOfAnUnorderedWalk) {
  Dataset dataset = range(200).map([](int64_t x) { return x; }, {.deterministic = false}).batch(2);
  Iterator walk = dataset.iterate();
  std::vector<Batch> seen;
  while (const Batch* batch = walk.next()) {
    seen.push_back(*batch);
    if (seen.size() == 60) break;
  }
  Iterator again = dataset.iterate({.order = walk.order()});
  for (const Batch& batch : seen) {
    const Batch* replayed = again.next();
    ASSERT_NE(replayed, nullptr);
    EXPECT_EQ((*replayed)[0], batch[0]);
  }
  EXPECT_EQ(again.next(), nullptr);
}

TEST(Dataset, ExplainsItself) {
  Dataset dataset =
      range(100).shuffle().map([](int64_t x) { return x; }, {.name = "same"}).batch(10);
  std::string text = dataset.explain();
  EXPECT_NE(text.find("map(\"same\")"), std::string::npos) << text;
  EXPECT_NE(text.find("prefetch(AUTOTUNE) was added"), std::string::npos) << text;
  all_of(dataset);
  EXPECT_NE(dataset.explain().find("measured: 10 batches"), std::string::npos) << dataset.explain();
}

TEST(Dataset, AddsUpOptionsThatAreSetOneByOne) {
  Dataset dataset = range(100)
                        .shuffle()
                        .with_options({.name = "numbers", .seed = 5})
                        .with_budget({.bytes = 1'000'000})
                        .with_options({.seed = 6})
                        .with_budget({.cores = 1});
  EXPECT_NE(dataset.explain().find("\"numbers\""), std::string::npos) << dataset.explain();
  EXPECT_NE(dataset.explain().find("1.0 MB allowed"), std::string::npos) << dataset.explain();
  EXPECT_EQ(integers(dataset), integers(range(100).shuffle().with_options({.seed = 6})));
}

TEST(Dataset, CallsAnyFunctionByTheNameThatMapGivesIt) {
  Dataset dataset =
      from_slices(Tensor::zeros({4, 2, 2, 1})).map(image::flip_left_right(), {.name = "mirror"});
  EXPECT_NE(dataset.explain().find("map(\"mirror\")"), std::string::npos) << dataset.explain();
}

}  // namespace
}  // namespace stoker::data
