// on_error: what becomes of elements that cannot be made.
#include <gtest/gtest.h>

#include "elements.h"
#include "stoker/context.h"

namespace stoker::data {
namespace {

Dataset bad_sevenths(int64_t count) {
  return range(count).map(
      [](int64_t x) {
        if (x % 7 == 3) throw std::runtime_error("a seventh");
        return x;
      },
      {.name = "f"});
}

Dataset all_bad(int64_t count) {
  return range(count).map(
      [](int64_t x) -> int64_t { throw std::runtime_error("no " + std::to_string(x)); },
      {.name = "g"});
}

struct Walked {
  Integers values;
  std::string error;
  std::vector<BadElement> quarantine;
};

Walked walked(const Dataset& dataset, int threads, int64_t epochs = 1) {
  Context context{.threads = {.pipeline = threads}};
  Walked result;
  Iterator walk = dataset.iterate({.epochs = epochs, .context = &context});
  try {
    while (!walk.finished())
      if (const Batch* element = walk.next())
        for (int64_t value : (*element)[0].values<int64_t>()) result.values.push_back(value);
  } catch (const Error& error) {
    result.error = error.what();
  }
  result.quarantine = walk.quarantine();
  return result;
}

TEST(OnError, SkipLeavesOutAndListsInOrder) {
  for (int threads : {1, 2, 7, 16}) {
    Walked result = walked(bad_sevenths(30).on_error(OnError::skip).batch(4), threads);
    Integers expected;
    for (int64_t i = 0; i < 30; ++i)
      if (i % 7 != 3) expected.push_back(i);
    EXPECT_EQ(result.values, expected);
    EXPECT_EQ(result.error, "");
    ASSERT_EQ(result.quarantine.size(), 4U);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(result.quarantine[i].index, int64_t(3 + 7 * i));
    EXPECT_EQ(result.quarantine[1].message, "map(\"f\"): element 10 of epoch 0: a seventh");
  }
}

TEST(OnError, SkipAlsoServesStagesBeforeAFilterOrABatch) {
  auto yes = [](int64_t) { return true; };
  EXPECT_EQ(walked(bad_sevenths(12).filter(yes).on_error(OnError::skip), 3).values.size(), 10U);
  EXPECT_EQ(walked(bad_sevenths(12).shuffle(5).on_error(OnError::skip), 3).values.size(), 10U);
  // A batch with a bad row is a bad batch.
  EXPECT_EQ(walked(bad_sevenths(12).batch(3).on_error(OnError::skip), 3).values,
            (Integers{0, 1, 2, 6, 7, 8}));
  EXPECT_EQ(walked(bad_sevenths(12).batch(3).unbatch().on_error(OnError::skip), 3).values,
            (Integers{0, 1, 2, 6, 7, 8}));
  auto expand = [](const Batch& element) {
    auto n = int64_t(element[0].item());
    if (n == 1) throw std::runtime_error("not one");
    return range(n, n + 2);
  };
  EXPECT_EQ(
      walked(range(3).flat_map({{DType::int64, {}}}, expand).on_error(OnError::skip), 3).values,
      (Integers{0, 1, 2, 3}));
}

TEST(OnError, InsideAnExpansionIsListedToo) {
  auto expand = [](const Batch&) { return bad_sevenths(10).on_error(OnError::skip); };
  for (int threads : {1, 4}) {
    for (const Dataset& dataset : {range(3).flat_map({{DType::int64, {}}}, expand),
                                   range(3).interleave({{DType::int64, {}}}, expand)}) {
      Walked result = walked(dataset, threads);
      EXPECT_EQ(result.values.size(), 27U);
      ASSERT_EQ(result.quarantine.size(), 3U);
      EXPECT_EQ(result.quarantine[2].message, "map(\"f\"): element 3 of epoch 0: a seventh");
    }
  }
}

TEST(OnError, SkipReachesItsLimitAtTheSameElementAtAnyThreadCount) {
  Walked expected = walked(bad_sevenths(100).on_error(OnError::skip, {.max_errors = 5}), 1);
  EXPECT_EQ(expected.values.size(), 33U);
  EXPECT_NE(expected.error.find("6 of 39 elements of epoch 0 could not be made, more than "
                                "max_errors = 5; the last: map(\"f\"): element 38 of epoch 0"),
            std::string::npos)
      << expected.error;
  for (int threads : {2, 7, 16})
    for (int repetition = 0; repetition < 5; ++repetition) {
      Walked got = walked(bad_sevenths(100).on_error(OnError::skip, {.max_errors = 5}), threads);
      EXPECT_EQ(got.values, expected.values);
      EXPECT_EQ(got.error, expected.error);
    }
}

TEST(OnError, LimitsCountEveryEpochOnItsOwn) {
  Dataset five = bad_sevenths(35).on_error(OnError::skip, {.max_errors = 5});
  EXPECT_EQ(walked(five, 7, 4).error, "");
  EXPECT_EQ(walked(five, 7, 4).values.size(), 4U * 30);
  EXPECT_EQ(walked(five.repeat(3), 7, 2).error, "");
  Dataset replaced = bad_sevenths(35).on_error(OnError::replace, {.max_errors = 30});
  EXPECT_EQ(walked(replaced, 7, 20).error, "");
}

TEST(OnError, RatesAreLookedAtFromTheHundredthElementOn) {
  Dataset few = bad_sevenths(99).on_error(OnError::skip, {.max_rate = 0.1});
  EXPECT_EQ(walked(few, 4).error, "");
  Dataset many = bad_sevenths(200).on_error(OnError::skip, {.max_rate = 0.1});
  EXPECT_NE(walked(many, 4).error.find("max_rate = 0.1"), std::string::npos);
  EXPECT_EQ(walked(bad_sevenths(200).on_error(OnError::skip, {.max_rate = 0.2}), 4).error, "");
}

TEST(OnError, ReplaceKeepsTheNumberOfElementsAtAnyThreadCount) {
  Dataset replaced = bad_sevenths(50).on_error(OnError::replace).batch(8).with_options({.seed = 2});
  Walked expected = walked(replaced, 1, 2);
  ASSERT_EQ(expected.values.size(), 100U);
  for (int64_t value : expected.values) EXPECT_NE(value % 7, 3);
  for (int64_t i = 0; i < 50; ++i) EXPECT_TRUE(i % 7 == 3 || expected.values[size_t(i)] == i) << i;
  for (int threads : {2, 7, 16}) EXPECT_EQ(walked(replaced, threads, 2).values, expected.values);
}

TEST(OnError, EndsWhenEveryElementIsBad) {
  EXPECT_EQ(walked(all_bad(50).on_error(OnError::skip), 4).values.size(), 0U);
  EXPECT_NE(walked(all_bad(5000).on_error(OnError::skip), 4).error.find("max_errors = 1000"),
            std::string::npos);
  EXPECT_NE(walked(all_bad(50).on_error(OnError::skip, {.max_errors = 0}), 4).error, "");
  EXPECT_EQ(walked(all_bad(5).on_error(OnError::skip).repeat(), 4).values.size(), 0U);
  EXPECT_NE(walked(all_bad(5).repeat().on_error(OnError::skip), 4).error, "");
  for (int64_t count : {1, 50, 5000})
    EXPECT_NE(walked(all_bad(count).on_error(OnError::replace), 4).error, "") << count;
}

TEST(OnError, AsksForWhatItNeeds) {
  auto yes = [](int64_t) { return true; };
  EXPECT_THROW(range(3).filter(yes).on_error(OnError::replace), ValueError);
  EXPECT_THROW(range(3).on_error(OnError::skip, {.max_errors = -1}), ValueError);
  EXPECT_THROW(range(3).on_error(OnError::skip, {.max_rate = 1.5}), ValueError);
  EXPECT_FALSE(range(3).on_error(OnError::skip).random_access());
  EXPECT_FALSE(range(3).on_error(OnError::skip).cardinality().known());
  EXPECT_TRUE(range(3).on_error(OnError::replace).random_access());
}

TEST(OnError, DoesNotChangeTheRandomNumbersOfWhatFollows) {
  auto noisy = [](const Dataset& dataset) {
    return integers(dataset.map([](int64_t x, Rng& rng) { return x + rng.integer(0, 1000); })
                        .with_options({.seed = 8}));
  };
  EXPECT_EQ(noisy(range(20)), noisy(range(20).on_error(OnError::skip)));
  EXPECT_EQ(noisy(range(20)), noisy(range(20).on_error(OnError::replace)));
}

}  // namespace
}  // namespace stoker::data
