// The doctor's rules about pipelines that are late or take cores from the computing, on synthetic windows.
#include <gtest/gtest.h>

#include "observe/verdict.h"
#include "support/synthetic_steps.h"

namespace stoker::doctor {
namespace {

using test::best_for;
using test::evidence_of;
using test::input_bound;
using test::kMs;

TEST(InputVerdict, NeedsTwoSignsForInput) {
  Evidence evidence = input_bound();
  EXPECT_TRUE(judge(evidence).high);
  evidence.what_if = {.host_batch_ns = 10e6, .pipeline_alone_ns = 5e6};
  for (WindowFacts& window : evidence.windows) window.ready_share = 0.99;
  EXPECT_NE(judge(evidence).finding, Finding::input);
  evidence = evidence_of({.input = kMs, .run = 10 * kMs});
  EXPECT_EQ(judge(evidence).finding, Finding::input);
  EXPECT_FALSE(judge(evidence).high);
  evidence = evidence_of({.input = 400'000, .run = 10 * kMs});  // 3.8 %
  EXPECT_EQ(judge(evidence).finding, Finding::healthy);
}

TEST(InputVerdict, TellsWhyInputIsLate) {
  Evidence evidence = input_bound();
  EXPECT_EQ(judge(evidence).cause, Cause::parallelism);
  EXPECT_EQ(judge(evidence).culprit, "map(\"decode\")");

  evidence.pipeline.stages[0].cpu_share = 0.2;
  EXPECT_EQ(judge(evidence).cause, Cause::storage);

  evidence = input_bound();
  evidence.pipeline.workers = 4;
  evidence.health.process_cores = 3.9;
  EXPECT_EQ(judge(evidence).cause, Cause::cpu_saturated);

  evidence = input_bound();
  evidence.what_if.pipeline_alone_ns = 8e6;
  EXPECT_EQ(judge(evidence).cause, Cause::jitter);
  evidence.pipeline.workers = 0;
  EXPECT_EQ(judge(evidence).cause, Cause::no_prefetch);
}

TEST(InputVerdict, CountsSomeLateBatchesAsASignAndCallsThemJitter) {
  Evidence evidence = input_bound();
  evidence.what_if = {.host_batch_ns = 18e6, .pipeline_alone_ns = 8e6};
  for (WindowFacts& window : evidence.windows) {
    window.ready_share = 0.8;
    window.median_wait_ns = 2e3;
    window.late_share = 0.1;
  }
  EXPECT_NE(judge(evidence).finding, Finding::input);
  for (WindowFacts& window : evidence.windows) window.late_share = 0.95;
  EXPECT_EQ(judge(evidence).finding, Finding::input);
  EXPECT_EQ(judge(evidence).cause, Cause::jitter);
}

TEST(InputVerdict, NamesThePipelinesThreadsWhereTheyTakeCoresFromTheComputing) {
  Evidence evidence = evidence_of({.run = 10 * kMs});
  evidence.pipeline = {.known = true, .workers = 2, .depth = 4, .work_ns = 4e6, .cpu_ns = 4e6};
  evidence.what_if.host_batch_ns = 7e6;
  evidence.device.threads = 4;
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::contention);
  EXPECT_EQ(verdict.limit, Limit::contention);
  EXPECT_EQ(verdict.cause, Cause::pipeline_threads);
  EXPECT_NE(verdict.sentence.find("CPU contention between pipeline and compute threads"),
            std::string::npos)
      << verdict.sentence;
  EXPECT_FALSE(prescriptions_for(verdict, evidence).empty());
  evidence.pipeline.cpu_ns = 1e5;  // it did next to nothing: the difference has another reason
  EXPECT_NE(judge(evidence).finding, Finding::contention);
  evidence.pipeline.cpu_ns = 4e6;
  evidence.device.gpu = true;
  EXPECT_NE(judge(evidence).finding, Finding::contention);
}

// Who waits for a core, the computing or the pipeline, is the scheduler's choice.
TEST(InputVerdict, CountsWaitingForBatchesAsContentionWhereThePipelineAloneIsFastEnough) {
  Evidence evidence = evidence_of({.input = 2 * kMs, .run = 8 * kMs});
  evidence.pipeline = {.known = true, .workers = 4, .depth = 4, .work_ns = 14e6, .cpu_ns = 14e6};
  evidence.device.threads = 4;
  evidence.what_if = {.host_batch_ns = 7.6e6, .pipeline_alone_ns = 4e6};
  evidence.health.process_cores = 3.9;
  evidence.health.own = {.wanted = 5.5, .pipeline = 1.4, .computing = 2.5};
  EXPECT_EQ(judge(evidence).finding, Finding::contention) << judge(evidence).sentence;
  EXPECT_EQ(judge(evidence).cause, Cause::pipeline_threads);
  evidence.health.own.wanted = 3.9;  // nothing waits for a core
  EXPECT_EQ(judge(evidence).finding, Finding::input);
  evidence.health.own.wanted = 5.5;
  evidence.what_if.pipeline_alone_ns = 9e6;  // it does not keep up by itself either
  EXPECT_EQ(judge(evidence).cause, Cause::cpu_saturated);
}

// A fit without experiments on two cores: two threads that compute, two that make batches.
Evidence crowded() {
  Evidence evidence = evidence_of({.run = 10 * kMs});
  evidence.pipeline = {.known = true, .workers = 2, .depth = 4, .work_ns = 4e6, .cpu_ns = 4e6};
  evidence.device.threads = 2;
  evidence.health = {.available_cores = 2, .process_cores = 1.9, .run_delay_share = 0.25};
  evidence.health.own = {.wanted = 2.6, .pipeline = 0.4, .computing = 1.5};
  return evidence;
}

TEST(InputVerdict, NamesContentionInsteadOfCallingTheStepsUnstable) {
  Evidence evidence = crowded();
  evidence.variation = 0.5;
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::contention) << verdict.sentence;
  EXPECT_EQ(verdict.cause, Cause::pipeline_threads);
  EXPECT_NE(verdict.sentence.find("want 2.6 cores of 2"), std::string::npos) << verdict.sentence;
  evidence.health.own.wanted = 1.9;  // there is room for all: they vary for another reason
  EXPECT_EQ(judge(evidence).finding, Finding::unstable);
}

TEST(InputVerdict, TellsOwnThreadsFromOtherProgramsAndFromTooMuchWork) {
  Evidence evidence = crowded();
  evidence.health.other_cores = 1;
  EXPECT_EQ(judge(evidence).finding, Finding::health);
  evidence = crowded();
  evidence.health.own.pipeline = 1.5;  // what it has to do is what limits
  EXPECT_NE(judge(evidence).finding, Finding::contention);
  evidence = crowded();
  evidence.what_if.host_batch_ns = 9.9e6;  // tried: a step without the pipeline takes as long
  EXPECT_NE(judge(evidence).finding, Finding::contention);
}

TEST(InputVerdict, NamesThreadsThatSpin) {
  Evidence evidence = crowded();
  for (WindowFacts& window : evidence.windows) {  // half of the time nothing is computed
    window.accounting.ns[size_t(Owner::compute)] /= 2;
    window.accounting.ns[size_t(Owner::input)] = window.accounting.ns[size_t(Owner::compute)];
  }
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::contention) << verdict.sentence;
  EXPECT_EQ(verdict.cause, Cause::spinning) << verdict.sentence;
  EXPECT_EQ(best_for(evidence).action, Action::sleep_waiting);
}

TEST(InputVerdict, DoesNotBlameThePipelineForCoresThatOtherProgramsHold) {
  Evidence evidence = input_bound();
  evidence.what_if = {.host_batch_ns = 18e6, .pipeline_alone_ns = 1e6};
  EXPECT_EQ(judge(evidence).limit_cause, Cause::jitter);
  evidence.health = {.available_cores = 4, .other_cores = 2, .run_delay_share = 0.3};
  EXPECT_EQ(judge(evidence).finding, Finding::health);
  EXPECT_EQ(judge(evidence).limit, Limit::none) << judge(evidence).sentence;
}

TEST(InputVerdict, DoesNotTakeWaitingForACoreForWaitingForStorage) {
  Evidence evidence = input_bound();
  evidence.pipeline.stages[0].cpu_share = 0.4;
  EXPECT_EQ(judge(evidence).cause, Cause::storage);
  evidence.health.pipeline_delay_share = 0.5;
  EXPECT_EQ(judge(evidence).cause, Cause::parallelism);
}

}  // namespace
}  // namespace stoker::doctor
