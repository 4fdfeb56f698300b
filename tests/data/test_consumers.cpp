// Consumers that stop early or keep what they get, and budgets that are too small.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "elements.h"

namespace stoker::data {
namespace {

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
  walk_with(busy(), 2, 0).next();  // a sanitizer's own thread comes with the first one
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

}  // namespace
}  // namespace stoker::data
