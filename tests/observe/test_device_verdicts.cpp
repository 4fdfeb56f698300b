// The doctor's rules about a busy device: its peaks, slow kernels, small batches. On synthetic windows.
#include <gtest/gtest.h>

#include "observe/verdict.h"
#include "support/synthetic_steps.h"

namespace stoker::doctor {
namespace {

using test::best_for;
using test::busy;

TEST(DeviceVerdict, ClassifiesABusyDevice) {
  auto of = [](double compute, double bandwidth) { return judge(busy(compute, bandwidth)); };
  EXPECT_EQ(of(0.2, 0.8).finding, Finding::memory);
  EXPECT_EQ(of(0.8, 0.2).finding, Finding::compute);
  EXPECT_EQ(of(0.2, 0.2).finding, Finding::latency);
  EXPECT_EQ(of(0.6, 0.6).finding, Finding::mixed);
  EXPECT_EQ(of(0.6, 0.55).limit, Limit::compute);
  EXPECT_EQ(of(-1, -1).finding, Finding::healthy);
}

TEST(DeviceVerdict, NamesThePeakThatOpsAreNearestToHoweverFarItIs) {
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

TEST(DeviceVerdict, NamesTheOpThatIsFarBelowItsLimitOnABusyDevice) {
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

TEST(DeviceVerdict, NamesOpsOfSeveralKindsThatAreAllSlow) {
  Evidence evidence = busy(0.15, 0.2);
  evidence.device.ops = {slow_op("a", "conv2d", 0.3, 0.2), slow_op("b", "reduce", 0.3, 0.1),
                         slow_op("c", "unary", 0.2, 0.15), slow_op("d", "copy", 0.2, 0.25)};
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.finding, Finding::kernels);
  EXPECT_EQ(verdict.cause, Cause::slow_kernels);
  EXPECT_NE(verdict.sentence.find("and 1 more"), std::string::npos) << verdict.sentence;
}

TEST(DeviceVerdict, TakesTheSameOpInManyLayersForOneKind) {
  Evidence evidence = busy(0.3, 0.2);
  for (int layer = 0; layer < 18; ++layer)
    evidence.device.ops.push_back(slow_op("block_" + std::to_string(layer), "conv2d", 0.03, 0.02));
  evidence.device.ops.push_back(slow_op("dense", "matmul", 0.46, 0.8));
  EXPECT_EQ(judge(evidence).cause, Cause::slow_op);
}

TEST(DeviceVerdict, LeavesShortOpsAndSmallBatchesToTheBatch) {
  Evidence evidence = busy(0.1, 0.1);
  evidence.device.ops = {slow_op("tiny", "matmul", 0.9, 0.05)};
  evidence.device.ops[0].ns = 5'000;
  EXPECT_EQ(judge(evidence).finding, Finding::latency);
  evidence.device.ops[0].ns = 5e6;
  EXPECT_EQ(judge(evidence).finding, Finding::kernels);
  evidence.what_if.double_batch_ns = 1.2 * evidence.step_ns;
  EXPECT_EQ(judge(evidence).finding, Finding::latency);
}

TEST(DeviceVerdict, AsksOfEveryOpWhetherALargerBatchBringsItNearerToItsLimit) {
  Evidence evidence = busy(0.1, 0.1);
  evidence.device.ops = {slow_op("grouped", "conv2d", 0.9, 0.05)};
  evidence.what_if.double_batch_ns = 1.2 * evidence.step_ns;  // because of all else
  evidence.device.ops[0].reach_doubled = 0.05;
  EXPECT_EQ(judge(evidence).cause, Cause::slow_op);
  evidence.device.ops[0].reach_doubled = 0.09;
  EXPECT_EQ(judge(evidence).finding, Finding::latency);
}

TEST(DeviceVerdict, NamesSlowKernelsAlthoughStepsVaryByLessThanTheyLack) {
  Evidence evidence = busy(0.1, 0.1);
  evidence.device.ops = {slow_op("grouped", "conv2d", 0.9, 0.1)};
  evidence.variation = 0.25;
  EXPECT_EQ(judge(evidence).finding, Finding::kernels);
  evidence.device.ops[0].bandwidth_share = 0.25;
  EXPECT_EQ(judge(evidence).finding, Finding::unstable);
}

// Most of the time goes into ops near a limit, whatever is not known of the rest.
TEST(DeviceVerdict, DoesNotBlameTheBatchWhereOpsAreNearTheirLimits) {
  Evidence evidence = busy(0.05, 0.42);
  evidence.what_if = {.host_batch_ns = evidence.step_ns, .double_batch_ns = evidence.step_ns};
  EXPECT_EQ(judge(evidence).finding, Finding::latency);
  evidence.device.ops = {slow_op("optimizer", "adam", 0.7, 0.6),
                         slow_op("embedding", "norm of a gradient", 0.3, 0.0)};
  EXPECT_EQ(judge(evidence).finding, Finding::memory);
}

TEST(DeviceVerdict, DoesNotCallAnOpSlowThatIsFasterThanTheMemory) {
  Evidence evidence = busy(0.1, 0.7);
  evidence.device.ops = {slow_op("optimizer", "adam", 0.8, 0.2)};  // of the cache
  EXPECT_EQ(judge(evidence).finding, Finding::kernels);
  evidence.device.ops[0].bandwidth_at_most = 1;
  EXPECT_EQ(judge(evidence).finding, Finding::memory);
}

TEST(DeviceVerdict, LeavesASlowOpThatTakesLittleAlone) {
  Evidence evidence = busy(0.8, 0.1);
  evidence.device.ops = {slow_op("wide", "matmul", 0.85, 0.9),
                         slow_op("head", "reduce", 0.15, 0.01)};
  EXPECT_EQ(judge(evidence).finding, Finding::compute);
}

TEST(DeviceVerdict, DoesNotCallAnOpSlowWhoseCostsAreNotKnown) {
  Evidence evidence = busy(0.2, 0.2);
  evidence.device.ops = {slow_op("own", "custom", 0.9, 0.0)};
  EXPECT_EQ(judge(evidence).finding, Finding::latency);
}

TEST(DeviceVerdict, NamesTheLayerThatComputesLongestAndNotTheOptimiser) {
  Evidence evidence = busy(0.8, 0.1);
  evidence.device.ops = {{.layer = "optimizer", .op = "adam_update", .share = 0.5},
                         {.layer = "first", .op = "matmul", .share = 0.2},
                         {.layer = "second", .op = "matmul", .share = 0.15},
                         {.layer = "second", .op = "matmul", .share = 0.15}};
  EXPECT_EQ(judge(evidence).culprit, "second");
}

TEST(DeviceVerdict, HintsAtSixteenBitsOnlyOnTensorCores) {
  Evidence evidence = busy(0.8, 0.1);
  evidence.device.gpu = evidence.device.tensor_cores = true;
  EXPECT_EQ(judge(evidence).hints.size(), 1U);
  EXPECT_TRUE(best_for(evidence).what.starts_with("Use mixed precision"));
  evidence.device.sixteen_bit = true;
  EXPECT_TRUE(judge(evidence).hints.empty());
}

TEST(DeviceVerdict, TakesAGpuAtItsOwnPowerLimitForOneThatWorksHard) {
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

}  // namespace
}  // namespace stoker::doctor
