// tf.data's operations that look at elements in order, mix datasets or group them.
#include <gtest/gtest.h>
#include <stoker/mixing.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "data/elements.h"
#include "support/temp_dir.h"

namespace stoker::data {
namespace {

Integers first_of(const Dataset& dataset, int threads, int64_t epochs = 1,
                  const std::string& state = {}) {
  Iterator walk = walk_with(dataset, threads, epochs, state);
  Integers values;
  while (!walk.finished())
    if (const Batch* element = walk.next())
      for (int64_t i = 0; i < (*element)[0].elements(); ++i)
        values.push_back(int64_t((*element)[0].at(i)));
  return values;
}

// The same elements at every thread count, and the same rest after a resume at every place.
void expect_everywhere(const Dataset& chain, const Integers& expected) {
  Dataset dataset = chain.with_options({.seed = 11});
  for (int threads : {1, 2, 7}) ASSERT_EQ(first_of(dataset, threads), expected);
  Iterator walk = walk_with(dataset, 3);
  Integers before;
  for (size_t at = 0;; ++at) {
    std::string state = walk.state();
    const Batch* element = walk.next();
    Integers rest = first_of(dataset, at % 2 == 0 ? 1 : 5, 1, state);
    ASSERT_EQ(rest, Integers(expected.begin() + ptrdiff_t(before.size()), expected.end()));
    if (element == nullptr) break;
    for (int64_t i = 0; i < (*element)[0].elements(); ++i)
      before.push_back(int64_t((*element)[0].at(i)));
  }
}

Integers iota(int64_t from, int64_t to) {
  Integers values;
  for (int64_t value = from; value < to; ++value) values.push_back(value);
  return values;
}

TEST(TakeWhile, EndsBeforeTheFirstThatFails) {
  Dataset small = range(100).take_while([](int64_t x) { return x % 10 < 7; });
  expect_everywhere(small, iota(0, 7));
  EXPECT_FALSE(small.cardinality().known());
  expect_everywhere(range(5).take_while([](int64_t) { return true; }), iota(0, 5));
  EXPECT_THROW(range(5).take_while([](float) { return true; }), ShapeError);
}

TEST(TakeWhile, AnErrorOfThePredicateIsAnErrorOfTheElement) {
  Dataset fails = range(6).take_while([](int64_t x) {
    if (x == 2) throw ValueError("no twos");
    return x < 4;
  });
  EXPECT_NE(message_of([&] { integers(fails); }).find("no twos"), std::string::npos);
  EXPECT_EQ(integers(fails.ignore_errors()), (Integers{0, 1, 3}));
}

TEST(Unique, KeepsTheFirstOfEqualElements) {
  expect_everywhere(range(60).map([](int64_t x) { return x * x % 11; }).unique(),
                    {0, 1, 4, 9, 5, 3});
  Dataset texts = from_slices(Tensor::from<std::string>({"b", "a", "b", "", "a"}, {5})).unique();
  EXPECT_EQ(all_of(texts).size(), 3U);
  // Two short texts are not one long text.
  Dataset pairs = from_slices(Tensor::from<std::string>({"ab", "c", "a", "bc"}, {2, 2})).unique();
  EXPECT_EQ(all_of(pairs).size(), 2U);
}

TEST(Scan, HandsAStateFromElementToElement) {
  Dataset sums = range(1, 7).scan({Tensor::full({}, 0, DType::int64)}, kNumber,
                                  [](const Batch& state, const Batch& element) {
                                    Tensor sum = state[0] + element[0];
                                    return std::pair(Batch{sum}, Batch{sum});
                                  });
  expect_everywhere(sums, {1, 3, 6, 10, 15, 21});
  EXPECT_EQ(sums.cardinality().count, 6);
  EXPECT_EQ(first_of(sums.take(2), 2, 2), (Integers{1, 3, 1, 3}));  // every epoch anew
}

TEST(Scan, HoldsItsFunctionToTheSpec) {
  Dataset wrong = range(3).scan({}, kNumber, [](const Batch& state, const Batch&) {
    return std::pair(state, Batch{Tensor::zeros({2})});
  });
  std::string message = message_of([&] { integers(wrong); });
  EXPECT_NE(message.find("scan()"), std::string::npos) << message;
  EXPECT_THROW(range(3).scan({}, kNumber, nullptr), ValueError);
}

TEST(Reduce, FoldsAllElements) {
  int64_t sum = range(10).reduce(int64_t(5), [](int64_t state, const Batch& element) {
    return state + int64_t(element[0].item());
  });
  EXPECT_EQ(sum, 50);
}

TEST(SampleFromDatasets, DrawsByWeightAndEndsWithTheLast) {
  Dataset mixed = sample_from_datasets({range(0, 40), range(100, 140)}, {.weights = {0.9, 0.1}})
                      .with_options({.seed = 3});
  Integers values = first_of(mixed, 1);
  EXPECT_EQ(mixed.cardinality().count, 80);
  ASSERT_EQ(values.size(), 80U);
  EXPECT_GT(std::count_if(values.begin(), values.begin() + 30, [](int64_t x) { return x < 100; }),
            20);
  Integers first, second;
  for (int64_t value : values) (value < 100 ? first : second).push_back(value);
  EXPECT_EQ(first, iota(0, 40));
  EXPECT_EQ(second, iota(100, 140));
  EXPECT_NE(first_of(mixed, 1, 2), [&] {
    Integers twice = values;
    twice.insert(twice.end(), values.begin(), values.end());
    return twice;
  }());
}

TEST(SampleFromDatasets, IsTheSameEverywhere) {
  auto noisy = [](int64_t x, Rng& rng) { return 1000 * x + rng.integer(0, 1000); };
  Dataset mixed = sample_from_datasets(
      {range(9).map(noisy), range(50, 59).filter([](int64_t x) { return x % 2 == 0; }),
       range(70, 72).shuffle(2)},
      {.weights = {1, 2, 1}, .seed = 5});
  expect_everywhere(mixed, first_of(mixed.with_options({.seed = 11}), 1));
  EXPECT_EQ(first_of(mixed, 2).size(), 16U);
}

TEST(SampleFromDatasets, StopsAtTheFirstThatIsEmptyWhereAsked) {
  Dataset mixed =
      sample_from_datasets({range(3), counter(100)}, {.seed = 1, .stop_on_empty_dataset = true});
  Integers values = integers(mixed);
  EXPECT_EQ(std::count_if(values.begin(), values.end(), [](int64_t x) { return x < 100; }), 3);
  EXPECT_FALSE(mixed.cardinality().known());
  EXPECT_TRUE(sample_from_datasets({range(3), counter()}).cardinality().infinite());
  EXPECT_EQ(integers(sample_from_datasets({range(3), counter()}, {.weights = {1, 0}})), iota(0, 3));
}

TEST(SampleFromDatasets, RefusesWeightsAndSpecsThatDoNotFit) {
  EXPECT_THROW(sample_from_datasets({}), ValueError);
  EXPECT_THROW(sample_from_datasets({range(3), range(3)}, {.weights = {1}}), ValueError);
  EXPECT_THROW(sample_from_datasets({range(3)}, {.weights = {-1}}), ValueError);
  EXPECT_THROW(sample_from_datasets({range(3)}, {.weights = {0}}), ValueError);
  EXPECT_THROW(sample_from_datasets({range(3), from_slices(Tensor::zeros({2}))}), ShapeError);
}

TEST(ChooseFromDatasets, FollowsTheChoices) {
  Dataset choices = from_slices(Tensor::from<int64_t>({1, 1, 0, 2, 0, 0, 1}, {7}));
  Dataset chosen = choose_from_datasets({range(0, 9), range(10, 19), range(20, 29)}, choices);
  expect_everywhere(chosen, {10, 11, 0, 20, 1, 2, 12});
}

TEST(ChooseFromDatasets, EndsOrGoesOnWhereADatasetHasEnded) {
  Dataset turns = range(10).map([](int64_t x) { return x % 2; });
  std::vector<Dataset> both{range(0, 2), range(10, 14)};
  expect_everywhere(choose_from_datasets(both, turns), {0, 10, 1, 11});
  expect_everywhere(choose_from_datasets(both, turns, {.stop_on_empty_dataset = false}),
                    {0, 10, 1, 11, 12, 13});
}

TEST(ChooseFromDatasets, SaysWhichChoiceIsWrong) {
  Dataset choices = from_slices(Tensor::from<int64_t>({0, 5, 1}, {3}));
  Dataset chosen = choose_from_datasets({range(3), range(10, 13)}, choices);
  EXPECT_NE(message_of([&] { integers(chosen); }).find("a choice is 5, but there are 2 datasets"),
            std::string::npos);
  EXPECT_EQ(integers(chosen.ignore_errors()), (Integers{0, 10}));
  EXPECT_THROW(choose_from_datasets({range(3)}, from_slices(Tensor::zeros({2}))), ShapeError);
}

TEST(RejectionResample, GivesClassesTheSharesAskedFor) {
  auto label = [](const Batch& element) { return int64_t(element[0].item()) % 10 == 0 ? 1 : 0; };
  for (const std::vector<double>& initial : {std::vector<double>{}, {0.9, 0.1}}) {
    Dataset even = range(20'000)
                       .rejection_resample(label, {0.5, 0.5}, {.initial_dist = initial})
                       .with_options({.seed = 2});
    EXPECT_EQ(to_string(even.spec()), "(int64[], int64[])");
    Integers classes = first_of(even, 2);
    double share = double(std::accumulate(classes.begin(), classes.end(), int64_t(0))) /
                   double(classes.size());
    EXPECT_NEAR(share, 0.5, 0.03);
    EXPECT_GT(classes.size(), 3'600U);  // of the rarer class none is left out
  }
}

TEST(RejectionResample, IsTheSameEverywhere) {
  Dataset even = range(60).rejection_resample(
      [](const Batch& element) { return int64_t(element[0].item()) % 3 == 0 ? 1 : 0; }, {1, 1});
  expect_everywhere(even, first_of(even.with_options({.seed = 11}), 1));
  Dataset wrong = range(3).rejection_resample([](const Batch&) { return 7; }, {1, 1});
  EXPECT_NE(message_of([&] { integers(wrong); }).find("target_dist has 2 classes"),
            std::string::npos);
  EXPECT_THROW(range(3).rejection_resample([](const Batch&) { return 0; }, {}), ValueError);
  EXPECT_THROW(range(3).rejection_resample([](const Batch&) { return 0; }, {0, 0}), ValueError);
}

TEST(GroupByWindow, BatchesWhatHasTheSameKey) {
  auto parity = [](const Batch& element) { return int64_t(element[0].item()) % 2; };
  auto batch = [](int64_t, const Dataset& window) { return window.batch(3); };
  Dataset grouped =
      range(11).group_by_window({{DType::int64, {-1}}}, parity, batch, {.window_size = 3});
  expect_everywhere(grouped, {0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9});
}

TEST(GroupByWindow, ReducesByKeyWithWindowsOfTheirOwn) {
  auto key = [](const Batch& element) { return int64_t(element[0].item()) % 3; };
  auto add_key = [](int64_t group, const Dataset& window) {
    return window.map([group](int64_t x) { return 100 * group + x; });
  };
  Dataset grouped = range(9).group_by_window(
      kNumber, key, add_key, {.window_size_func = [](int64_t group) { return group + 1; }});
  expect_everywhere(grouped, {0, 3, 101, 104, 6, 202, 205, 208, 107});
  EXPECT_THROW(range(9).group_by_window(kNumber, key, add_key, {}), ValueError);
}

TEST(GroupByWindow, AnErrorOfAKeyIsAnElement) {
  auto key = [](const Batch& element) -> int64_t {
    if (element[0].item() == 1) throw ValueError("no ones");
    return 0;
  };
  Dataset grouped = range(4).group_by_window(
      kNumber, key, [](int64_t, const Dataset& window) { return window; }, {.window_size = 2});
  EXPECT_NE(message_of([&] { integers(grouped); }).find("no ones"), std::string::npos);
  EXPECT_EQ(integers(grouped.ignore_errors()), (Integers{0, 2, 3}));
}

TEST(RaggedBatch, PutsValuesInARowWithTheirLengths) {
  Dataset ragged =
      range(5).map([](int64_t x) { return std::pair(std::vector<int64_t>(size_t(x % 3), x), x); });
  Dataset batches = ragged.ragged_batch(3);
  EXPECT_EQ(to_string(batches.spec()), "(int64[None], int64[None], int64[None])");
  std::vector<Batch> all = all_of(batches);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0][0], Tensor::from<int64_t>({1, 2, 2}, {3}));
  EXPECT_EQ(all[0][1], Tensor::from<int64_t>({0, 1, 2}, {3}));
  EXPECT_EQ(all[0][2], Tensor::from<int64_t>({0, 1, 2}, {3}));
  EXPECT_EQ(all[1][1], Tensor::from<int64_t>({0, 1}, {2}));
  expect_everywhere(batches, {1, 2, 2, 4});
  EXPECT_EQ(all_of(ragged.ragged_batch(3, {.drop_remainder = true})).size(), 1U);
}

TEST(Rebatch, CutsTheSameRowsAnew) {
  Dataset tens = range(30).batch(10);
  EXPECT_EQ(all_of(tens.rebatch(7)).size(), 5U);
  Dataset turns = tens.rebatch({2, 5});
  Integers sizes;
  for (const Batch& batch : turns) sizes.push_back(batch[0].shape()[0]);
  EXPECT_EQ(sizes, (Integers{2, 5, 2, 5, 2, 5, 2, 5, 2}));
  expect_everywhere(turns, iota(0, 30));
  EXPECT_THROW(tens.rebatch(std::vector<int64_t>{}), ValueError);
}

TEST(PaddedBatch, TakesShapesAndValuesPerComponent) {
  Dataset ragged = range(1, 3).map([](int64_t x) {
    return std::pair(std::vector<int64_t>(size_t(x), x), std::vector<float>(size_t(x), 1.0F));
  });
  Batch batch = ragged.padded_batch(2, {.padded_shapes = {{3}, {-1}}, .padding_values = {-1, 0.5}})
                    .get_single_element();
  EXPECT_EQ(batch[0], Tensor::from<int64_t>({1, -1, -1, 2, 2, -1}, {2, 3}));
  EXPECT_EQ(batch[1], Tensor::from({1.0F, 0.5F, 1.0F, 1.0F}, {2, 2}));
  Dataset short_ones = ragged.padded_batch(2, {.padded_shapes = {{1}, {-1}}});
  EXPECT_NE(message_of([&] { all_of(short_ones); }).find("padded_shapes says 1"),
            std::string::npos);
  EXPECT_THROW(ragged.padded_batch(2, {.padded_shapes = {{1}}}), ShapeError);
  EXPECT_THROW(ragged.padded_batch(2, {.padding_values = {1}}), ValueError);
}

TEST(AssertCardinality, IsKnownAndChecked) {
  Dataset even = range(10).filter([](int64_t x) { return x % 2 == 0; });
  EXPECT_EQ(even.assert_cardinality(5).cardinality().count, 5);
  expect_everywhere(even.assert_cardinality(5), {0, 2, 4, 6, 8});
  EXPECT_NE(message_of([&] { integers(even.assert_cardinality(4)); }).find("more than 4"),
            std::string::npos);
  EXPECT_NE(message_of([&] { integers(even.assert_cardinality(6)); }).find("only 5"),
            std::string::npos);
  EXPECT_THROW(range(3).assert_cardinality(4), ValueError);
}

TEST(SplitDataset, GivesEveryElementToOneSide) {
  auto [left, right] = split_dataset(range(10), {.left_size = 0.7});
  EXPECT_EQ(integers(left), iota(0, 7));
  EXPECT_EQ(integers(right), iota(7, 10));
  auto [some, more] =
      split_dataset(range(10), {.left_size = 2, .right_size = 0.5, .shuffle = true});
  Integers a = integers(some), b = integers(more);
  EXPECT_EQ(a.size(), 2U);
  EXPECT_EQ(b.size(), 5U);
  for (int64_t value : a) EXPECT_EQ(std::count(b.begin(), b.end(), value), 0);
  EXPECT_EQ(integers(some), a);  // the same in every epoch
  EXPECT_THROW(split_dataset(range(10), {}), ValueError);
  EXPECT_THROW(split_dataset(range(10), {.left_size = 1.5}), ValueError);
  EXPECT_THROW(split_dataset(range(10), {.left_size = 6, .right_size = 6}), ValueError);
  EXPECT_THROW(split_dataset(counter(), {.left_size = 6}), ValueError);
}

TEST(Counter, HasNoEnd) {
  EXPECT_TRUE(counter().cardinality().infinite());
  expect_everywhere(counter(5, -2).take(4), {5, 3, 1, -1});
}

TEST(Random, FollowsItsSeedAndThePlace) {
  Dataset drawn = random({.seed = 3}).take(6);
  Integers values = first_of(drawn, 1);
  expect_everywhere(drawn, values);
  EXPECT_NE(values, first_of(random({.seed = 4}).take(6), 1));
  Integers twice = values;
  twice.insert(twice.end(), values.begin(), values.end());
  EXPECT_EQ(first_of(drawn, 2, 2), twice);
  EXPECT_NE(first_of(random({.seed = 3, .rerandomize_each_iteration = true}).take(6), 2, 2), twice);
}

TEST(FromList, HoldsElementsOfDifferentShapes) {
  Dataset list = from_list(
      {Batch{Tensor::from<int64_t>({1}, {1})}, Batch{Tensor::from<int64_t>({2, 3}, {2})}});
  EXPECT_EQ(to_string(list.spec()), "(int64[None])");
  EXPECT_TRUE(list.random_access());
  expect_everywhere(list, {1, 2, 3});
  EXPECT_THROW(from_list({}), ValueError);
  EXPECT_THROW(from_list({Batch{Tensor::zeros({1})}, Batch{}}), ShapeError);
}

TEST(FixedLengthRecords, AreCutOutBetweenHeaderAndFooter) {
  test::TempDir dir;
  std::vector<std::string> paths{dir.write("a", "HHaabbccF"), dir.write("b", "HHF"),
                                 dir.write("c", "HHddF")};
  Dataset records = fixed_length_records(paths, 2, {.header_bytes = 2, .footer_bytes = 1});
  EXPECT_EQ(records.cardinality().count, 4);
  std::string all;
  for (const Batch& record : records) all += *record[0].data<std::string>();
  EXPECT_EQ(all, "aabbccdd");
  EXPECT_THROW(fixed_length_records(paths, 5), FileError);
  EXPECT_THROW(fixed_length_records(paths, 0), ValueError);
}

TEST(Dataset, HasOneElementOrSaysSo) {
  EXPECT_EQ(range(4, 5).get_single_element()[0].item(), 4);
  EXPECT_THROW(range(0).get_single_element(), ValueError);
  EXPECT_THROW(range(2).get_single_element(), ValueError);
}

TEST(Dataset, AppliesFunctionsOfItself) {
  auto doubled = [](const Dataset& dataset) {
    return dataset.map([](int64_t x) { return 2 * x; });
  };
  EXPECT_EQ(integers(range(3).apply(doubled)), (Integers{0, 2, 4}));
  EXPECT_EQ(range(3).with_options({.name = "train"}).options().name, "train");
  EXPECT_EQ(range(3).element_spec(), range(3).spec());
}

}  // namespace
}  // namespace stoker::data
