#include <gtest/gtest.h>

#include <numeric>

#include <stoker/random.h>
#include "observe/device_timeline.h"
#include "support/synthetic_steps.h"

namespace stoker::doctor {
namespace {

using test::kMs;

int64_t sum(const Accounting& accounting) {
  return std::accumulate(accounting.ns.begin(), accounting.ns.end(), int64_t(0));
}

TEST(Accounting, GivesEveryPartOfAStepItsOwner) {
  auto steps =
      test::record_steps({.input = 2 * kMs, .before = kMs, .run = 6 * kMs, .after = kMs}, 10);
  Accounting accounting = account(steps);
  EXPECT_EQ(accounting.wall, 100 * kMs);
  EXPECT_EQ(accounting[Owner::compute], 60 * kMs);
  EXPECT_EQ(accounting[Owner::input], 20 * kMs);
  EXPECT_EQ(accounting[Owner::sync], 20 * kMs);
  EXPECT_EQ(accounting[Owner::launch], 0);
  EXPECT_EQ(accounting[Owner::unexplained], 0);
  EXPECT_EQ(sum(accounting), accounting.wall);
}

TEST(Accounting, CallsTimeBetweenStepsThatNobodyRecordedUnexplained) {
  FakeClock clock;
  std::vector<StepRecord> steps = {test::record_step(clock, 0, {})};
  clock.advance(5 * kMs);
  steps.push_back(test::record_step(clock, 1, {}));
  Accounting accounting = account(steps);
  EXPECT_EQ(accounting[Owner::unexplained], 5 * kMs);
  EXPECT_EQ(sum(accounting), accounting.wall);
}

TEST(Accounting, GivesTheTimeOfLookingOnToSyncAndNotToWaiting) {
  FakeClock clock;
  std::vector<StepRecord> steps = {test::record_step(clock, 0, {})};
  clock.advance(5 * kMs);
  steps.push_back(test::record_step(clock, 1, {.input = kMs}));
  steps.back().times.looked = 4 * kMs;
  Accounting accounting = account(steps);
  EXPECT_EQ(accounting[Owner::sync], 4 * kMs);
  EXPECT_EQ(accounting[Owner::input], kMs);
  EXPECT_EQ(accounting[Owner::unexplained], kMs) << "what nobody told of stays unexplained";
}

TEST(Accounting, GivesCompilingToSyncAndNotToTheComputing) {
  std::vector<StepRecord> steps = test::record_steps({.run = 6 * kMs}, 10);
  for (StepRecord& step : steps) step.times.made = 4 * kMs;
  Accounting accounting = account(steps);
  EXPECT_EQ(accounting[Owner::sync], 40 * kMs);
  EXPECT_EQ(accounting[Owner::compute], 20 * kMs);
  EXPECT_EQ(sum(accounting), accounting.wall);
}

TEST(Accounting, OfNothingIsNothing) {
  EXPECT_EQ(account({}).wall, 0);
  EXPECT_EQ(account({}).shares()[Owner::compute], 0);
}

TEST(Accounting, UnitesIntervals) {
  auto merged = united({{5, 9}, {0, 2}, {2, 3}, {6, 7}, {20, 20}});
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_EQ(merged[0].end, 3);
  EXPECT_EQ(merged[1].begin, 5);
  EXPECT_EQ(merged[1].end, 9);
}

// A GPU: the host launches in 1 ms, the device computes 4 ms, input takes 6 ms.
TEST(Accounting, GivesADevicesGapToWhatTheHostDidThen) {
  FakeClock clock;
  std::vector<StepRecord> steps;
  for (int i = 0; i < 11; ++i) {
    steps.push_back(test::record_step(clock, i, {.input = 6 * kMs, .run = kMs, .after = kMs}));
    StepRecord& step = steps.back();
    step.beside = true;
    step.compute = {step.times.ran, step.times.ran + 4 * kMs};
  }
  Accounting accounting = account(steps);
  EXPECT_EQ(accounting.wall, 80 * kMs);
  EXPECT_EQ(accounting[Owner::compute], 40 * kMs);
  EXPECT_EQ(accounting[Owner::input], 30 * kMs);  // of the six, three are behind the computing
  EXPECT_EQ(accounting[Owner::launch], 10 * kMs);
  EXPECT_EQ(sum(accounting), accounting.wall);
}

// A device that begins a step after the host's last record has waited for what is not told yet.
TEST(Accounting, DoesNotCallUnexplainedWhatTheNextRecordWillTell) {
  FakeClock clock;
  std::vector<StepRecord> steps;
  for (int i = 0; i < 10; ++i) {
    steps.push_back(test::record_step(clock, i, {.input = 6 * kMs, .run = kMs}));
    StepRecord& step = steps.back();
    step.beside = true;
    step.compute = {step.times.end + 2 * kMs, step.times.end + 4 * kMs};
  }
  Accounting accounting = account(steps);
  EXPECT_EQ(accounting[Owner::unexplained], 0);
  EXPECT_EQ(sum(accounting), accounting.wall);
}

TEST(Accounting, CountsOnlyTheExposedPartOfACopy) {
  FakeClock clock;
  std::vector<StepRecord> steps;
  for (int i = 0; i < 6; ++i) {
    steps.push_back(test::record_step(clock, i, {.run = 10 * kMs}));
    StepRecord& step = steps.back();
    step.beside = true;
    step.compute = {step.times.asked + 4 * kMs, step.times.asked + 10 * kMs};
    step.copy = {step.times.asked + kMs, step.times.asked + 5 * kMs};
  }
  Accounting accounting = account(steps);
  EXPECT_EQ(accounting[Owner::compute], 30 * kMs);
  EXPECT_EQ(accounting[Owner::copy], 15 * kMs);
  EXPECT_EQ(accounting[Owner::launch], 5 * kMs);
  EXPECT_EQ(sum(accounting), accounting.wall);
}

TEST(Accounting, ClosesForAnyTimes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    FakeClock clock;
    std::vector<StepRecord> steps;
    int64_t begin = 0;
    for (int i = 0; i < 20; ++i) {
      clock.advance(rng.integer(0, 3) == 0 ? rng.integer(0, kMs) : 0);
      steps.push_back(test::record_step(clock, i,
                                        {.input = rng.integer(0, kMs),
                                         .before = rng.integer(0, kMs),
                                         .run = rng.integer(0, kMs),
                                         .after = rng.integer(0, kMs)}));
      StepRecord& step = steps.back();
      step.beside = seed % 2 == 0;
      begin = std::max(begin, step.times.run + rng.integer(0, 3 * kMs));
      step.compute = {begin, begin + rng.integer(0, 2 * kMs)};
      step.copy = {begin - rng.integer(0, kMs), begin + rng.integer(0, kMs)};
    }
    Accounting accounting = account(steps);
    EXPECT_EQ(sum(accounting), accounting.wall) << seed;
    for (int64_t part : accounting.ns) EXPECT_GE(part, 0) << seed;
  }
}

TEST(Accounting, MovesHostLayersAndLaunchesOutOfTheComputing) {
  Accounting before = account(test::record_steps({.run = 10 * kMs}, 10));
  Accounting after = moved(before, 0.3, 0.1);
  EXPECT_EQ(after[Owner::compute], 60 * kMs);
  EXPECT_EQ(after[Owner::sync], 30 * kMs);
  EXPECT_EQ(after[Owner::launch], 10 * kMs);
  EXPECT_EQ(sum(after), after.wall);
  EXPECT_EQ(moved(before, 2, 3)[Owner::compute], 0);
}

// The host launches late every time; the device's clock began somewhere else.
TEST(DeviceTimeline, PlacesADevicesStepsOnTheHostsClock) {
  FakeClock clock;
  clock.advance(1000 * kMs);
  std::vector<StepRecord> steps;
  std::vector<DeviceStep> device;
  for (int i = 0; i < 5; ++i) {
    steps.push_back(test::record_step(clock, i, {.input = 6 * kMs, .run = kMs}));
    device.push_back({.launched = steps.back().times.ran,
                      .issued = steps.back().times.ran,
                      .run = i,
                      .busy = 4 * kMs,
                      .idle = i == 0 ? -1 : 3 * kMs,
                      .ran_dry = true});
  }
  place_on_host_clock(steps, device);
  for (const StepRecord& step : steps) {
    EXPECT_TRUE(step.beside);
    EXPECT_EQ(step.compute.begin, step.times.ran);
    EXPECT_EQ(step.compute.length(), 4 * kMs);
  }
  EXPECT_EQ(account(steps)[Owner::input], 8 * kMs);
  EXPECT_EQ(account(steps)[Owner::launch], 4 * kMs);
}

TEST(DeviceTimeline, PutsAnExposedCopyBeforeTheComputing) {
  FakeClock clock;
  std::vector<StepRecord> steps;
  std::vector<DeviceStep> device;
  for (int i = 0; i < 5; ++i) {
    steps.push_back(test::record_step(clock, i, {.run = 10 * kMs}));
    device.push_back({.launched = steps.back().times.run,
                      .issued = steps.back().times.run,
                      .run = i,
                      .busy = 8 * kMs,
                      .idle = 2 * kMs,
                      .copy = 5 * kMs,
                      .exposed_copy = 2 * kMs});
  }
  place_on_host_clock(steps, device);
  EXPECT_EQ(account(steps)[Owner::copy], 8 * kMs);
  EXPECT_EQ(account(steps)[Owner::compute], 32 * kMs);
}

// The mark before the kernels is reached at once, the kernels come when the launch is through.
TEST(DeviceTimeline, DoesNotCountTheLaunchOfADeviceThatRanDryAsComputing) {
  FakeClock clock;
  std::vector<StepRecord> steps;
  std::vector<DeviceStep> device;
  for (int i = 0; i < 5; ++i) {
    steps.push_back(test::record_step(clock, i, {.run = 3 * kMs, .after = 7 * kMs}));
    device.push_back({.launched = steps.back().times.run + kMs,
                      .issued = steps.back().times.ran,
                      .run = i,
                      .busy = 6 * kMs,
                      .idle = i == 0 ? -1 : 4 * kMs,
                      .ran_dry = true});
  }
  place_on_host_clock(steps, device);
  Accounting accounting = account(steps);
  EXPECT_EQ(accounting[Owner::compute], 4 * 4 * kMs);
  EXPECT_EQ(accounting[Owner::launch], 4 * 3 * kMs);
  EXPECT_EQ(accounting[Owner::sync], 4 * 3 * kMs);
}

// Validation, or a program of the last batch's own: how long that took is not told.
TEST(DeviceTimeline, FindsTheDistanceOfTheClocksAnewWhereTheDeviceDidSomethingElse) {
  FakeClock clock;
  std::vector<StepRecord> steps;
  std::vector<DeviceStep> device;
  for (int i = 0; i < 6; ++i) {
    if (i == 3) clock.advance(500 * kMs);
    steps.push_back(test::record_step(clock, i, {.run = kMs, .after = 4 * kMs}));
    int64_t at = steps.back().times.run;
    device.push_back({.launched = at,
                      .issued = at,
                      .run = i,
                      .busy = 3 * kMs,
                      .idle = i % 3 == 0 ? -1 : 2 * kMs});
  }
  place_on_host_clock(steps, device);
  for (const StepRecord& step : steps) EXPECT_EQ(step.compute.begin, step.times.run);
}

TEST(DeviceTimeline, LetsAProgramOfItsOwnBeginWhenTheStepsBeforeItHaveEnded) {
  FakeClock clock;
  std::vector<StepRecord> steps;
  std::vector<DeviceStep> device;
  for (int i = 0; i < 3; ++i) {
    steps.push_back(test::record_step(clock, i, {.run = kMs}));
    int64_t at = steps.back().times.run;
    device.push_back({.launched = at, .issued = at, .run = i, .busy = 10 * kMs, .idle = 0});
  }
  device[2].run = 0;  // of another program
  device[2].idle = -1;
  place_on_host_clock(steps, device);
  EXPECT_EQ(steps[2].compute.begin, steps[1].compute.end);
}

}  // namespace
}  // namespace stoker::doctor
