// Settings of a running pipeline that change when batches are ready and never what is in them.
#include <gtest/gtest.h>
#include <stoker/dataset.h>

#include <atomic>

#include "base/cores.h"
#include "base/host_memory.h"
#include "base/pipeline_statistics.h"
#include "data/runtime/tuner.h"

namespace stoker::data {
namespace {

std::vector<int64_t> values_of(const Batch& batch) {
  auto values = batch[0].values<int64_t>();
  return {values.begin(), values.end()};
}

Dataset chain(bool as_written) {
  return range(60)
      .map([](int64_t x) { return 3 * x + 1; }, {.name = "triple", .parallel = 1})
      .shuffle({.seed = 7})
      .map([](int64_t x, Rng& rng) { return 1000 * x + rng.integer(0, 1000); }, {.name = "noise"})
      .batch(8)
      .with_options({.seed = 3, .as_written = as_written});
}

// Three epochs, with `knobs` from batch number `at` on.
std::vector<std::vector<int64_t>> walk(const Dataset& dataset, int64_t at,
                                       const PipelineKnobs& knobs) {
  std::unique_ptr<BatchStream> stream = dataset.batches().begin_walk({.more_follow = true});
  std::vector<std::vector<int64_t>> all;
  for (int64_t epoch = 0, number = 0; epoch < 3; ++epoch)
    for (;; ++number) {
      if (number == at) {
        EXPECT_TRUE(stream->retune(knobs));
      }
      const Batch* batch = stream->next();
      if (batch == nullptr) break;
      all.push_back(values_of(*batch));
    }
  return all;
}

TEST(Retune, LeavesEveryBatchAsItWouldHaveBeen) {
  std::vector<std::vector<int64_t>> expected = walk(chain(true), -1, {});
  ASSERT_EQ(expected.size(), 24U);
  PipelineKnobs knobs[] = {{.repaired = true},
                           {.repaired = true, .workers = 3, .depth = 5},
                           {.repaired = true, .cache = true},
                           {.workers = 2, .depth = 2},
                           {}};
  for (const PipelineKnobs& each : knobs)
    for (int64_t at : {0, 1, 5, 8, 11, 23}) EXPECT_EQ(walk(chain(true), at, each), expected) << at;
}

TEST(Retune, CanBeTakenBack) {
  std::vector<std::vector<int64_t>> expected = walk(chain(true), -1, {}), got;
  std::unique_ptr<BatchStream> stream = chain(true).batches().begin_walk({.more_follow = true});
  for (int64_t number = 0; got.size() < expected.size(); ++number) {
    if (number % 3 == 2) {
      ASSERT_TRUE(stream->retune({.repaired = number % 2 == 0}));
    }
    if (const Batch* batch = stream->next()) got.push_back(values_of(*batch));
  }
  EXPECT_EQ(got, expected);
}

TEST(Retune, HoldsWhatACacheHasForTheNextRetuning) {
  std::atomic<int> made = 0;
  Dataset dataset = range(60)
                        .map([&made](int64_t x) { return ++made, x; }, {.name = "count"})
                        .batch(10)
                        .with_options({.seed = 3, .as_written = true});
  std::unique_ptr<BatchStream> stream = dataset.batches().begin_walk({.more_follow = true});
  auto walk_epoch = [&] {
    while (stream->next() != nullptr) continue;
  };
  ASSERT_TRUE(stream->retune({.repaired = true, .cache = true}));
  walk_epoch();
  EXPECT_EQ(made, 60);
  ASSERT_TRUE(stream->retune({.repaired = true, .hold_cache = true}));
  walk_epoch();
  EXPECT_GE(made, 120);  // workers are ahead of the walk
  ASSERT_TRUE(stream->retune({.repaired = true, .cache = true, .hold_cache = true}));
  int before = made;
  walk_epoch();
  EXPECT_EQ(made, before);
  ASSERT_TRUE(stream->retune({.repaired = true}));
  before = made;
  ASSERT_TRUE(stream->retune({.repaired = true, .cache = true}));
  walk_epoch();
  EXPECT_GE(made, before + 60);  // it was let go
}

TEST(Retune, MakesBatchesAheadWhereTheChainSaysNothing) {
  std::unique_ptr<BatchStream> stream = chain(true).batches().begin_walk();
  PipelineStatistics before, after;
  ASSERT_TRUE(stream->measure(before));
  EXPECT_TRUE(before.as_written);
  EXPECT_EQ(before.workers, 0);
  ASSERT_TRUE(stream->retune({.repaired = true}));
  ASSERT_TRUE(stream->measure(after));
  EXPECT_FALSE(after.as_written);
  EXPECT_GE(after.workers, 1);
  EXPECT_TRUE(after.tunes_workers);
}

TEST(PipelineStatistics, CountBatchesAndNameStages) {
  std::unique_ptr<BatchStream> stream = chain(false).batches().begin_walk();
  while (stream->next() != nullptr) continue;
  PipelineStatistics statistics;
  ASSERT_TRUE(stream->measure(statistics));
  EXPECT_EQ(statistics.delivered, 8);
  EXPECT_EQ(statistics.items, 60);
  ASSERT_EQ(statistics.stages.size(), 2U);
  EXPECT_EQ(statistics.stages[0].name, "map(\"triple\")");
  EXPECT_GT(statistics.stages[0].calls, 0);
  EXPECT_FALSE(statistics.stages[0].random);
  EXPECT_TRUE(statistics.stages[1].random);
}

// Ordinary memory in the place of a GPU's.
class GpusMemory final : public HostMemory {
 public:
  void* allocate(size_t bytes) override { return ordinary_memory().allocate(bytes); }
  void release(void* memory, size_t bytes) noexcept override {
    ordinary_memory().release(memory, bytes);
  }
  bool page_locked() const override { return true; }
};

double workers_at_first(const Dataset& dataset, HostMemory& memory) {
  std::unique_ptr<BatchStream> stream = dataset.batches().begin_walk({.memory = &memory});
  PipelineStatistics statistics;
  EXPECT_TRUE(stream->measure(statistics));
  return statistics.workers;
}

TEST(PipelineStatistics, CountOneCoreLessBesideAGpuUnlessTheUserHasChosen) {
  GpusMemory memory;
  Dataset chosen = chain(false).with_budget({.cores = 2});
  EXPECT_EQ(workers_at_first(chain(false), memory),
            double(cores_for_workers(available_cores(), true)));
  EXPECT_EQ(workers_at_first(chosen, memory), 2);
}

TEST(PipelineStatistics, AreNotThereForARangeOfBatches) {
  std::vector<Batch> list = {{Tensor(1.0F)}};
  Batches batches(list);
  PipelineStatistics statistics;
  EXPECT_FALSE(batches.begin_walk()->measure(statistics));
  EXPECT_FALSE(batches.begin_walk()->retune({.repaired = true}));
}

}  // namespace
}  // namespace stoker::data
