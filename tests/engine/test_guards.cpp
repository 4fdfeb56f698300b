// A guard skips a step whose numbers are not finite; a gate leaves out its updates alone. On every
// backend.
#include "engine/device_test.h"

#include <cmath>
#include <limits>

#include <stoker/ops.h>

#include "engine/guarded_step.h"

namespace stoker::test {

namespace {

class GuardTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(On, GuardTest, ::testing::ValuesIn(device_names()), device_name);

TEST_P(GuardTest, AFiniteGuardLetsUpdatesThrough) {
  GuardedStep step;
  auto program = compile(step.graph);
  EXPECT_EQ(program->run(std::vector{vector(1, 1, 2)}), RunStatus::ok);
  EXPECT_EQ(program->scalar(0), 9);
  EXPECT_EQ(step.w.read(), vector(0.5, 1.5, 2));
  EXPECT_EQ(step.steps.read().item(), 1);
}

TEST_P(GuardTest, AGuardThatIsNotFiniteSkipsUpdatesAndAssignments) {
  GuardedStep step;
  auto program = compile(step.graph);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (float bad : {NAN, infinity, -infinity}) {
    EXPECT_EQ(program->run(std::vector{vector(1, bad, 1)}), RunStatus::skipped_non_finite);
    EXPECT_FALSE(std::isfinite(program->scalar(0)));
    EXPECT_EQ(step.w.read(), vector(1, 2, 3));
    EXPECT_EQ(step.steps.read().item(), 0);
  }
  EXPECT_EQ(program->run(std::vector{vector(1, 1, 2)}), RunStatus::ok);
  EXPECT_EQ(step.w.read(), vector(0.5, 1.5, 2));
  EXPECT_EQ(step.steps.read().item(), 1);
}

// loss = sum(sqrt(x * w)), guarded with its gradient as a model's step is: where x is 0 the loss is
// finite and its slope is not.
struct GradientGuardedStep {
  Graph graph;
  Variable w{"w", vector(1, 2, 3)};
  Variable steps{"steps", Tensor::zeros({}, DType::int64)};

  GradientGuardedStep() {
    Value loss = ops::sum(ops::sqrt(graph.input("x", kVector) * Value(w)));
    graph.output(loss, "loss");
    Values gradient = gradients(loss, std::vector{w});
    Value norm =
        apply("clip_scales", gradient, {{"mode", std::string("global")}, {"max_norm", 1e30}})[1];
    graph.guard(loss + norm * 0.0);
    graph.assign(steps, Value(steps) + graph.constant(Tensor::full({}, 1, DType::int64)));
    Graph::Scope update(graph, Phase::update);
    Value lr = graph.constant(Tensor(0.01F));
    graph.assign(w, apply1("sgd_update", {lr, graph.variable(w), gradient[0]}, plain_sgd()));
  }
};

TEST_P(GuardTest, AGuardOverGradientsKeepsTheBadOnesFromTheWeights) {
  for (int lag : {0, 2}) {
    GradientGuardedStep step;
    CompileOptions options;
    options.status_lag = lag;
    auto program = device().compile(step.graph, options);
    std::vector good{vector(1, 1, 2)}, bad{vector(1, 0, 2)};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(program->run(good), RunStatus::ok);
    ASSERT_EQ(program->status(), RunStatus::ok);
    Tensor before = step.w.read();
    RunStatus status = program->run(bad);
    for (int later = 0; later < lag && status == RunStatus::ok; ++later)
      status = program->run(good);
    if (status == RunStatus::ok) status = program->status();
    EXPECT_EQ(status, RunStatus::skipped_non_finite);
    EXPECT_TRUE(program->find_non_finite(bad));
    EXPECT_EQ(step.w.read(), before);
    EXPECT_EQ(step.steps.read().item(), 4);
    EXPECT_EQ(program->run(good), RunStatus::ok) << "it goes on";
    ASSERT_EQ(program->status(), RunStatus::ok);
    EXPECT_NE(step.w.read(), before);
    EXPECT_EQ(step.steps.read().item(), 5);
  }
}

// As GuardedStep, but gated: steps <- steps + 1 always, updates <- updates + 1 where it is applied.
struct GatedStep {
  Graph graph;
  Variable w{"w", vector(1, 2, 3)};
  Variable steps{"steps", Tensor::zeros({}, DType::int64)};
  Variable updates{"updates", Tensor::zeros({}, DType::int64)};

  explicit GatedStep(bool guarded) {
    Value x = graph.input("x", kVector);
    Value loss = ops::sum(x * Value(w));
    graph.output(loss, "loss");
    if (guarded) graph.guard(graph.input("guard", {DType::float32, {}}) * 2.0);
    graph.gate(loss);
    Value one = graph.constant(Tensor::full({}, 1, DType::int64));
    graph.assign(steps, Value(steps) + one, Assign::always);
    graph.assign(updates, Value(updates) + one);
    Values gradient = gradients(loss, std::vector{w});
    Graph::Scope update(graph, Phase::update);
    Value lr = graph.constant(Tensor(0.5F));
    graph.assign(w, apply1("sgd_update", {lr, graph.variable(w), gradient[0]}, plain_sgd()));
  }
};

TEST_P(GuardTest, AClosedGateLeavesOutWhatIsNotAlwaysAssigned) {
  GatedStep step(false);
  auto program = compile(step.graph);
  for (float bad : {NAN, std::numeric_limits<float>::infinity()})
    EXPECT_EQ(program->run(std::vector{vector(1, bad, 1)}), RunStatus::ok) << "no error";
  EXPECT_EQ(step.w.read(), vector(1, 2, 3));
  EXPECT_EQ(step.updates.read().item(), 0);
  EXPECT_EQ(step.steps.read().item(), 2);
  EXPECT_EQ(program->run(std::vector{vector(1, 1, 2)}), RunStatus::ok);
  EXPECT_EQ(step.w.read(), vector(0.5, 1.5, 2));
  EXPECT_EQ(step.updates.read().item(), 1);
  EXPECT_EQ(step.steps.read().item(), 3);
}

TEST_P(GuardTest, AGuardSkipsWhatAGateLetsThrough) {
  GatedStep step(true);
  auto program = compile(step.graph);
  EXPECT_EQ(program->run(std::vector{vector(1, 1, 1), Tensor(NAN)}), RunStatus::skipped_non_finite);
  EXPECT_EQ(step.steps.read().item(), 0);
  EXPECT_EQ(program->run(std::vector{vector(1, NAN, 1), Tensor(1.0F)}), RunStatus::ok);
  EXPECT_EQ(step.steps.read().item(), 1);
  EXPECT_EQ(step.updates.read().item(), 0);
  std::vector<int64_t> nanoseconds;
  std::vector bad = {vector(1, NAN, 1), Tensor(1.0F)};
  EXPECT_EQ(program->run_timed(bad, nanoseconds), RunStatus::ok);
  EXPECT_EQ(step.steps.read().item(), 2);
  EXPECT_EQ(step.w.read(), vector(1, 2, 3));
}

}  // namespace

}  // namespace stoker::test
