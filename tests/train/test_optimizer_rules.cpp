// The rules as written with ops against the kernels that run them: every option, alone and together.
#include <limits>

#include <fmt/format.h>

#include "engine/backend.h"
#include "graph/passes/passes.h"
#include "train/helpers.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"
#include "train/optimizers/optimizer_kinds.h"

namespace stoker {
namespace {

using namespace test;

class OptimizerRules : public DeviceTest {};
INSTANTIATE_ON_DEVICES(OptimizerRules);

constexpr int kUpdates = 3;
const std::vector<Shape> kShapes = {{3, 5}, {7}, {}};

enum class Way : uint8_t { with_ops, fused };

// Parameters and slots after three updates, and the largest number that each has held.
struct Walk {
  std::vector<Tensor> end;
  std::vector<double> largest;

  void look_at(const std::vector<Tensor>& now) {
    end = now;
    largest.resize(now.size());
    for (size_t which = 0; which < now.size(); ++which)
      for (int64_t i = 0; i < now[which].elements(); ++i)
        largest[which] = std::max(largest[which], std::abs(now[which].at(i)));
  }
};

Walk descend(const Optimizer& optimizer, DType gradient, Way way, const std::string& device) {
  Backend& engine = backend(device);
  Graph graph;
  std::vector<Variable> parameters;
  Values gradients;
  for (size_t i = 0; i < kShapes.size(); ++i) {
    Tensor start = normal(kShapes[i], i);
    for (float& value : std::span(start.data_mut<float>(), size_t(start.elements())))
      value *= 0.01F;  // hides no error of a step
    parameters.emplace_back(fmt::format("p{}", i), start);
    gradients.push_back(graph.input(fmt::format("g{}", i), {gradient, kShapes[i]}));
  }
  int64_t steps = optimizer.gradient_accumulation_steps();
  optimizer.set_accumulated_batches(steps - 1);
  optimizer.apply(gradients, parameters);
  int used = 0;
  if (way == Way::fused)
    used = passes::use_fused_forms(
        graph, [&](std::string_view op, DType dtype) { return engine.supports(op, dtype); });
  EXPECT_EQ(used, way == Way::fused ? 1 : 0);
  auto program = engine.compile(graph, {});
  Walk walk;
  for (int update = 0; update < kUpdates; ++update) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < kShapes.size(); ++i)
      inputs.push_back(normal(kShapes[i], 100 + 10 * uint64_t(update) + i).cast(gradient));
    program->run(inputs);
    std::vector<Tensor> now;
    for (const Variable& parameter : parameters) {
      now.push_back(parameter.read());
      for (const Variable& slot : optimizer.slots(parameter)) now.push_back(slot.read());
    }
    walk.look_at(now);
  }
  EXPECT_EQ(optimizer.iterations(), kUpdates);
  return walk;
}

void expect_same(const Walk& got, const Walk& expected) {
  constexpr double kRoundings = 16 * std::numeric_limits<float>::epsilon();
  ASSERT_EQ(got.end.size(), expected.end.size());
  for (size_t which = 0; which < got.end.size(); ++which)
    for (int64_t i = 0; i < expected.end[which].elements(); ++i)
      ASSERT_NEAR(got.end[which].at(i), expected.end[which].at(i),
                  kRoundings * expected.largest[which])
          << "tensor " << which << ", element " << i;
}

// What every kind takes.
struct Variant {
  std::string name;
  Attrs options = {};
  DType gradient = DType::float32;
  bool cycles = false, scales_loss = false;
};

std::vector<Variant> variants() {
  return {
      {"plain"},
      {"weight_decay", {{"weight_decay", 0.125}}},
      {"clipnorm", {{"clipnorm", 1.0}}},
      {"clipvalue", {{"clipvalue", 0.5}}},
      {"global_clipnorm", {{"global_clipnorm", 1.0}}},
      {"accumulation", {{"gradient_accumulation_steps", int64_t(2)}}},
      {"half gradients", {}, DType::float16},
      {"bfloat gradients", {{"clipnorm", 1.0}}, DType::bfloat16},
      {"a schedule that cycles momentum", {}, DType::float32, true},
      {"loss scaling", {}, DType::float32, false, true},
      {"everything",
       {{"weight_decay", 0.125}, {"clipvalue", 0.5}, {"gradient_accumulation_steps", int64_t(2)}},
       DType::float16,
       true,
       true}};
}

Optimizer make(const std::string& kind, Attrs config, const Variant& variant) {
  for (const auto& [option, value] : variant.options.entries()) config.set(option, value);
  LearningRate rate = 0.25;
  if (variant.cycles) rate = OneCycle({.max_learning_rate = 0.25, .total_steps = 8});
  Optimizer made = Optimizer::from_config(kind, config, rate);
  if (variant.scales_loss) made = LossScaleOptimizer(made, {.initial_scale = 4});
  return made;
}

void expect_rule_of(const std::string& kind, const Attrs& config, const std::string& device) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(fmt::format("{} {}, {}", kind, to_string(config), variant.name));
    expect_same(descend(make(kind, config, variant), variant.gradient, Way::with_ops, device),
                descend(make(kind, config, variant), variant.gradient, Way::fused, device));
  }
}

TEST_P(OptimizerRules, OfSgdAreItsKernel) {
  expect_rule_of("SGD", {{"momentum", 0.0}}, GetParam());
  expect_rule_of("SGD", {{"momentum", 0.9}}, GetParam());
  expect_rule_of("SGD", {{"momentum", 0.9}, {"nesterov", true}}, GetParam());
}

TEST_P(OptimizerRules, OfAdamAreItsKernel) {
  for (const char* kind : {"Adam", "AdamW"})
    for (bool amsgrad : {false, true}) expect_rule_of(kind, {{"amsgrad", amsgrad}}, GetParam());
  expect_rule_of("Adam", {{"beta_1", 0.0}, {"beta_2", 0.5}, {"epsilon", 0.1}}, GetParam());
}

TEST_P(OptimizerRules, OfRmspropAreItsKernel) {
  for (bool centered : {false, true})
    for (double momentum : {0.0, 0.9})
      expect_rule_of("RMSprop", {{"centered", centered}, {"momentum", momentum}}, GetParam());
}

// Every kind with a kernel stands above; a new one without is told apart here.
TEST(OptimizerKinds, KnowTheKernelsThatRunThem) {
  std::string fused;
  for (const auto& kind : optimizer_kinds())
    if (!kind->fused.empty()) fused += kind->kind + " " + kind->fused + "; ";
  EXPECT_EQ(fused, "SGD sgd_update; Adam adam_update; AdamW adam_update; RMSprop rmsprop_update; ");
}

// Ops of the update phase of a training step, in order.
std::vector<std::string> update_ops(const Optimizer& optimizer) {
  Sequential model({Input({2}), Dense(3, {.activation = "relu"}), Dense(1)});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  Data data = line(8, 1);
  model.train_on_batch(data.x, data.y);
  const CachedProgram& step =
      *ModelAccess::base(model).trainer->programs.latest(int(StepKind::train));
  std::vector<std::string> ops;
  for (const KernelInfo& kernel : step.program->kernels())
    if (kernel.scope == "optimizer" && kernel.op.ends_with("_update")) ops.push_back(kernel.op);
  return ops;
}

TEST_P(OptimizerRules, RunOnTheirKernelsInTraining) {
  using Ops = std::vector<std::string>;
  EXPECT_EQ(update_ops("sgd"), Ops{"sgd_update"});
  EXPECT_EQ(update_ops(SGD({.momentum = 0.9, .nesterov = true})), Ops{"sgd_update"});
  EXPECT_EQ(update_ops(Adam({.amsgrad = true, .clipnorm = 1})), Ops{"adam_update"});
  EXPECT_EQ(update_ops("adamw"), Ops{"adam_update"});
  EXPECT_EQ(update_ops(RMSprop({.centered = true})), Ops{"rmsprop_update"});
}

}  // namespace
}  // namespace stoker
