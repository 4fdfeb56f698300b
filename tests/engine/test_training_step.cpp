// Five steps of a whole network: before and after fusion, and on every backend, the same.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/device_test.h"
#include "engine/networks.h"
#include "engine/reference/reference_backend.h"
#include "graph/passes/passes.h"
#include "support/draw.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

constexpr int kSteps = 5;

struct Result {
  std::vector<double> losses;
  std::vector<Tensor> logits;     // of the last step
  std::vector<Tensor> variables;  // after it
};

Result train(Network& network, Backend& backend, const CompileOptions& options = {}) {
  Result result;
  auto program = backend.compile(network.graph, options);
  for (int step = 0; step < kSteps; ++step) {
    EXPECT_EQ(program->run(network.batch(step)), RunStatus::ok);
    result.losses.push_back(program->scalar(0));
  }
  result.logits = {program->output(1)};
  for (const Variable& variable : network.variables) result.variables.push_back(variable.read());
  return result;
}

// Rounding of 2^-23 grows with the depth of the network and the number of steps; 100 times that is
// far below what a wrong term in any gradient does.
void expect_close(const Tensor& got, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(got.spec(), expected.spec()) << what;
  double allowed = 100 * 0x1p-23 * std::max(largest(expected), 0.1);
  for (int64_t i = 0; i < got.elements(); ++i)
    ASSERT_NEAR(got.at(i), expected.at(i), allowed) << what << ", element " << i;
}

void expect_same(const Result& got, const Result& expected, const Network& network) {
  for (int step = 0; step < kSteps; ++step)
    EXPECT_NEAR(got.losses[size_t(step)], expected.losses[size_t(step)], 1e-5) << "step " << step;
  expect_close(got.logits[0], expected.logits[0], "logits");
  for (size_t i = 0; i < network.variables.size(); ++i)
    expect_close(got.variables[i], expected.variables[i], network.variables[i].name());
}

struct Kind {
  std::string name;
  std::unique_ptr<Network> (*make)();
};

class TrainingStep : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Of, TrainingStep,
                         ::testing::Values(Kind{"small_cnn", small_cnn},
                                           Kind{"residual_network", residual_network}),
                         [](const auto& param) { return param.param.name; });

TEST_P(TrainingStep, LearnsSomething) {
  auto network = GetParam().make();
  std::vector<Tensor> before;
  for (const Variable& variable : network->variables) before.push_back(variable.read());
  Result result = train(*network, reference_backend());
  for (double loss : result.losses) EXPECT_TRUE(std::isfinite(loss));
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_FALSE(before[i] == result.variables[i])
        << network->variables[i].name() << " did not change";
}

TEST_P(TrainingStep, FusionChangesNothing) {
  auto plain = GetParam().make(), fused = GetParam().make();
  passes::FusionReport report = passes::fuse(fused->graph);
  EXPECT_GT(report.activation, 0);
  expect_same(train(*fused, reference_backend()), train(*plain, reference_backend()), *plain);
}

TEST_P(TrainingStep, MergingDuplicatesChangesNothing) {
  auto plain = GetParam().make(), merged = GetParam().make();
  passes::merge_duplicates(merged->graph);
  expect_same(train(*merged, reference_backend()), train(*plain, reference_backend()), *plain);
}

TEST_P(TrainingStep, IsTheSameOnTheCpu) {
  STOKER_SKIP_UNDER_TSAN();
  auto mine = GetParam().make(), reference = GetParam().make();
  expect_same(train(*mine, backend("cpu")), train(*reference, reference_backend()), *reference);
}

TEST_P(TrainingStep, IsTheSameOnTheCpuWithoutFusion) {
  STOKER_SKIP_UNDER_TSAN();
  auto mine = GetParam().make(), reference = GetParam().make();
  CompileOptions options;
  options.keep_order = true;
  expect_same(train(*mine, backend("cpu"), options), train(*reference, reference_backend()),
              *reference);
}

TEST_P(TrainingStep, IsTheSameOnTheGpu) {
  if (std::string why; !is_usable("cuda", &why)) GTEST_SKIP() << why;
  for (bool keep_order : {false, true})
    for (bool capture : {false, true}) {
      SCOPED_TRACE(testing::Message() << "keep_order " << keep_order << ", capture " << capture);
      auto mine = GetParam().make(), reference = GetParam().make();
      CompileOptions options;
      options.keep_order = keep_order;
      options.capture = capture;
      expect_same(train(*mine, backend("cuda"), options), train(*reference, reference_backend()),
                  *reference);
    }
}

TEST_P(TrainingStep, IsTheSameForEverySizeOfTheTeam) {
  STOKER_SKIP_UNDER_TSAN();
  auto reference = GetParam().make();
  Result expected = train(*reference, reference_backend());
  for (int threads : {1, 2, 3, 5}) {
    SCOPED_TRACE(threads);
    auto network = GetParam().make();
    CompileOptions options;
    options.threads = threads;
    expect_same(train(*network, backend("cpu"), options), expected, *reference);
  }
}

TEST_P(TrainingStep, IsBitIdenticalWhenRepeated) {
  for (const std::string& device : device_names()) {
#ifdef STOKER_TSAN
    if (device == "cpu") continue;
#endif
    auto first = GetParam().make(), second = GetParam().make();
    Result a = train(*first, backend(device)), b = train(*second, backend(device));
    EXPECT_EQ(a.losses, b.losses) << device;
    EXPECT_EQ(a.variables, b.variables) << device;
  }
}

// A step in which the variables wander: each on another backend than the one before.
TEST_P(TrainingStep, CanChangeBackendsBetweenSteps) {
  STOKER_SKIP_UNDER_TSAN();
  auto wandering = GetParam().make(), reference = GetParam().make();
  Result expected = train(*reference, reference_backend()), got;
  auto here = reference_backend().compile(wandering->graph, {});
  auto there = backend("cpu").compile(wandering->graph, {});
  for (int step = 0; step < kSteps; ++step) {
    Program& program = step % 2 == 0 ? *there : *here;
    EXPECT_EQ(program.run(wandering->batch(step)), RunStatus::ok);
    got.losses.push_back(program.scalar(0));
    got.logits = {program.output(1)};
  }
  for (const Variable& variable : wandering->variables) got.variables.push_back(variable.read());
  expect_same(got, expected, *reference);
}

TEST_P(TrainingStep, IsSkippedWhenItsGuardIsNotFinite) {
  auto network = GetParam().make();
  if (network->graph.guard() < 0) GTEST_SKIP() << "this network has no guard";
  std::vector<Tensor> before, batch = network->batch(0);
  for (const Variable& variable : network->variables) before.push_back(variable.read());
  batch[0] = Tensor::full(batch[0].shape(), NAN);
  for (const std::string& device : device_names()) {
#ifdef STOKER_TSAN
    if (device == "cpu") continue;
#endif
    auto program = backend(device).compile(network->graph, {});
    EXPECT_EQ(program->run(batch), RunStatus::skipped_non_finite) << device;
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(network->variables[i].read(), before[i])
          << device << ": " << network->variables[i].name();
    auto culprit = program->find_non_finite(batch);
    ASSERT_TRUE(culprit.has_value()) << device;
    EXPECT_EQ(culprit->scope, "block_1") << device << ": " << culprit->op;
    EXPECT_EQ(culprit->op, "conv2d") << device;
  }
}

}  // namespace

}  // namespace stoker::test
