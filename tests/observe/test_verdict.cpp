// The doctor's rules, in their order, on synthetic windows.
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

TEST(Verdict, NeedsTwoSignsForInput) {
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

TEST(Verdict, TellsWhyInputIsLate) {
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

TEST(Verdict, CountsSomeLateBatchesAsASignAndCallsThemJitter) {
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

TEST(Verdict, NamesThePipelinesThreadsWhereTheyTakeCoresFromTheComputing) {
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
TEST(Verdict, CountsWaitingForBatchesAsContentionWhereThePipelineAloneIsFastEnough) {
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

TEST(Verdict, NamesContentionInsteadOfCallingTheStepsUnstable) {
  Evidence evidence = crowded();
  evidence.variation = 0.5;
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::contention) << verdict.sentence;
  EXPECT_EQ(verdict.cause, Cause::pipeline_threads);
  EXPECT_NE(verdict.sentence.find("want 2.6 cores of 2"), std::string::npos) << verdict.sentence;
  evidence.health.own.wanted = 1.9;  // there is room for all: they vary for another reason
  EXPECT_EQ(judge(evidence).finding, Finding::unstable);
}

TEST(Verdict, TellsOwnThreadsFromOtherProgramsAndFromTooMuchWork) {
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

TEST(Verdict, NamesThreadsThatSpin) {
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

TEST(Verdict, KeepsTheCauseOfTheLimitBehindTheHealth) {
  Evidence evidence = input_bound();
  evidence.health = {.available_cores = 4, .other_cores = 2, .run_delay_share = 0.3};
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.cause, Cause::cpu_contention);
  EXPECT_EQ(verdict.limit_cause, Cause::parallelism);
  EXPECT_NE(verdict.sentence.find("map(\"decode\") runs on 1 worker"), std::string::npos)
      << verdict.sentence;
}

TEST(Verdict, DoesNotBlameThePipelineForCoresThatOtherProgramsHold) {
  Evidence evidence = input_bound();
  evidence.what_if = {.host_batch_ns = 18e6, .pipeline_alone_ns = 1e6};
  EXPECT_EQ(judge(evidence).limit_cause, Cause::jitter);
  evidence.health = {.available_cores = 4, .other_cores = 2, .run_delay_share = 0.3};
  EXPECT_EQ(judge(evidence).finding, Finding::health);
  EXPECT_EQ(judge(evidence).limit, Limit::none) << judge(evidence).sentence;
}

TEST(Verdict, DoesNotTakeWaitingForACoreForWaitingForStorage) {
  Evidence evidence = input_bound();
  evidence.pipeline.stages[0].cpu_share = 0.4;
  EXPECT_EQ(judge(evidence).cause, Cause::storage);
  evidence.health.pipeline_delay_share = 0.5;
  EXPECT_EQ(judge(evidence).cause, Cause::parallelism);
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

TEST(Verdict, ClassifiesABusyDevice) {
  auto of = [](double compute, double bandwidth) { return judge(busy(compute, bandwidth)); };
  EXPECT_EQ(of(0.2, 0.8).finding, Finding::memory);
  EXPECT_EQ(of(0.8, 0.2).finding, Finding::compute);
  EXPECT_EQ(of(0.2, 0.2).finding, Finding::latency);
  EXPECT_EQ(of(0.6, 0.6).finding, Finding::mixed);
  EXPECT_EQ(of(0.6, 0.55).limit, Limit::compute);
  EXPECT_EQ(of(-1, -1).finding, Finding::healthy);
}

TEST(Verdict, NamesThePeakThatOpsAreNearestToHoweverFarItIs) {
  EXPECT_EQ(judge(busy(0.69, 0.15)).finding, Finding::compute);
  EXPECT_EQ(judge(busy(0.1, 0.66)).finding, Finding::memory);
  EXPECT_EQ(judge(busy(0.45, 0.35)).finding, Finding::mixed);
  Evidence evidence = busy(0.35, 0.05);
  EXPECT_EQ(judge(evidence).finding, Finding::latency);
  evidence.what_if = {.host_batch_ns = evidence.step_ns, .double_batch_ns = 2 * evidence.step_ns};
  EXPECT_EQ(judge(evidence).finding, Finding::compute) << "a larger batch was tried in vain";
}

OpFacts slow_op(std::string layer, std::string op, double share, double reached) {
  return {.layer = std::move(layer),
          .op = std::move(op),
          .share = share,
          .ns = share * 1e7,
          .compute_share = reached / 10,
          .bandwidth_share = reached};
}

TEST(Verdict, NamesTheOpThatIsFarBelowItsLimitOnABusyDevice) {
  Evidence evidence = busy(0.3, 0.2);
  evidence.device.ops = {slow_op("depthwise", "conv2d", 0.46, 0.01),
                         slow_op("dense", "matmul", 0.4, 0.7), slow_op("", "add", 0.14, 0.8)};
  evidence.what_if.double_batch_ns = 2.03 * evidence.step_ns;
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::kernels);
  EXPECT_EQ(verdict.limit, Limit::kernels);
  EXPECT_EQ(verdict.cause, Cause::slow_op);
  EXPECT_EQ(verdict.culprit, "depthwise");
  EXPECT_NE(verdict.sentence.find("46 % of the computing at 1 % of the limit"), std::string::npos)
      << verdict.sentence;
  std::vector<Prescription> list = prescriptions_for(verdict, evidence);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].action, Action::faster_ops);
  double computing = evidence.step_ns * 1e-9;
  EXPECT_NEAR(list[0].predicted_step_seconds, computing * (1 - 0.46 * (1 - 0.01 / 0.6)),
              0.001 * computing);
}

TEST(Verdict, NamesOpsOfSeveralKindsThatAreAllSlow) {
  Evidence evidence = busy(0.15, 0.2);
  evidence.device.ops = {slow_op("a", "conv2d", 0.3, 0.2), slow_op("b", "reduce", 0.3, 0.1),
                         slow_op("c", "unary", 0.2, 0.15), slow_op("d", "copy", 0.2, 0.25)};
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::kernels);
  EXPECT_EQ(verdict.cause, Cause::slow_kernels);
  EXPECT_NE(verdict.sentence.find("and 1 more"), std::string::npos) << verdict.sentence;
}

TEST(Verdict, TakesTheSameOpInManyLayersForOneKind) {
  Evidence evidence = busy(0.3, 0.2);
  for (int layer = 0; layer < 18; ++layer)
    evidence.device.ops.push_back(slow_op("block_" + std::to_string(layer), "conv2d", 0.03, 0.02));
  evidence.device.ops.push_back(slow_op("dense", "matmul", 0.46, 0.8));
  EXPECT_EQ(judge(evidence).cause, Cause::slow_op);
}

TEST(Verdict, LeavesShortOpsAndSmallBatchesToTheBatch) {
  Evidence evidence = busy(0.1, 0.1);
  evidence.device.ops = {slow_op("tiny", "matmul", 0.9, 0.05)};
  evidence.device.ops[0].ns = 5'000;
  EXPECT_EQ(judge(evidence).finding, Finding::latency);
  evidence.device.ops[0].ns = 5e6;
  EXPECT_EQ(judge(evidence).finding, Finding::kernels);
  evidence.what_if.double_batch_ns = 1.2 * evidence.step_ns;
  EXPECT_EQ(judge(evidence).finding, Finding::latency);
}

TEST(Verdict, AsksOfEveryOpWhetherALargerBatchBringsItNearerToItsLimit) {
  Evidence evidence = busy(0.1, 0.1);
  evidence.device.ops = {slow_op("grouped", "conv2d", 0.9, 0.05)};
  evidence.what_if.double_batch_ns = 1.2 * evidence.step_ns;  // because of all else
  evidence.device.ops[0].reach_doubled = 0.05;
  EXPECT_EQ(judge(evidence).cause, Cause::slow_op);
  evidence.device.ops[0].reach_doubled = 0.09;
  EXPECT_EQ(judge(evidence).finding, Finding::latency);
}

TEST(Verdict, NamesSlowKernelsAlthoughStepsVaryByLessThanTheyLack) {
  Evidence evidence = busy(0.1, 0.1);
  evidence.device.ops = {slow_op("grouped", "conv2d", 0.9, 0.1)};
  evidence.variation = 0.25;
  EXPECT_EQ(judge(evidence).finding, Finding::kernels);
  evidence.device.ops[0].bandwidth_share = 0.25;
  EXPECT_EQ(judge(evidence).finding, Finding::unstable);
}

// Most of the time goes into ops near a limit, whatever is not known of the rest.
TEST(Verdict, DoesNotBlameTheBatchWhereOpsAreNearTheirLimits) {
  Evidence evidence = busy(0.05, 0.42);
  evidence.what_if = {.host_batch_ns = evidence.step_ns, .double_batch_ns = evidence.step_ns};
  EXPECT_EQ(judge(evidence).finding, Finding::latency);
  evidence.device.ops = {slow_op("optimizer", "adam", 0.7, 0.6),
                         slow_op("embedding", "norm of a gradient", 0.3, 0.0)};
  EXPECT_EQ(judge(evidence).finding, Finding::memory);
}

TEST(Verdict, DoesNotCallAnOpSlowThatIsFasterThanTheMemory) {
  Evidence evidence = busy(0.1, 0.7);
  evidence.device.ops = {slow_op("optimizer", "adam", 0.8, 0.2)};  // of the cache
  EXPECT_EQ(judge(evidence).finding, Finding::kernels);
  evidence.device.ops[0].bandwidth_at_most = 1;
  EXPECT_EQ(judge(evidence).finding, Finding::memory);
}

TEST(Verdict, LeavesASlowOpThatTakesLittleAlone) {
  Evidence evidence = busy(0.8, 0.1);
  evidence.device.ops = {slow_op("wide", "matmul", 0.85, 0.9),
                         slow_op("head", "reduce", 0.15, 0.01)};
  EXPECT_EQ(judge(evidence).finding, Finding::compute);
}

TEST(Verdict, DoesNotCallAnOpSlowWhoseCostsAreNotKnown) {
  Evidence evidence = busy(0.2, 0.2);
  evidence.device.ops = {slow_op("own", "custom", 0.9, 0.0)};
  EXPECT_EQ(judge(evidence).finding, Finding::latency);
}

TEST(Verdict, NamesTheLayerThatComputesLongestAndNotTheOptimiser) {
  Evidence evidence = busy(0.8, 0.1);
  evidence.device.ops = {{.layer = "optimizer", .op = "adam_update", .share = 0.5},
                         {.layer = "first", .op = "matmul", .share = 0.2},
                         {.layer = "second", .op = "matmul", .share = 0.15},
                         {.layer = "second", .op = "matmul", .share = 0.15}};
  EXPECT_EQ(judge(evidence).culprit, "second");
}

TEST(Verdict, HintsAtSixteenBitsOnlyOnTensorCores) {
  Evidence evidence = busy(0.8, 0.1);
  evidence.device.gpu = evidence.device.tensor_cores = true;
  EXPECT_EQ(judge(evidence).hints.size(), 1U);
  EXPECT_TRUE(best_for(evidence).what.starts_with("Use mixed precision"));
  evidence.device.sixteen_bit = true;
  EXPECT_TRUE(judge(evidence).hints.empty());
}

TEST(Verdict, TakesAGpuAtItsOwnPowerLimitForOneThatWorksHard) {
  Evidence evidence = busy(0.8, 0.1);
  evidence.device.gpu = evidence.device.tensor_cores = evidence.device.sixteen_bit = true;
  evidence.health.gpu_power_limit = 700;
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::compute);
  ASSERT_EQ(verdict.hints.size(), 1U);
  EXPECT_NE(verdict.hints[0].find("power limit of 700 W"), std::string::npos);
  for (const Prescription& each : prescriptions_for(verdict, evidence))
    EXPECT_FALSE(each.what.starts_with("Use mixed precision"));
  evidence.health.gpu_throttle_reasons = {"its temperature"};
  EXPECT_EQ(judge(evidence).finding, Finding::health);
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
