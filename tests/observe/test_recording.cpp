// From recorded steps to evidence, in bounded memory.
#include <gtest/gtest.h>

#include "observe/recording.h"
#include "observe/verdict.h"
#include "support/synthetic_steps.h"

namespace stoker::doctor {
namespace {

using test::kMs;

void record(Recording& recording, FakeClock& clock, const test::StepParts& parts, int count,
            int64_t epoch = 0) {
  for (int i = 0; i < count; ++i) {
    StepTimes times = test::record_step(clock, i, parts).times;
    times.epoch = epoch;
    recording.add(times);
  }
}

TEST(Recording, LeavesOutTheWarmUp) {
  Recording recording(10);
  FakeClock clock;
  record(recording, clock, {.run = 500 * kMs}, 10);
  EXPECT_EQ(recording.evidence().steady_steps, 0);
  record(recording, clock, {.run = 10 * kMs}, 60, 1);
  Evidence evidence = recording.evidence();
  EXPECT_EQ(evidence.steady_steps, 60);
  EXPECT_NEAR(evidence.step_ns, 10e6, 1);
  EXPECT_EQ(evidence.batch_size, 32);
}

TEST(Recording, StaysSmallHoweverLongAFitIs) {
  Recording recording(0);
  FakeClock clock;
  record(recording, clock, {.input = kMs, .run = 3 * kMs}, 50'000);
  EXPECT_EQ(recording.latest().size(), Recording::kSteps);
  EXPECT_LT(recording.course().size(), 2 * Recording::kPoints);
  EXPECT_GE(recording.course().size(), Recording::kPoints / 2);
  for (const BreakdownPoint& point : recording.course()) {
    EXPECT_NEAR(point.step_seconds, 4e-3, 1e-9);
    EXPECT_NEAR(point.shares[Owner::input], 0.25, 1e-9);
  }
}

TEST(Recording, DoesNotBlameStepsForWhatHappensBetweenEpochs) {
  Recording recording(0);
  FakeClock clock;
  for (int epoch = 0; epoch < 6; ++epoch) {
    record(recording, clock, {}, 20, epoch);
    clock.advance(300 * kMs);  // validation
  }
  EXPECT_EQ(recording.evidence().total()[Owner::unexplained], 0);
  EXPECT_EQ(recording.evidence().total().wall, 1200 * kMs);
}

TEST(Recording, CountsTheSamplesOfWholeBatches) {
  Recording recording(0);
  FakeClock clock;
  record(recording, clock, {}, 60);
  StepTimes last = test::record_step(clock, 60, {}).times;
  last.samples = 5;
  recording.add(last);
  EXPECT_EQ(recording.evidence().batch_size, 32);
}

TEST(Recording, LeavesOutAStepThatTellsNothing) {
  Recording recording(0);
  FakeClock clock;
  clock.advance(7000 * kMs);
  test::record_step(clock, 0, {});
  recording.leave_out();
  for (int i = 1; i < 30; ++i) recording.add(test::record_step(clock, i, {}).times);
  test::record_step(clock, 30, {.after = 5000 * kMs});
  recording.leave_out();
  for (int i = 31; i < 61; ++i) recording.add(test::record_step(clock, i, {}).times);
  EXPECT_EQ(recording.steps(), 61);
  EXPECT_EQ(recording.evidence().steady_steps, 59);
  EXPECT_NEAR(recording.evidence().step_ns, 10e6, 1);
  EXPECT_LT(recording.course().front().time, 1);  // since the fit began
}

TEST(Recording, FindsOutliersAndTheirOwners) {
  Recording recording(0);
  FakeClock clock;
  record(recording, clock, {}, 60);
  StepTimes slow = test::record_step(clock, 60, {.after = 90 * kMs}).times;
  recording.add(slow);
  Evidence evidence = recording.evidence();
  ASSERT_EQ(evidence.outliers.size(), 1U);
  EXPECT_EQ(evidence.outliers[0].step, 60);
  EXPECT_EQ(evidence.outliers[0].owner, Owner::sync);
}

TEST(Recording, TakesTheVariationOfTheDevicesPartOnly) {
  Recording recording(0);
  FakeClock clock;
  for (int i = 0; i < 90; ++i) {
    int64_t wait = i % 3 == 0 ? 30 * kMs : 0;
    recording.add(test::record_step(clock, i, {.input = wait}).times);
  }
  EXPECT_EQ(recording.evidence().variation, 0);
  EXPECT_NEAR(robust_spread({9, 10, 11, 10, 10, 9, 11, 10, 1000}), 0.74, 0.01);
}

TEST(Recording, TakesTheVariationAsAShareOfTheStep) {
  auto variation = [](int64_t wait) {
    Recording recording(0);
    FakeClock clock;
    for (int i = 0; i < 90; ++i)
      recording.add(
          test::record_step(clock, i, {.input = wait, .run = (i % 2 == 0 ? 2 : 6) * kMs}).times);
    return recording.evidence().variation;
  };
  EXPECT_NEAR(variation(0), 0.49, 0.01);
  EXPECT_NEAR(variation(30 * kMs), 0.08, 0.01);
}

DeviceStep device_step(int64_t run, int64_t launched) {
  return {.launched = launched,
          .issued = launched,
          .run = run,
          .busy = 4 * kMs,
          .idle = 3 * kMs,
          .ran_dry = true};
}

// What an earlier fit left behind is told first, and the last batch's own program late.
TEST(Recording, GivesEveryStepOfADeviceToTheStepThatLaunchedIt) {
  Recording recording(0);
  FakeClock clock;
  std::vector<int64_t> launched;
  int64_t earlier = test::record_step(clock, 0, {}).times.ran;
  for (int i = 0; i < 60; ++i) {
    StepTimes times = test::record_step(clock, i, {.input = 6 * kMs, .run = kMs}).times;
    recording.add(times);
    launched.push_back(times.ran);
  }
  recording.add(device_step(7, earlier));
  for (int i = 1; i < 60; ++i)
    if (i != 30) recording.add(device_step(100 + i, launched[size_t(i)]));
  Evidence evidence = recording.evidence();
  EXPECT_EQ(evidence.steady_steps, 58);  // neither the first nor the one that nobody told of
  EXPECT_EQ(evidence.total()[Owner::unexplained], 0);
  EXPECT_NEAR(evidence.step_ns, 7e6, 1);
  EXPECT_NEAR(evidence.total().shares()[Owner::compute], 4 / 7.0, 1e-6);
}

TEST(Recording, PlacesTheStepsOfADeviceBesideTheHost) {
  Recording recording(0);
  FakeClock clock;
  std::vector<int64_t> launched;
  for (int i = 0; i < 100; ++i) {
    StepTimes times = test::record_step(clock, i, {.input = 6 * kMs, .run = kMs}).times;
    recording.add(times);
    launched.push_back(times.ran);
    if (i >= 2) recording.add(device_step(i - 2, launched[size_t(i) - 2]));
  }
  Evidence evidence = recording.evidence();
  EXPECT_EQ(evidence.steady_steps, 98);
  EXPECT_NEAR(evidence.total().shares()[Owner::compute], 4 / 7.0, 1e-6);
  EXPECT_NEAR(evidence.total().shares()[Owner::input], 2 / 7.0, 1e-6);
  EXPECT_EQ(limit_of(evidence), Limit::input);
}

TEST(PipelineBetween, TakesDifferencesOfSums) {
  PipelineStatistics before, after;
  before.stages = {{.name = "map(\"a\")", .calls = 100, .ns = 100'000, .bytes = 1000}};
  before.delivered = 10, before.busy_ns = 1'000'000;
  after = before;
  after.delivered = 30, after.busy_ns = 5'000'000, after.workers = 2;
  after.stages[0] = {.name = "map(\"a\")",
                     .calls = 300,
                     .ns = 700'000,
                     .bytes = 3000,
                     .cpu_calls = 4,
                     .cpu_calls_ns = 12'000,
                     .cpu_ns = 3'000,
                     .longest_ns = 9'000};
  PipelineFacts facts = pipeline_between(before, after, 4e6);
  EXPECT_EQ(facts.work_ns, 200'000);
  EXPECT_EQ(facts.busy_share, 0.5);
  ASSERT_EQ(facts.stages.size(), 1U);
  EXPECT_EQ(facts.stages[0].ns, 3000);
  EXPECT_EQ(facts.stages[0].cpu_share, 0.25);
  EXPECT_EQ(facts.cpu_ns, 50'000);
}

}  // namespace
}  // namespace stoker::doctor
