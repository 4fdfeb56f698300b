// Where a pipeline says that elements are worth keeping: never behind anything that draws them.
#include <gtest/gtest.h>
#include <stoker/dataset.h>

#include <chrono>

#include "base/pipeline_statistics.h"

namespace stoker::data {
namespace {

constexpr int64_t kElements = 64;

Dataset numbers() { return from_slices({Tensor::zeros({kElements, 16})}); }

// Worth keeping: it takes its time.
Tensor slowly(const Tensor& x) {
  auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
  while (std::chrono::steady_clock::now() < until) continue;
  return x;
}
Dataset decoded(const Dataset& dataset) { return dataset.map(slowly, {.name = "decode"}); }
Dataset augmented(const Dataset& dataset) {
  return dataset.map([](const Tensor& x, Rng&) { return slowly(x); }, {.name = "augment"});
}

// What the pipeline tells after an epoch.
PipelineStatistics walked(const Dataset& dataset) {
  Batches batches(dataset.with_options({.seed = 1}));
  std::unique_ptr<BatchStream> walk = batches.begin_walk({});
  while (walk->next() != nullptr) continue;
  PipelineStatistics statistics;
  walk->measure(statistics);
  return statistics;
}

TEST(CacheAdvice, StandsBehindTheLastStepThatIsTheSameEveryEpoch) {
  CacheAdvice advice = walked(augmented(decoded(numbers())).batch(8)).cache;
  EXPECT_EQ(advice.after, "map(\"decode\")");
  EXPECT_EQ(advice.elements, double(kElements));
  EXPECT_TRUE(advice.fits);
  EXPECT_TRUE(advice.tunable);
  EXPECT_TRUE(advice.random_behind) << "by hand, its numbers would be others";
  EXPECT_TRUE(advice.shuffle.empty());
  EXPECT_FALSE(walked(decoded(numbers()).batch(8)).cache.random_behind);
}

TEST(CacheAdvice, NeverKeepsWhatWasDrawn) {
  EXPECT_EQ(walked(augmented(numbers()).batch(8)).cache.bytes, 0);
  EXPECT_EQ(walked(decoded(augmented(numbers())).batch(8)).cache.bytes, 0)
      << "what is computed from something random is random";
  auto by_chance = [](const Tensor&, Rng& rng) { return rng.uniform() < 0.9F; };
  EXPECT_EQ(walked(decoded(numbers().filter(by_chance)).batch(8)).cache.bytes, 0);
}

TEST(CacheAdvice, MovesAShuffleBehindTheCache) {
  CacheAdvice advice = walked(decoded(numbers().shuffle()).batch(8)).cache;
  EXPECT_EQ(advice.after, "map(\"decode\")");
  EXPECT_EQ(advice.shuffle, "shuffle()");
  EXPECT_FALSE(advice.tunable) << "the chain itself has to change";
  EXPECT_EQ(walked(decoded(numbers().shuffle().take(32)).batch(8)).cache.bytes, 0)
      << "which elements there are depends on their order";
}

TEST(CacheAdvice, CallsAStageRandomAtAnyDepthOfTheChain) {
  Dataset both = zip({numbers(), augmented(numbers())});
  Dataset deep =
      both.map([](const Tensor& a, const Tensor&) { return slowly(a); }, {.name = "use"});
  PipelineStatistics statistics = walked(deep.batch(8));
  for (const PipelineStage& stage : statistics.stages) EXPECT_TRUE(stage.random) << stage.name;
  EXPECT_EQ(statistics.cache.bytes, 0);
  for (const PipelineStage& stage : walked(decoded(numbers().shuffle()).batch(8)).stages)
    EXPECT_FALSE(stage.random) << "only the order is drawn";
}

}  // namespace
}  // namespace stoker::data
