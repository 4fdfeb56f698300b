// Inside one function() reads and updates of variables happen in the order of the program.
#include "train/helpers.h"

namespace stoker {
namespace {

class ProgramOrder : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(ProgramOrder);

Variable scalar(const std::string& name, float value) { return {name, Tensor(value)}; }

SGD sgd(double rate) { return SGD({.learning_rate = rate}); }

// d(loss)/d(w) = w for loss = w² / 2: SGD with rate 0.5 halves w.
Value half_square(const Variable& w) { return ops::sum(ops::square(w)) * 0.5; }

TEST_P(ProgramOrder, AVariableReadAfterApplyIsTheNewOne) {
  Variable w = scalar("w", 8);
  SGD optimizer = sgd(0.5);
  auto step = function([&](Value) {
    Value before = w;
    optimizer.apply(gradients(half_square(w), {w}), {w});
    return Values{before, w, w * 10.0, before * 10.0};
  });
  auto results = step(Tensor(0.0F));
  EXPECT_EQ(results[0].item(), 8);
  EXPECT_EQ(results[1].item(), 4);
  EXPECT_EQ(results[2].item(), 40);
  EXPECT_EQ(results[3].item(), 80);
  EXPECT_EQ(w.read().item(), 4);
  EXPECT_EQ(step(Tensor(0.0F))[1].item(), 2);
}

TEST_P(ProgramOrder, TwoUpdatesOfOneVariableBothCount) {
  Variable w = scalar("w", 8);
  SGD optimizer = sgd(0.5);
  auto step = function([&](Value) {
    for (int i = 0; i < 3; ++i) optimizer.apply(gradients(half_square(w), {w}), {w});
  });
  step(Tensor(0.0F));
  EXPECT_EQ(w.read().item(), 1);
  EXPECT_EQ(optimizer.iterations(), 3);
}

TEST_P(ProgramOrder, GradientsTakenBeforeAnUpdateStayThose) {
  Variable w = scalar("w", 8);
  SGD optimizer = sgd(0.5);
  auto step = function([&](Value) {
    Values slopes = gradients(half_square(w), {w});
    optimizer.apply(slopes, {w});
    optimizer.apply(slopes, {w});
  });
  step(Tensor(0.0F));
  EXPECT_EQ(w.read().item(), 0);
}

// Two applications in one function against one in each of two calls.
void expect_as_two_calls(const std::function<Optimizer()>& make) {
  Tensor start = Tensor::from({3.0F, -2.0F, 0.5F}, {3});
  Variable together("together", start), apart("apart", start);
  Optimizer one = make(), two = make();
  auto update = [](const Optimizer& optimizer, const Variable& w, const Value& x) {
    Value loss = ops::sum(ops::square(Value(w) - x)) * ops::sum(ops::square(w));
    optimizer.apply(gradients(optimizer.scale_loss(loss), {w}), {w});
  };
  auto twice = function([&](Value x) {
    update(one, together, x);
    update(one, together, x);
  });
  auto once = function([&](Value x) { update(two, apart, x); });
  Tensor x = Tensor::from({1.0F, 1.0F, -1.0F}, {3});
  for (int i = 0; i < 3; ++i) {
    twice(x);
    once(x);
    once(x);
    EXPECT_EQ(together.read(), apart.read()) << make().kind() << ", call " << i;
  }
  EXPECT_EQ(one.iterations(), two.iterations());
  EXPECT_EQ(one.loss_scale(), two.loss_scale());
  EXPECT_EQ(one.skipped_steps(), two.skipped_steps());
  EXPECT_EQ(one.accumulated_batches(), two.accumulated_batches());
  for (size_t i = 0; i < one.slots(together).size(); ++i)
    EXPECT_EQ(one.slots(together)[i].read(), two.slots(apart)[i].read());
}

TEST_P(ProgramOrder, TwoApplicationsAreTheSameAsTwoCalls) {
  expect_as_two_calls([] { return SGD({.learning_rate = 0.01, .momentum = 0.9}); });
  expect_as_two_calls([] { return Adam({.learning_rate = 0.1}); });
  expect_as_two_calls([] { return RMSprop({.learning_rate = 0.1, .centered = true}); });
  expect_as_two_calls([] { return Adam({.learning_rate = 0.1, .global_clipnorm = 0.5}); });
  expect_as_two_calls([] {
    return SGD({.learning_rate = ExponentialDecay(
                    {.initial_learning_rate = 0.05, .decay_steps = 2, .decay_rate = 0.5})});
  });
}

TEST_P(ProgramOrder, TwoApplicationsCountAsTwoBatchesWhereGradientsAreAccumulated) {
  expect_as_two_calls(
      [] { return SGD({.learning_rate = 0.01, .gradient_accumulation_steps = 2}); });
  expect_as_two_calls(
      [] { return Adam({.learning_rate = 0.1, .gradient_accumulation_steps = 3}); });
}

TEST_P(ProgramOrder, TwoApplicationsScaleTheLossAsTwoCalls) {
  expect_as_two_calls([] {
    return LossScaleOptimizer(SGD({.learning_rate = 0.01}),
                              {.initial_scale = 16, .dynamic_growth_steps = 2});
  });
  // The scale is too large at first: some of the steps are skipped, each on its own.
  expect_as_two_calls(
      [] { return LossScaleOptimizer(Adam({.learning_rate = 0.1}), {.initial_scale = 16777216}); });
}

TEST_P(ProgramOrder, ASkippedUpdateReadsAsTheOldValueAndLeavesOthersAlone) {
  Variable a = scalar("a", 1), b = scalar("b", 1);
  LossScaleOptimizer first(sgd(1), {.initial_scale = 4}), second(sgd(1), {.initial_scale = 4});
  auto step = function([&](Value x) {
    first.apply(gradients(first.scale_loss(Value(a) * x), {a}), {a});
    Value seen = a;  // b's gradient is a as the first update left it
    second.apply(gradients(second.scale_loss(Value(b) * a), {b}), {b});
    return Values{seen, b};
  });
  auto skipped = step(Tensor(INFINITY));
  EXPECT_EQ(skipped[0].item(), 1);
  EXPECT_EQ(skipped[1].item(), 0);
  EXPECT_EQ(a.read().item(), 1);
  EXPECT_EQ(b.read().item(), 0);
  EXPECT_EQ(first.skipped_steps(), 1);
  EXPECT_EQ(second.skipped_steps(), 0);
  EXPECT_EQ(first.iterations(), 0);
  EXPECT_EQ(second.iterations(), 1);
  auto made = step(Tensor(3.0F));
  EXPECT_EQ(made[0].item(), -2);
  EXPECT_EQ(a.read().item(), -2);
  EXPECT_EQ(b.read().item(), 2);
}

TEST_P(ProgramOrder, TheSecondOfTwoUpdatesMayBeSkippedAlone) {
  Variable a = scalar("a", 1), b = scalar("b", 1);
  LossScaleOptimizer first(sgd(1), {.initial_scale = 4}), second(sgd(1), {.initial_scale = 4});
  auto step = function([&](Value x) {
    first.apply(gradients(first.scale_loss(Value(a) * 2.0), {a}), {a});
    second.apply(gradients(second.scale_loss(Value(b) * x), {b}), {b});
  });
  step(Tensor(INFINITY));
  EXPECT_EQ(a.read().item(), -1);
  EXPECT_EQ(b.read().item(), 1);
  EXPECT_EQ(second.skipped_steps(), 1);
}

TEST_P(ProgramOrder, AGeneratorTrainsAgainstTheNewDiscriminator) {
  Variable d = scalar("discriminator", 2), g = scalar("generator", 3);
  SGD d_sgd = sgd(0.5), g_sgd = sgd(0.25);
  auto step = function([&](Value real) {
    Value d_loss = Value(d) * (Value(g) - real);
    d_sgd.apply(gradients(d_loss, {d}), {d});
    Value g_loss = -(Value(d) * Value(g));
    g_sgd.apply(gradients(g_loss, {g}), {g});
    return Values{d_loss, g_loss};
  });
  auto losses = step(Tensor(1.0F));
  EXPECT_EQ(losses[0].item(), 4);
  EXPECT_EQ(d.read().item(), 1);      // 2 − 0.5 · (3 − 1)
  EXPECT_EQ(losses[1].item(), -3);    // −1 · 3
  EXPECT_EQ(g.read().item(), 3.25F);  // 3 + 0.25 · 1
}

// The whole of a network, with layers, moments and fused kernels: one function against two.
TEST_P(ProgramOrder, AGanStepIsTheSameInOneFunctionAsInTwo) {
  auto make = [] {
    set_seed(4);
    return std::pair(Sequential({Input({3}), Dense(8, {.activation = "relu"}), Dense(2)}),
                     Sequential({Input({2}), Dense(16, {.activation = "leaky_relu"}), Dense(1)}));
  };
  auto train_d = [](auto& models, const Adam& adam, const Value& z, const Value& real) {
    auto& [g, d] = models;
    Value loss = ops::mean(ops::softplus(d(ops::stop_gradient(g(z)))) + ops::softplus(-d(real)));
    adam.apply(gradients(loss, d.trainable_variables()), d.trainable_variables());
    return loss;
  };
  auto train_g = [](auto& models, const Adam& adam, const Value& z) {
    auto& [g, d] = models;
    Value loss = ops::mean(ops::softplus(-d(g(z))));
    adam.apply(gradients(loss, g.trainable_variables()), g.trainable_variables());
    return loss;
  };
  auto one = make(), two = make();
  Adam one_d({.learning_rate = 0.01}), one_g({.learning_rate = 0.01}),
      two_d({.learning_rate = 0.01}), two_g({.learning_rate = 0.01});
  auto both = function([&](Value z, Value real) {
    Value d_loss = train_d(one, one_d, z, real);
    return Values{d_loss, train_g(one, one_g, z)};
  });
  auto first = function([&](Value z, Value real) { return train_d(two, two_d, z, real); });
  auto then = function([&](Value z) { return train_g(two, two_g, z); });
  for (uint64_t i = 0; i < 4; ++i) {
    Tensor z = test::normal({16, 3}, 2 * i), real = test::normal({16, 2}, 2 * i + 1);
    auto losses = both(z, real);
    double d_loss = first(z, real), g_loss = then(z);
    EXPECT_NEAR(losses[0].item(), d_loss, 1e-6);
    EXPECT_NEAR(losses[1].item(), g_loss, 1e-6);
  }
  for (auto pair : {std::pair(one.first, two.first), std::pair(one.second, two.second)})
    for (size_t i = 0; i < pair.first.get_weights().size(); ++i)
      for (int64_t at = 0; at < pair.first.get_weights()[i].elements(); ++at)
        EXPECT_NEAR(pair.first.get_weights()[i].at(at), pair.second.get_weights()[i].at(at), 1e-5);
}

TEST_P(ProgramOrder, BatchNormalisationCalledTwiceAveragesTwice) {
  BatchNormalization norm({.momentum = 0.5});
  auto both = function([&](Value x, Value y) {
    norm(x);
    norm(y);
  });
  Tensor ones = Tensor::full({4, 2}, 8.0), twos = Tensor::full({4, 2}, 16.0);
  both(ones, twos);
  EXPECT_EQ(norm.get_weights()[2].at(0), 10);  // (0 + 8) / 2 = 4, (4 + 16) / 2 = 10
}

// --- gradients by variables that are updated on the way ---

TEST_P(ProgramOrder, AGradientIsByEveryVersionThatTheLossRead) {
  Variable w = scalar("w", 2);
  auto step = function([&](Value x) {
    Value first = Value(w) * x;  // by the old one: x
    w.assign(10.0);
    Value second = ops::square(w);  // by the new one: 2 · 10
    return gradients(first + second, {w})[0];
  });
  EXPECT_EQ(step(Tensor(3.0F)).item(), 23);
}

TEST_P(ProgramOrder, AGradientDoesNotFlowThroughAnUpdate) {
  Variable w = scalar("w", 2);
  auto step = function([&](Value x) {
    w.assign(Value(w) * x);
    return Values{gradients(Value(w) * 5.0, {w})[0], gradients(Value(w) * 5.0 + x, {x})[0]};
  });
  auto found = step(Tensor(3.0F));
  EXPECT_EQ(found[0].item(), 5);
  EXPECT_EQ(found[1].item(), 1);
}

TEST_P(ProgramOrder, WhatWasComputedForAnUpdateKeepsItsGradient) {
  Variable w = scalar("w", 2);
  auto step = function([&](Value x) {
    Value next = Value(w) * x;
    w.assign(next);
    return gradients(next * 5.0, {w})[0];
  });
  EXPECT_EQ(step(Tensor(3.0F)).item(), 15);
}

// --- assign ---

TEST_P(ProgramOrder, AssignSwapsAndCounts) {
  Variable a("a", Tensor::from({1.0F, 2.0F}, {2})), b("b", Tensor::from({3.0F, 4.0F}, {2}));
  Variable count("count", Tensor::zeros({}, DType::int64));
  auto swap = function([&](Value) {
    Value old = a;
    a.assign(b);
    b.assign(old);
    count.assign_add(1.0);
    count.assign_add(1.0);
    return count;
  });
  EXPECT_EQ(swap(Tensor(0.0F)).item(), 2);
  EXPECT_EQ(a.read(), Tensor::from({3.0F, 4.0F}, {2}));
  EXPECT_EQ(b.read(), Tensor::from({1.0F, 2.0F}, {2}));
  EXPECT_EQ(swap(Tensor(0.0F)).item(), 4);
}

TEST_P(ProgramOrder, AnAverageOfWeightsFollowsTheUpdatedOnes) {
  Variable w = scalar("w", 8), average = scalar("average", 0);
  SGD optimizer = sgd(0.5);
  auto step = function([&](Value) {
    optimizer.apply(gradients(half_square(w), {w}), {w});
    average.assign(Value(average) * 0.5 + Value(w) * 0.5);
  });
  step(Tensor(0.0F));
  EXPECT_EQ(average.read().item(), 2);
  step(Tensor(0.0F));
  EXPECT_EQ(average.read().item(), 2);  // (2 + 2) / 2
}

TEST_P(ProgramOrder, WeightsMayBeClippedAfterAnUpdate) {
  Variable w("w", Tensor::from({5.0F, -5.0F, 0.1F}, {3}));
  SGD optimizer = sgd(0.5);
  auto step = function([&](Value) {
    optimizer.apply(gradients(half_square(w), {w}), {w});
    w.assign(ops::clip(w, -1, 1));
    return ops::sum(w);
  });
  EXPECT_NEAR(step(Tensor(0.0F)).item(), 0.05, 1e-6);
  EXPECT_EQ(w.read().at(0), 1);
  EXPECT_EQ(w.read().at(1), -1);
}

TEST_P(ProgramOrder, AnAssignmentIsMadeInASkippedStepToo) {
  Variable w = scalar("w", 1), steps = scalar("steps", 0), seen = scalar("seen", 0);
  LossScaleOptimizer optimizer(sgd(1), {.initial_scale = 4});
  auto step = function([&](Value x) {
    w.assign(2.0);
    optimizer.apply(gradients(optimizer.scale_loss(Value(w) * x), {w}), {w});
    steps.assign_add(1.0);
    seen.assign(w);
  });
  step(Tensor(INFINITY));
  EXPECT_EQ(w.read().item(), 2);
  EXPECT_EQ(seen.read().item(), 2);
  EXPECT_EQ(steps.read().item(), 1);
  step(Tensor(3.0F));
  EXPECT_EQ(w.read().item(), -1);
  EXPECT_EQ(seen.read().item(), -1);
}

TEST(Assign, BelongsInsideAStepAndMustFit) {
  Variable w("w", Tensor::zeros({2}));
  EXPECT_TRUE(test::says(test::error_of<Error>([&] { w.assign(1.0); }),
                         {"variable \"w\"", "inside function()", "write()"}));
  auto wrong = function([&](Value x) { w.assign(x); });
  EXPECT_TRUE(test::says(test::error_of<ShapeError>([&] { wrong(Tensor::zeros({3})); }),
                         {"variable \"w\" holds float32[2]", "float32[3]"}));
}

}  // namespace
}  // namespace stoker
