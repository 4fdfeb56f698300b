// The order of the doctor's rules, and those about copies, launches, callbacks and health, on synthetic windows.
#include <gtest/gtest.h>

#include "observe/verdict.h"
#include "support/synthetic_steps.h"

namespace stoker::doctor {
namespace {

using test::copy_bound;
using test::evidence_of;
using test::input_bound;
using test::kMs;
using test::with_moved;

TEST(Verdict, NeedsFiftySteps) {
  Evidence evidence = input_bound();
  evidence.steady_steps = 49;
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::unstable);
  EXPECT_EQ(verdict.limit, Limit::none);
  EXPECT_NE(verdict.sentence.find("49"), std::string::npos);
  EXPECT_TRUE(prescriptions_for(verdict, evidence).empty());
}

TEST(Verdict, NeedsStepsThatAreAlikeAndNamesThoseThatAreNot) {
  Evidence evidence = evidence_of({});
  evidence.variation = 0.25;
  evidence.outliers = {{.step = 16, .ns = 90e6, .owner = Owner::sync}};
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::unstable);
  EXPECT_NE(verdict.sentence.find("step 17 took 90.0 ms (sync)"), std::string::npos)
      << verdict.sentence;
}

TEST(Verdict, NeedsTwoOfThreeWindowsToAgree) {
  Evidence evidence = input_bound();
  evidence.windows[0] = evidence_of({}).windows[0];
  EXPECT_EQ(judge(evidence).finding, Finding::input);
  evidence.windows[1] = evidence_of({.run = 10 * kMs, .after = 5 * kMs}).windows[0];
  EXPECT_EQ(judge(evidence).finding, Finding::unstable);
}

TEST(Verdict, ReportsHealthFirstAndWhatLimitsBesides) {
  Evidence evidence = input_bound();
  evidence.health.throttled_share = 0.2;
  evidence.health.quota_cores = 1.5;
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::health);
  EXPECT_EQ(verdict.cause, Cause::quota);
  EXPECT_EQ(verdict.limit, Limit::input);
  evidence.health = {.available_cores = 4};
  evidence.health.pcie_generation = 3, evidence.health.pcie_generation_max = 5;
  evidence.health.pcie_width = evidence.health.pcie_width_max = 16;
  EXPECT_EQ(judge(evidence).cause, Cause::bus);
  evidence.health = {.available_cores = 4, .other_cores = 2, .run_delay_share = 0.3};
  EXPECT_EQ(judge(evidence).cause, Cause::cpu_contention);
  evidence.health = {.available_cores = 4, .other_cores = 0.1, .run_delay_share = 0.3};
  EXPECT_EQ(judge(evidence).finding, Finding::input);
}

TEST(Verdict, NamesWhatLimitsBesidesWhereOtherProgramsMakeTheStepsVary) {
  Evidence evidence = input_bound();
  evidence.variation = 0.4;
  EXPECT_EQ(judge(evidence).finding, Finding::unstable);
  evidence.health = {.available_cores = 4, .other_cores = 2, .run_delay_share = 0.3};
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::health);
  EXPECT_EQ(verdict.limit, Limit::input) << verdict.sentence;
  std::vector<Prescription> list = prescriptions_for(verdict, evidence);
  EXPECT_EQ(list.size(), 2U) << "one for the machine, one for the pipeline";
}

TEST(Verdict, KeepsTheCauseOfTheLimitBehindTheHealth) {
  Evidence evidence = input_bound();
  evidence.health = {.available_cores = 4, .other_cores = 2, .run_delay_share = 0.3};
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.cause, Cause::cpu_contention);
  EXPECT_EQ(verdict.limit_cause, Cause::parallelism);
  EXPECT_NE(verdict.sentence.find("map(\"decode\") runs on 1 worker"), std::string::npos)
      << verdict.sentence;
}

TEST(Verdict, BlamesTheCallbackForCallsThatComeTooLate) {
  Evidence evidence = with_moved(0.02, 0.06);
  EXPECT_EQ(judge(evidence).finding, Finding::launch);
  evidence.callbacks = {{.name = "Reader", .ns = 5e6}};
  EXPECT_EQ(judge(evidence).finding, Finding::sync);
  EXPECT_EQ(judge(evidence).culprit, "Reader");
}

TEST(Verdict, NamesCopyOnlyWhereItIsALargePartOfFeeding) {
  Evidence evidence = copy_bound();
  EXPECT_EQ(judge(evidence).finding, Finding::copy);
  EXPECT_EQ(judge(evidence).cause, Cause::pageable);
  evidence.device.pinned = true;
  EXPECT_EQ(judge(evidence).cause, Cause::small_copies);
  evidence.device.copy_bytes = 100e6, evidence.device.link_bandwidth = 55e9;
  evidence.device.copy_ns = 10e6;
  EXPECT_EQ(judge(evidence).cause, Cause::small_copies);
  evidence.device.copy_ns = 2e6;
  EXPECT_EQ(judge(evidence).cause, Cause::link);
}

TEST(Verdict, ProvesCopiesByTheSameBatchWithAndWithoutItsCopy) {
  Evidence evidence = copy_bound();
  evidence.what_if = {.host_batch_ns = 10e6, .device_batch_ns = 8e6};
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::copy);
  EXPECT_NE(verdict.sentence.find("10.0 ms with its copy, 8.00 ms without"), std::string::npos)
      << verdict.sentence;
  // Leaving the copy out gains next to nothing: it only came late.
  evidence.what_if.device_batch_ns = 9.8e6;
  EXPECT_NE(judge(evidence).finding, Finding::copy);
}

TEST(Verdict, NamesLaunchAndItsCause) {
  Evidence evidence = with_moved(0, 0.16);
  EXPECT_EQ(judge(evidence).finding, Finding::launch);
  EXPECT_TRUE(judge(evidence).high);
  EXPECT_EQ(judge(evidence).cause, Cause::many_small_ops);
  evidence.health.run_delay_share = 0.4;
  EXPECT_EQ(judge(evidence).cause, Cause::delayed_host);
}

TEST(Verdict, NamesTheCallbackOrTheHostLayer) {
  Evidence evidence = evidence_of({.run = 9 * kMs, .after = kMs});
  evidence.callbacks = {{.name = "CSVLogger", .ns = 1e4}, {.name = "Printer", .ns = 9e5}};
  EXPECT_EQ(judge(evidence).cause, Cause::callback);
  EXPECT_EQ(judge(evidence).culprit, "Printer");
  evidence.device.ops = {{.layer = "median_filter", .op = "host_call", .ns = 2e6, .host = true}};
  EXPECT_EQ(judge(evidence).cause, Cause::host_layer);
  EXPECT_EQ(judge(evidence).culprit, "median_filter");
}

TEST(Verdict, SaysWhatIsUnexplained) {
  FakeClock clock;
  std::vector<StepRecord> steps;
  for (int i = 0; i < 50; ++i) {
    steps.push_back(test::record_step(clock, i, {}));
    clock.advance(kMs);
  }
  Evidence evidence = evidence_of({});
  for (WindowFacts& window : evidence.windows) window.accounting = account(steps);
  EXPECT_NE(judge(evidence).sentence.find("unexplained"), std::string::npos);
}

}  // namespace
}  // namespace stoker::doctor
