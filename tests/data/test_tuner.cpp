// The tuner against simulated pipelines: what it settles on, compared with the best there is.
#include <gtest/gtest.h>
#include <stoker/random.h>

#include "data/runtime/tuner.h"

namespace stoker::data {
namespace {

// A pipeline whose batches take `service` seconds of one worker each, of which `computing` on a
// core, and a consumer that takes `demand` seconds for each.
struct Simulated {
  double service = 0.01, computing = 1.0, demand = 0.001;
  int64_t cores = 8;
  int64_t depth_needed = 1;  // fewer batches ahead: the consumer waits, as batches come unevenly
  double noise = 0;

  double production(const TunerSettings& settings) const {
    double by_cores = double(cores) / (service * computing);
    return std::min(double(settings.workers) / service, by_cores);
  }
  double rate(const TunerSettings& settings) const {
    double uneven = std::min(1.0, 0.7 + 0.3 * double(settings.depth) / double(depth_needed));
    return uneven * std::min(production(settings), 1 / demand);
  }
  TunerWindow window(const TunerSettings& settings, Rng& rng) const {
    constexpr double kSeconds = 0.1;
    double shake = 1 + noise * (2 * rng.uniform() - 1);
    double delivered = rate(settings) * shake * kSeconds;
    bool held_up = rate(settings) < 0.999 / demand;
    double share = std::min(1.0, rate(settings) / production(settings));
    return {.seconds = kSeconds,
            .delivered = delivered,
            .wait_seconds = held_up ? std::max(0.0, kSeconds - delivered * demand) : 0,
            .busy_seconds = share * double(settings.workers) * kSeconds,
            .cpu_seconds = delivered * service * computing};
  }
};

struct Outcome {
  TunerSettings settings;
  double share_of_best = 0;
};

Outcome tuned(const Simulated& pipeline, const Tuner::Limits& limits, TunerSettings start,
              uint64_t seed = 1) {
  Tuner tuner(limits, start);
  Rng rng(seed);
  for (int i = 0; i < 100; ++i) {
    const TunerSettings& now = tuner.observe(pipeline.window(tuner.settings(), rng));
    EXPECT_GE(now.workers, 1);
    EXPECT_LE(now.workers, limits.most_workers);
    EXPECT_GE(now.depth, 1);
    EXPECT_LE(now.depth, limits.most_depth);
  }
  double best = 0;
  for (int64_t workers = 1; workers <= limits.most_workers; ++workers)
    for (int64_t depth = 1; depth <= limits.most_depth; ++depth)
      best = std::max(best, pipeline.rate({workers, depth}));
  return {tuner.settings(), pipeline.rate(tuner.settings()) / best};
}

TEST(Tuner, ReachesTheBestSettingFromOneWorker) {
  for (double demand : {0.0001, 0.002, 0.005, 0.02})
    for (double noise : {0.0, 0.02, 0.05})
      for (int64_t depth_needed : {1, 8, 32})
        for (uint64_t seed = 0; seed < 5; ++seed) {
          Simulated pipeline{.demand = demand, .depth_needed = depth_needed, .noise = noise};
          Outcome outcome = tuned(pipeline, {.cores = 8, .most_workers = 16}, {1, 2}, seed);
          EXPECT_GE(outcome.share_of_best, 0.95)
              << "demand " << demand << ", noise " << noise << ", depth " << depth_needed << ": "
              << outcome.settings.workers << " workers, " << outcome.settings.depth << " ahead";
        }
}

TEST(Tuner, UsesMoreWorkersThanCoresForWorkThatWaits) {
  Simulated waiting{.service = 0.02, .computing = 0.05, .demand = 0.0005, .cores = 2};
  Outcome outcome = tuned(waiting, {.cores = 2, .most_workers = 16}, {1, 2});
  EXPECT_GE(outcome.share_of_best, 0.95);
  EXPECT_GT(outcome.settings.workers, 8);
  Simulated computing{.service = 0.02, .computing = 1, .demand = 0.0005, .cores = 2};
  EXPECT_LE(tuned(computing, {.cores = 2, .most_workers = 16}, {1, 2}).settings.workers, 2);
}

TEST(Tuner, GivesCoresBackThatTheConsumerDoesNotNeed) {
  for (double noise : {0.0, 0.05}) {
    Simulated calm{.service = 0.01, .demand = 0.006, .noise = noise};
    Outcome outcome = tuned(calm, {.cores = 8, .most_workers = 8}, {8, 8});
    EXPECT_LE(outcome.settings.workers, 3);
    EXPECT_GE(outcome.share_of_best, 0.95);
  }
}

TEST(Tuner, LeavesAloneWhatMayNotChange) {
  Simulated slow{.demand = 0.0001};
  EXPECT_EQ(tuned(slow, {.cores = 8, .most_workers = 8, .workers = false, .depth = false}, {3, 5})
                .settings,
            (TunerSettings{3, 5}));
  EXPECT_EQ(tuned(slow, {.cores = 8, .most_workers = 8, .workers = false}, {3, 5}).settings.workers,
            3);
  EXPECT_EQ(tuned(slow, {.cores = 8, .most_workers = 8, .depth = false}, {1, 5}).settings.depth, 5);
}

TEST(Tuner, IgnoresWindowsInWhichNothingHappened) {
  Tuner tuner({.cores = 4, .most_workers = 4}, {2, 4});
  EXPECT_EQ(tuner.observe({}), (TunerSettings{2, 4}));
  EXPECT_EQ(tuner.observe({.seconds = 1, .wait_seconds = 1}), (TunerSettings{2, 4}));
}

TEST(Tuner, LeavesACoreToTheThreadThatLaunchesAGpusWork) {
  EXPECT_EQ(cores_for_workers(16, true), 15);
  EXPECT_EQ(cores_for_workers(4, true), 3);
  EXPECT_EQ(cores_for_workers(16, false), 16);
}

TEST(Tuner, LeavesNoneWhereCoresAreFew) {
  for (int64_t cores : {1, 2, 3}) EXPECT_EQ(cores_for_workers(cores, true), cores);
}

TEST(Tuner, FollowsAConsumerThatBecomesFaster) {
  Tuner::Limits limits{.cores = 8, .most_workers = 8};
  Tuner tuner(limits, {1, 2});
  Rng rng(3);
  Simulated pipeline{.demand = 0.02};
  for (int i = 0; i < 200; ++i) tuner.observe(pipeline.window(tuner.settings(), rng));
  pipeline.demand = 0.001;
  for (int i = 0; i < 100; ++i) tuner.observe(pipeline.window(tuner.settings(), rng));
  EXPECT_GE(pipeline.rate(tuner.settings()), 0.95 * pipeline.rate({8, 64}));
}

}  // namespace
}  // namespace stoker::data
