// Exceptions of user functions.
#include <gtest/gtest.h>

#include "elements.h"

namespace stoker::data {
namespace {

// The elements before the first error, and its message, twice: the second call says it again.
struct Failed {
  Integers before;
  std::string message, again;
  friend bool operator==(const Failed&, const Failed&) = default;
};

Failed failed(const Dataset& dataset, int threads) {
  Failed result;
  auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const ElementError& error) {
      return error.what();
    } catch (const std::exception& error) {
      return std::string("without an address: ") + error.what();
    }
    return "no error";
  };
  try {
    Iterator walk = walk_with(dataset, threads);
    result.message = message([&] {
      while (const Batch* element = walk.next())
        for (int64_t value : (*element)[0].values<int64_t>()) result.before.push_back(value);
    });
    result.again = message([&] { walk.next(); });
  } catch (const std::exception& error) {
    result.message = result.again = error.what();
  }
  return result;
}

void expect_failure(const Dataset& dataset, const Integers& before, const std::string& message) {
  for (bool as_written : {false, true})
    for (int threads : {1, 2, 7, 16})
      for (int repetition = 0; repetition < 3; ++repetition) {
        Failed got = failed(dataset.with_options({.as_written = as_written}), threads);
        EXPECT_EQ(got.before, before) << threads << " threads, as written: " << as_written;
        EXPECT_EQ(got.message, message) << threads << " threads, as written: " << as_written;
        EXPECT_EQ(got.again, message) << "when asked again";
      }
}

int64_t throws_from_five_on(int64_t x) {
  if (x == 5) throw std::runtime_error("no fives");
  if (x > 5) throw 17;
  return x;
}

bool refuses_five(int64_t x) {
  if (x == 5) throw std::runtime_error("no fives");
  return x % 2 == 1;
}

std::function<Generator()> counting(int64_t until) {
  return [until]() -> Generator {
    return [until, at = int64_t(0)]() mutable -> std::optional<Batch> {
      if (at == until) throw std::runtime_error("ran dry");
      return Batch{Tensor::from<int64_t>({at++}, {})};
    };
  };
}

TEST(Errors, OfMapsArriveWithTheirAddressAtAnyThreadCount) {
  Dataset bad = range(100).map(throws_from_five_on, {.name = "f"});
  std::string message = "map(\"f\"): element 5 of epoch 0: no fives";
  expect_failure(bad, {0, 1, 2, 3, 4}, message);
  expect_failure(bad.batch(3), {0, 1, 2}, message);
  expect_failure(bad.batch(3).map([](const Tensor& x) { return x.clone(); }), {0, 1, 2}, message);
  expect_failure(bad.filter([](int64_t x) { return x != 2; }), {0, 1, 3, 4}, message);
  expect_failure(bad.filter([](int64_t) { return true; }).batch(2), {0, 1, 2, 3}, message);
  expect_failure(bad.batch(2).unbatch(), {0, 1, 2, 3}, message);
  expect_failure(bad.prefetch(2).map([](int64_t x) { return x; }), {0, 1, 2, 3, 4}, message);
}

TEST(Errors, ThatAreNoStdExceptionsArriveToo) {
  Dataset bad = range(6, 9).map(throws_from_five_on, {.name = "f"});
  expect_failure(bad, {},
                 "map(\"f\"): element 0 of epoch 0: an exception that is not a std::exception");
}

TEST(Errors, OfFiltersArriveWithTheirAddress) {
  expect_failure(range(50).filter(refuses_five, {.name = "odd"}), {1, 3},
                 "filter(\"odd\"): element 5 of epoch 0: no fives");
}

TEST(Errors, OfRowsThatDoNotFitABatchArriveWithTheirAddress) {
  Dataset uneven = from_slices(Tensor::zeros({3, 2}, DType::int64))
                       .concatenate(from_slices(Tensor::zeros({2, 4}, DType::int64)));
  for (const Dataset& rows : {uneven, uneven.shuffle(1)}) {  // by position, and as a stream
    std::string message = failed(rows.batch(5), 1).message;
    EXPECT_EQ(message.find("batch: element 3 of epoch 0: component 0 is int64[4], but the batch "
                           "has rows of int64[2]"),
              0U)
        << message;
    EXPECT_EQ(failed(rows.batch(5), 4).message.find("batch: element "), 0U);
  }
}

TEST(Errors, OfGeneratorsArriveAfterWhatTheyGave) {
  Dataset bad = from_generator(kNumber, counting(40), "counter");
  Integers before(40);
  for (size_t i = 0; i < before.size(); ++i) before[i] = int64_t(i);
  std::string message = "from_generator(\"counter\"): element 40 of epoch 0: ran dry";
  expect_failure(bad, before, message);
  expect_failure(bad.map([](int64_t x) { return x; }), before, message);
  expect_failure(bad.batch(40).unbatch(), before, message);
  Dataset none = from_generator(
      kNumber, [] { return Generator(); }, "nothing");
  expect_failure(none, {},
                 "from_generator(\"nothing\"): element 0 of epoch 0: the function returned no "
                 "generator");
  Dataset wrong = from_generator(
      kNumber, [] { return Generator([] { return Batch{Tensor(1.0F)}; }); }, "wrong");
  EXPECT_THROW(all_of(wrong), ElementError);
}

TEST(Errors, OfExpansionsArriveWithTheirAddress) {
  auto expand = [](const Batch& element) {
    auto n = int64_t(element[0].item());
    if (n == 2) throw std::runtime_error("not two");
    return range(10 * n, 10 * n + 2);
  };
  std::string why = "element 2 of epoch 0: not two";
  expect_failure(range(5).flat_map(kNumber, expand, "e"), {0, 1, 10, 11},
                 "flat_map(\"e\"): " + why);
  expect_failure(range(5).interleave(kNumber, expand, {.cycle = 2, .block = 1, .name = "e"}),
                 {0, 10, 1, 11}, "interleave(\"e\", cycle = 2, block = 1): " + why);
  Dataset inner = range(2).flat_map(
      kNumber, [](const Batch&) { return range(3, 8).map(throws_from_five_on, {.name = "f"}); });
  expect_failure(inner, {3, 4}, "map(\"f\"): element 2 of epoch 0: no fives");
  auto other = [](const Batch&) { return range(3).batch(2); };
  EXPECT_THROW(all_of(range(2).flat_map(kNumber, other)), ElementError);
}

TEST(Errors, OfALaterEpochNameIt) {
  Dataset bad = range(3).map(
      [](int64_t x, Rng& rng) {
        // Only the third epoch draws these numbers.
        if (x == 1 && rng.integer(0, 3) == 0) throw std::runtime_error("now");
        return x;
      },
      {.name = "moody"});
  Iterator walk = walk_with(bad.with_options({.seed = 3}), 4, 100);
  int64_t epoch = 0;
  try {
    while (!walk.finished()) epoch += walk.next() == nullptr ? 1 : 0;
    FAIL() << "no error";
  } catch (const ElementError& error) {
    EXPECT_EQ(error.epoch(), epoch);
    EXPECT_EQ(error.index(), 1);
    EXPECT_EQ(error.stage(), "map(\"moody\")");
  }
}

}  // namespace
}  // namespace stoker::data
