// Exceptions of user functions, consumers that stop early, budgets that are too small.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "elements.h"
#include "stoker/context.h"

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

const ElementSpec kNumber{{DType::int64, {}}};

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

// --- consumers that stop ---------------------------------------------------------------------

int64_t threads_of_this_process() {
  using Entries = std::filesystem::directory_iterator;
  return std::distance(Entries("/proc/self/task"), Entries());
}

Dataset busy() {
  auto expand = [](const Batch& element) {
    auto n = int64_t(element[0].item());
    return range(n, n + 7).map([](int64_t x, Rng& rng) { return x + rng.integer(0, 9); });
  };
  return range(40)
      .shuffle()
      .interleave(kNumber, expand, {.cycle = 3})
      .filter([](int64_t x) { return x % 5 != 0; })
      .shuffle(16)
      .map([](int64_t x) { return std::vector<int64_t>(200, x); },
           {.spec = ElementSpec{{DType::int64, {200}}}})
      .batch(8);
}

TEST(Consumers, MayStopAtAnyBatch) {
  int64_t before = threads_of_this_process();
  for (bool as_written : {false, true})
    for (int threads : {1, 2, 7})
      for (int taken = 0; taken < 12; ++taken) {
        Iterator walk = walk_with(busy().with_options({.as_written = as_written}), threads, 0);
        for (int i = 0; i < taken; ++i) walk.next();
      }
  EXPECT_EQ(threads_of_this_process(), before);
}

TEST(Consumers, MayKeepTheirLastBatchesBeyondTheWalk) {
  Batch kept;
  {
    Iterator walk = walk_with(range(100).map([](int64_t x) { return x; }).batch(10), 4);
    walk.next();
    kept = *walk.next();
  }
  EXPECT_EQ(kept[0].data<int64_t>()[9], 19);
}

TEST(Consumers, MayMoveAWalk) {
  Iterator walk = walk_with(range(10).batch(2), 2);
  walk.next();
  Iterator moved = std::move(walk);
  EXPECT_EQ((*moved.next())[0].data<int64_t>()[0], 2);
  moved = walk_with(range(3), 2);
  EXPECT_EQ((*moved.next())[0].item(), 0);
}

TEST(Consumers, AreToldWhenTheBatchesTheyKeepFillTheBudget) {
  Dataset large = range(1000)
                      .map([](int64_t x) { return std::vector<int64_t>(1000, x); },
                           {.spec = ElementSpec{{DType::int64, {1000}}}})
                      .batch(10)
                      .with_budget({.bytes = 1'000'000})
                      .with_options({.name = "hoard"});
  for (int threads : {1, 4}) {
    std::vector<Batch> kept;
    Iterator walk = walk_with(large, threads);
    try {
      while (const Batch* batch = walk.next()) kept.push_back(*batch);
      FAIL() << "no error";
    } catch (const Error& error) {
      std::string text = error.what();
      EXPECT_EQ(text.find("dataset \"hoard\": the byte budget is full: "), 0U) << text;
      EXPECT_NE(text.find("keep fewer batches"), std::string::npos) << text;
    }
    EXPECT_GE(kept.size(), 8U);
    for (size_t i = 0; i < kept.size(); ++i)
      EXPECT_EQ(kept[i][0].data<int64_t>()[0], int64_t(10 * i));
    size_t count = kept.size();
    kept.clear();
    while (walk.next() != nullptr) ++count;
    EXPECT_EQ(count, 100U) << "the walk goes on when they are let go";
  }
}

int64_t peak_of(const Iterator& walk) {
  return nlohmann::json::parse(walk.explain_json()).at("memory_peak_bytes");
}

TEST(Budgets, AreNeverExceededByBatchesOfKnownSize) {
  constexpr int64_t kBytes = 500'000;
  for (int threads : {1, 2, 7, 16}) {
    Dataset dataset = range(500)
                          .map([](int64_t x) { return std::tuple(x, float(x)); })
                          .map([](int64_t x, float) { return std::vector<int64_t>(500, x); },
                               {.spec = ElementSpec{{DType::int64, {500}}}})
                          .batch(8)
                          .prefetch(64)
                          .with_budget({.bytes = kBytes});
    Iterator walk = walk_with(dataset, threads, 2);
    int64_t count = 0;
    while (!walk.finished()) count += walk.next() != nullptr ? 1 : 0;
    EXPECT_EQ(count, 2 * 63);
    EXPECT_LE(peak_of(walk), kBytes) << threads;
  }
}

TEST(Budgets, LeaveRoomForBatchesBesideACache) {
  constexpr int64_t kBytes = 1'000'000;
  auto large = [](int64_t x) { return std::vector<int64_t>(500, x); };
  ElementSpec spec{{DType::int64, {500}}};
  Dataset counted = range(600).map(large, {.spec = spec}).cache().batch(7);
  Dataset stream =
      range(600).filter([](int64_t) { return true; }).map(large, {.spec = spec}).cache().batch(7);
  for (const Dataset& dataset : {counted, stream})
    for (int threads : {1, 7}) {
      Iterator walk = walk_with(dataset.with_budget({.bytes = kBytes}), threads, 3);
      Integers first;
      while (!walk.finished())
        if (const Batch* batch = walk.next()) first.push_back((*batch)[0].data<int64_t>()[0]);
      ASSERT_EQ(first.size(), 3U * 86);
      for (size_t i = 0; i < first.size(); ++i) ASSERT_EQ(first[i], int64_t(7 * (i % 86)));
    }
}

TEST(Budgets, OfOneBatchAreEnoughForChainsOfSeveralStages) {
  Dataset dataset = range(200)
                        .batch(4)
                        .unbatch()
                        .filter([](int64_t x) { return x % 3 != 0; })
                        .batch(8)
                        .with_budget({.bytes = 4096});
  for (int threads : {1, 4}) {
    Iterator walk = walk_with(dataset, threads);
    int64_t count = 0;
    while (const Batch* batch = walk.next()) count += (*batch)[0].elements();
    EXPECT_EQ(count, 133);
  }
}

// --- sizes at the edge ------------------------------------------------------------------------

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
