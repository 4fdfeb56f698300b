#include <cmath>
#include <functional>

#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;

class OptimizerSteps : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(OptimizerSteps);

// Applies gradients that do not depend on the parameter, `steps` times.
std::vector<float> descend(const Optimizer& optimizer, const std::vector<float>& start,
                           const std::vector<float>& gradient, int steps) {
  Variable p("p", Tensor::from(start, {int64_t(start.size())}));
  auto step = function([&](Value g) {
    optimizer.apply(gradients(ops::sum(p * g), std::vector<Variable>{p}), {p});
    return ops::sum(g);
  });
  for (int i = 0; i < steps; ++i) step(Tensor::from(gradient, {int64_t(gradient.size())}));
  Tensor keep = p.read();
  return {keep.values<float>().begin(), keep.values<float>().end()};
}

void expect_each_near(const std::vector<float>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
}

TEST_P(OptimizerSteps, SgdMovesAgainstTheGradient) {
  expect_each_near(descend(SGD({.learning_rate = 0.1}), {1, 2}, {1, -2}, 2), {0.8, 2.4});
}

TEST_P(OptimizerSteps, SgdWithMomentumKeepsGoing) {
  // m: -0.1, -0.19; p: 1 - 0.1 - 0.19
  expect_each_near(descend(SGD({.learning_rate = 0.1, .momentum = 0.9}), {1}, {1}, 2), {0.71});
}

TEST_P(OptimizerSteps, NesterovLooksAhead) {
  // m = -0.1: p = 1 + 0.9 m - 0.1
  expect_each_near(
      descend(SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}), {1}, {1}, 1), {0.81});
}

TEST_P(OptimizerSteps, AdamFollowsItsFormula) {
  double p = 0.5, m = 0, v = 0, g = 0.3;
  for (int t = 1; t <= 3; ++t) {
    m += (g - m) * 0.1;
    v += (g * g - v) * 0.001;
    p -= 0.01 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)) * m /
         (std::sqrt(v) + 1e-7);
  }
  expect_each_near(descend(Adam({.learning_rate = 0.01}), {0.5}, {0.3}, 3), {p});
}

TEST_P(OptimizerSteps, RmspropFollowsItsFormula) {
  double p = 0.5, v = 0, g = 0.3;
  for (int t = 0; t < 3; ++t) {
    v = 0.9 * v + 0.1 * g * g;
    p -= 0.01 * g / std::sqrt(v + 1e-7);
  }
  expect_each_near(descend(RMSprop({.learning_rate = 0.01}), {0.5}, {0.3}, 3), {p});
}

TEST_P(OptimizerSteps, AdagradRemembersEverySquare) {
  double p = 0.5, sum = 0.1, g = 0.3;
  for (int t = 0; t < 3; ++t) {
    sum += g * g;
    p -= 0.01 * g / std::sqrt(sum + 1e-7);
  }
  expect_each_near(descend(Adagrad({.learning_rate = 0.01}), {0.5}, {0.3}, 3), {p});
}

TEST_P(OptimizerSteps, LionTakesStepsOfOneLength) {
  expect_each_near(descend(Lion({.learning_rate = 0.25}), {1, 1, 1}, {3, -0.001, 0}, 2),
                   {0.5, 1.5, 1});
}

TEST_P(OptimizerSteps, WeightDecayShrinksBeforeTheStep) {
  expect_each_near(descend(SGD({.learning_rate = 0.1, .weight_decay = 0.5}), {2}, {1}, 1),
                   {2 - 0.1 * 0.5 * 2 - 0.1});
}

TEST_P(OptimizerSteps, ClipvalueClipsElements) {
  expect_each_near(descend(SGD({.learning_rate = 1, .clipvalue = 0.5}), {0, 0}, {3, -0.25}, 1),
                   {-0.5, 0.25});
}

TEST_P(OptimizerSteps, ClipnormScalesAGradientToItsLength) {
  expect_each_near(descend(SGD({.learning_rate = 1, .clipnorm = 1}), {0, 0}, {3, 4}, 1),
                   {-0.6, -0.8});
  expect_each_near(descend(SGD({.learning_rate = 1, .clipnorm = 10}), {0, 0}, {3, 4}, 1), {-3, -4});
}

TEST_P(OptimizerSteps, GlobalClipnormScalesAllGradientsByOneLength) {
  Variable a("a", Tensor(0.0F)), b("b", Tensor(0.0F));
  SGD optimizer({.learning_rate = 1, .global_clipnorm = 1});
  auto step = function([&](Value g) {
    std::vector<Variable> both = {a, b};
    optimizer.apply(gradients(ops::sum(g * 3.0 * a + g * 4.0 * b), both), both);
  });
  step(Tensor(1.0F));
  EXPECT_NEAR(a.read().item(), -0.6, 1e-6);
  EXPECT_NEAR(b.read().item(), -0.8, 1e-6);
}

TEST_P(OptimizerSteps, ALearningRateThatIsSetNeedsNoNewProgram) {
  Variable p("p", Tensor(1.0F));
  SGD optimizer({.learning_rate = 0.1});
  auto step =
      function([&](Value g) { optimizer.apply(gradients(p * g, std::vector<Variable>{p}), {p}); });
  step(Tensor(1.0F));
  optimizer.set_learning_rate(0.5);
  step(Tensor(1.0F));
  EXPECT_NEAR(p.read().item(), 0.4, 1e-6);
  EXPECT_NEAR(optimizer.learning_rate(), 0.5, 1e-7);
  EXPECT_EQ(optimizer.iterations(), 2);
  EXPECT_EQ(step.traces(), 1U);
}

TEST_P(OptimizerSteps, AccumulationUpdatesOnceWithTheMean) {
  Variable p("p", Tensor(0.0F));
  Adam optimizer({.learning_rate = 0.1, .gradient_accumulation_steps = 3});
  auto step =
      function([&](Value g) { optimizer.apply(gradients(p * g, std::vector<Variable>{p}), {p}); });
  for (float g : {1.0F, 2.0F}) step(Tensor(g));
  EXPECT_EQ(p.read().item(), 0);
  EXPECT_EQ(optimizer.iterations(), 0);
  step(Tensor(6.0F));
  EXPECT_EQ(optimizer.iterations(), 1);
  EXPECT_EQ(step.traces(), 2U);  // accumulate, and accumulate and update

  Variable q("q", Tensor(0.0F));
  Adam plain({.learning_rate = 0.1});
  auto one =
      function([&](Value g) { plain.apply(gradients(q * g, std::vector<Variable>{q}), {q}); });
  one(Tensor(3.0F));
  EXPECT_NEAR(p.read().item(), q.read().item(), 1e-6);
}

TEST_P(OptimizerSteps, AccumulatesSixteenBitGradientsInFloat32) {
  Variable p("p", Tensor(0.0F));
  SGD optimizer({.learning_rate = 1, .gradient_accumulation_steps = 2});
  auto step = function([&](Value g) { optimizer.apply({g}, {p}); });
  step(Tensor(2048.0F).cast(DType::float16));
  step(Tensor(1.0F).cast(DType::float16));  // 2049 is no float16
  EXPECT_EQ(p.read().item(), -1024.5);
}

TEST(Optimizer, HasKerasDefaults) {
  EXPECT_EQ(Optimizer("sgd").learning_rate(), double(0.01F));
  EXPECT_EQ(Optimizer("adam").learning_rate(), double(0.001F));
  EXPECT_EQ(Optimizer("AdamW").config().get<double>("weight_decay"), 0.004);
  EXPECT_EQ(Optimizer("rmsprop").config().get<double>("rho"), 0.9);
  EXPECT_EQ(Optimizer("adagrad").config().get<double>("initial_accumulator_value"), 0.1);
  EXPECT_EQ(Optimizer("lion").config().get<double>("beta_2"), 0.99);
  EXPECT_EQ(Adam().kind(), "Adam");
  EXPECT_EQ(Adam({.name = "mine"}).name(), "mine");
}

TEST(Optimizer, IsMadeAgainFromItsConfiguration) {
  RMSprop first({.learning_rate = 0.5, .momentum = 0.25, .centered = true, .clipnorm = 2});
  Optimizer second = Optimizer::from_config(first.kind(), first.config());
  EXPECT_EQ(second.config(), first.config());
}

TEST(Optimizer, RefusesWhatItCannotDo) {
  EXPECT_TRUE(
      says(error_of<ValueError>([] { Optimizer("adamm"); }), {"adamm", "\"adam\"", "\"rmsprop\""}));
  EXPECT_TRUE(says(error_of<ValueError>([] { Adam({.clipnorm = 1, .clipvalue = 2}); }),
                   {"only one of", "clipnorm = 1", "clipvalue = 2"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([] { Adam({.learning_rate = -1}); }), {"learning_rate", "-1"}));
  EXPECT_TRUE(says(error_of<ValueError>([] { Adam({.beta_1 = 1}); }), {"beta_1", "[0, 1)"}));
  EXPECT_TRUE(says(error_of<ValueError>([] { SGD({.gradient_accumulation_steps = 0}); }),
                   {"gradient_accumulation_steps"}));
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     Optimizer::from_config("Adam", {{"rho", 0.5}});
                   }),
                   {"rho"}));
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     Optimizer::from_config("Adam", {{"beta_1", true}});
                   }),
                   {"beta_1"}));
  EXPECT_TRUE(says(error_of<ValueError>([] { Lion({.beta_1 = 0}); }), {"beta_1", "above 0"}));
  EXPECT_THROW(Adam().set_learning_rate(std::nan("")), ValueError);
}

TEST(Optimizer, ApplyOutsideOfATraceSaysWhere) {
  Variable p("p", Tensor(1.0F));
  EXPECT_TRUE(says(error_of<Error>([&] { SGD().apply({Value(p)}, {p}); }), {"function()"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { SGD().apply({}, {p}); }), {"0 gradients for 1 variables"}));
}

}  // namespace
}  // namespace stoker
