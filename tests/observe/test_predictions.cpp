// What prescriptions predict, on synthetic windows.
#include <gtest/gtest.h>

#include "observe/verdict.h"
#include "support/synthetic_steps.h"

namespace stoker::doctor {
namespace {

using test::best_for;
using test::busy;
using test::copy_bound;
using test::evidence_of;
using test::input_bound;
using test::kMs;
using test::with_moved;

TEST(Prescriptions, PredictTheStepWithoutWaitingForInput) {
  Evidence evidence = input_bound();
  evidence.device.threads = 4;
  EXPECT_FALSE(best_for(evidence).changes_results);
  // 20 ms of work for the pipeline and 10 ms on four cores for the model, on the same four cores.
  EXPECT_NEAR(best_for(evidence).predicted_step_seconds, 15e-3, 1e-6);
  evidence.device.gpu = true;
  EXPECT_NEAR(best_for(evidence).predicted_step_seconds, 10e-3, 1e-6);
}

// Two threads of one core: beside the pipeline's, computing takes 1.5 times as long.
TEST(Prescriptions, PredictThatComputingIsSlowerBesideABusyPipeline) {
  Evidence evidence = input_bound();
  evidence.device.threads = 1;
  evidence.pipeline.cpu_ns = 20e6;
  evidence.what_if.host_batch_ns = 10e6 / 1.5;
  // 20 ms of work, measured while there was computing half of the time, become 24.
  EXPECT_NEAR(best_for(evidence).predicted_step_seconds, 10e-3, 1e-6);
  evidence.health.available_cores = 2;
  EXPECT_NEAR(best_for(evidence).predicted_step_seconds, (24e-3 + 10e-3) / 2, 1e-6);
}

TEST(Prescriptions, PredictTheReplayedStepWithoutCallbacks) {
  Evidence evidence = evidence_of({.run = 6 * kMs, .after = 4 * kMs});
  evidence.callbacks = {{.name = "Reader", .ns = 4e6}};
  EXPECT_NEAR(best_for(evidence).predicted_step_seconds, 6e-3, 1e-9);
  // It also made the device run dry: the step without it is shorter than what it leaves.
  evidence.what_if.host_batch_ns = 5e6;
  EXPECT_NEAR(best_for(evidence).predicted_step_seconds, 5e-3, 1e-9);
  evidence.what_if.pipeline_alone_ns = 5.5e6;
  EXPECT_NEAR(best_for(evidence).predicted_step_seconds, 5.5e-3, 1e-9);
}

TEST(Prescriptions, PredictThatCopiesRunBesideTheComputingWithoutALayerOnTheHost) {
  Evidence evidence = with_moved(0.4, 0);
  evidence.device.gpu = true;
  evidence.device.ops = {{.layer = "filter", .op = "host_call", .ns = 4e6, .host = true}};
  evidence.what_if = {.host_batch_ns = 10e6, .device_batch_ns = 9e6};
  EXPECT_NEAR(best_for(evidence).predicted_step_seconds, 5e-3, 1e-9);
  evidence.what_if.device_batch_ns = 4.5e6;  // the copy is longer than the computing
  EXPECT_NEAR(best_for(evidence).predicted_step_seconds, 5.5e-3, 1e-9);
}

TEST(Prescriptions, PredictPageLockedCopiesAndSmallerOnes) {
  Evidence evidence = copy_bound();
  evidence.what_if = {.host_batch_ns = 10e6, .device_batch_ns = 6e6, .pinned_ns = 6.5e6};
  std::vector<Prescription> list = prescriptions_for(judge(evidence), evidence);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].knob, Knob::page_lock);
  EXPECT_NEAR(list[0].predicted_step_seconds, 6.5e-3, 1e-9);
  EXPECT_NEAR(list[1].predicted_step_seconds, 7e-3, 1e-9);
  evidence.pipeline.known = false;  // a plain range: what holds it has to change, no setting
  EXPECT_EQ(best_for(evidence).knob, Knob::none);
}

TEST(Prescriptions, SayWhichOnesChangeResults) {
  Evidence evidence = busy(0.1, 0.1);
  evidence.what_if.double_batch_ns = 12e6;
  EXPECT_EQ(prescriptions_for(judge(evidence), evidence).size(), 1U);
  EXPECT_TRUE(best_for(evidence).changes_results);
  EXPECT_NEAR(best_for(evidence).predicted_step_seconds, 6e-3, 1e-9);
}

TEST(Prescriptions, AreNotGivenToTheHealthy) {
  Evidence evidence = evidence_of({});
  EXPECT_EQ(judge(evidence).finding, Finding::healthy);
  EXPECT_TRUE(prescriptions_for(judge(evidence), evidence).empty());
}

TEST(Prescriptions, CountWaitingForStorageAsWorkThatNeedsNoCore) {
  Evidence evidence = input_bound();
  evidence.pipeline.stages[0].cpu_share = 0.05;
  evidence.pipeline.cpu_ns = 1e6;
  evidence.device.threads = 4;
  EXPECT_NEAR(best_for(evidence).predicted_step_seconds, 10.25e-3, 1e-6);
}

}  // namespace
}  // namespace stoker::doctor
