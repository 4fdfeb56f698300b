// Optimisers from rules of the user's own: all that works for the library's works for them.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "support/temp_dir.h"
#include "train/helpers.h"
#include "train/model/weights_hash.h"

namespace stoker {
namespace {

using namespace test;

class OwnOptimizerRule : public DeviceTest {};
INSTANTIATE_ON_DEVICES(OwnOptimizerRule);

// Momentum descent, as SGD has it, with another name for its option.
OptimizerRule heavy_ball(double beta = 0.5) {
  return {.kind = "HeavyBall",
          .options = {{"beta", beta}},
          .slots = {{"speed"}},
          .update = [](const RuleInput& at) -> RuleOutput {
            Value speed = at.momentum * at.slots[0] - at.learning_rate * at.gradient;
            return {at.parameter + speed, {speed}};
          },
          .momentum = "beta"};
}

// Adam as its paper has it; as the library's, up to rounding and the place of epsilon.
OptimizerRule paper_adam() {
  return {.kind = "PaperAdam",
          .slots = {{"m"}, {"v"}},
          .update = [](const RuleInput& at) -> RuleOutput {
            Value m = at.slots[0] * 0.9 + at.gradient * 0.1;
            Value v = at.slots[1] * 0.99 + ops::square(at.gradient) * 0.01;
            Value t = ops::cast(at.iterations, DType::float32) + 1.0;
            Value first = m / (1.0 - ops::pow(0.9, t)), second = v / (1.0 - ops::pow(0.99, t));
            return {at.parameter - at.learning_rate * first / (ops::sqrt(second) + 1e-7), {m, v}};
          }};
}

struct Trained {
  std::vector<Tensor> weights;
  Optimizer optimizer;
};

// Two epochs of a small network of convolutions, whose kernels lie in blocks on a CPU.
Trained trained(const Optimizer& optimizer, const FitArgs& args = {.epochs = 2, .verbose = 0}) {
  set_seed(11);
  Sequential model({Input({6, 6, 3}), Conv2D(5, 3, {.activation = "relu"}), BatchNormalization(),
                    Flatten(), Dense(2)});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  model.fit(normal({24, 6, 6, 3}, 1), normal({24, 2}, 2), args);
  return {model.get_weights(), optimizer};
}

// Every way of setting what all optimisers take, on `own` and on one that does the same.
template <class Options>
std::vector<std::pair<OptimizerOptions, Options>> shared_ways() {
  LearningRate falls =
      ExponentialDecay({.initial_learning_rate = 0.02, .decay_steps = 1, .decay_rate = 0.5});
  std::vector<std::pair<OptimizerOptions, Options>> ways;
  auto add = [&](auto set) {
    OptimizerOptions own{.learning_rate = 0.02};
    Options other{.learning_rate = 0.02};
    set(own);
    set(other);
    ways.emplace_back(own, other);
  };
  add([](auto&) {});
  add([](auto& options) { options.weight_decay = 0.125; });
  add([](auto& options) { options.clipnorm = 0.25; });
  add([](auto& options) { options.clipvalue = 0.125; });
  add([](auto& options) { options.global_clipnorm = 0.25; });
  add([](auto& options) { options.gradient_accumulation_steps = 2; });
  add([&](auto& options) { options.learning_rate = falls; });
  return ways;
}

TEST_P(OwnOptimizerRule, TrainsAsTheLibrarysThatHasTheSameRule) {
  for (auto& [own, sgd] : shared_ways<SGDOptions>()) {
    sgd.momentum = 0.5;
    expect_near(trained(Optimizer(heavy_ball(), own)).weights, trained(SGD(sgd)).weights, 1e-5);
  }
  for (auto& [own, adam] : shared_ways<AdamOptions>()) {
    adam.beta_2 = 0.99;
    expect_near(trained(Optimizer(paper_adam(), own)).weights, trained(Adam(adam)).weights, 2e-4);
  }
}

TEST_P(OwnOptimizerRule, TakesPartInLossScaling) {
  Optimizer plain(heavy_ball(), {.learning_rate = 0.02});
  Trained scaled = trained(LossScaleOptimizer(Optimizer(heavy_ball(), {.learning_rate = 0.02})));
  expect_near(scaled.weights, trained(plain).weights, 1e-5);
  EXPECT_EQ(scaled.optimizer.iterations(), 2);
  EXPECT_EQ(scaled.optimizer.loss_scale(), 32768);
}

TEST_P(OwnOptimizerRule, MovesWithASchedulesMomentum) {
  LearningRate rate = OneCycle({.max_learning_rate = 0.05, .total_steps = 6});
  FitArgs args{.epochs = 2, .batch_size = 8, .verbose = 0};
  expect_near(trained(Optimizer(heavy_ball(), {.learning_rate = rate}), args).weights,
              trained(SGD({.learning_rate = rate, .momentum = 0.5}), args).weights, 1e-5);
}

TEST_P(OwnOptimizerRule, SkipsAStepWithANonFiniteGradient) {
  Sequential model({Input({2}), Dense(1)});
  Optimizer own(heavy_ball(), {.learning_rate = 0.1});
  model.compile({.optimizer = own, .loss = "mse"});
  std::vector<Tensor> before = model.get_weights();
  Tensor x = Tensor::full({4, 2}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THROW(model.train_on_batch(x, Tensor::zeros({4, 1})), NonFiniteError);
  expect_near(model.get_weights(), before, 0);
  EXPECT_EQ(own.iterations(), 0);
  EXPECT_EQ(own.slots(model.trainable_variables()[0])[0].read().at(0), 0);
}

TEST_P(OwnOptimizerRule, LeavesAStepOutThatLossScalingSkips) {
  Variable w("w", Tensor(1.0F));
  Optimizer own = LossScaleOptimizer(Optimizer(heavy_ball(), {.learning_rate = 0.5}));
  auto step = function(
      [&](Value x) { own.apply(gradients(own.scale_loss(w * x), std::vector<Variable>{w}), {w}); });
  step(Tensor(3e38F));
  EXPECT_EQ(w.read().item(), 1);
  EXPECT_EQ(own.skipped_steps(), 1);
  step(Tensor(1.0F));
  EXPECT_NEAR(w.read().item(), 0.5, 1e-6);
}

TEST_P(OwnOptimizerRule, WorksInOwnLoopsWithSlotsOfAnyShape) {
  // One accumulator per row of a matrix, and one for anything else; they begin at 0.25.
  OptimizerRule rows{
      .kind = "Rows",
      .slots = OptimizerSlots([](const Variable& parameter, const Attrs&) {
        Shape shape = parameter.shape().rank() == 2 ? Shape{parameter.shape()[0], 1} : Shape();
        return std::vector<OptimizerSlot>{{"sum", 0.25, shape}};
      }),
      .update = [](const RuleInput& at) -> RuleOutput {
        bool matrix = at.variable.shape().rank() == 2;
        Value squares = ops::square(at.gradient);
        Value sum = at.slots[0] + (matrix ? ops::sum(squares, {.axes = {1}, .keepdims = true})
                                          : ops::sum(squares));
        return {at.parameter - at.learning_rate * at.gradient / ops::sqrt(sum), {sum}};
      }};
  Optimizer own(rows, {.learning_rate = 1});
  Variable a("a", Tensor::zeros({2, 2})), b("b", Tensor(0.0F));
  auto step = function([&](Value g) {
    std::vector<Variable> both = {a, b};
    own.apply(gradients(ops::sum(g * a) + b * 3.0, both), both);
  });
  step(Tensor::from<float>({1, 2, 0, 2}, {2, 2}));
  Tensor moved = a.read();
  EXPECT_NEAR(moved.at(0), -1 / std::sqrt(5.25), 1e-6);
  EXPECT_NEAR(moved.at(1), -2 / std::sqrt(5.25), 1e-6);
  EXPECT_NEAR(moved.at(2), 0, 1e-6);
  EXPECT_NEAR(moved.at(3), -2 / std::sqrt(4.25), 1e-6);
  EXPECT_NEAR(b.read().item(), -3 / std::sqrt(9.25), 1e-6);
  EXPECT_EQ(own.slots(a)[0].shape(), Shape({2, 1}));
  EXPECT_EQ(own.slots(b)[0].name(), "Rows/b/sum");
}

TEST_P(OwnOptimizerRule, AppliedTwiceInOneFunctionIsTwoUpdates) {
  Variable together("together", Tensor::from({3.0F, -2.0F}, {2}));
  Variable apart("apart", Tensor::from({3.0F, -2.0F}, {2}));
  auto descend = [](const Optimizer& optimizer, const Variable& w) {
    optimizer.apply(gradients(ops::sum(ops::square(w)), std::vector<Variable>{w}), {w});
    return Value(w);
  };
  Optimizer once(heavy_ball(), {.learning_rate = 0.1}), twice(heavy_ball(), {.learning_rate = 0.1});
  auto both = function([&](Value) {
    descend(twice, together);
    return descend(twice, together);
  });
  auto one = function([&](Value) { return descend(once, apart); });
  Tensor read = both(Tensor(0.0F)).tensor();
  one(Tensor(0.0F));
  one(Tensor(0.0F));
  EXPECT_EQ(twice.iterations(), 2);
  expect_near(together.read(), apart.read(), 1e-6);
  expect_near(read, together.read(), 0);
}

class OwnOptimizerFiles : public testing::Test {
 protected:
  OnDevice device_;
  TempDir dir_;
  Data data_ = line(16, 4);

  Sequential model(const Optimizer& optimizer) {
    Sequential made({Input({2}), Dense(1)});
    made.compile({.optimizer = optimizer, .loss = "mse"});
    return made;
  }
};

TEST_F(OwnOptimizerFiles, AreTheirKindWithOptionsAndState) {
  Sequential first = model(Optimizer(heavy_ball(0.75), {.learning_rate = 0.05, .clipnorm = 2}));
  first.fit(data_.x, data_.y, {.epochs = 2, .verbose = 0});
  first.save(dir_ / "m.stoker");
  LoadArgs with_rule{.custom_objects = {.optimizers = {{"HeavyBall", Optimizer(heavy_ball())}}}};
  Model second = load_model(dir_ / "m.stoker", with_rule);
  EXPECT_EQ(second.optimizer().config(), first.optimizer().config());
  EXPECT_EQ(second.optimizer().config().get<double>("beta"), 0.75);
  EXPECT_EQ(second.optimizer().iterations(), first.optimizer().iterations());
  for (Model each : {Model(first), second})
    each.fit(data_.x, data_.y, {.shuffle = false, .verbose = 0});
  EXPECT_EQ(weights_sha256(second), weights_sha256(first));
}

TEST_F(OwnOptimizerFiles, NeedTheRule) {
  model(Optimizer(heavy_ball())).save(dir_ / "m.stoker");
  auto load_error = [&](const LoadArgs& args) {
    return error_of<FileError>([&] { load_model(dir_ / "m.stoker", args); });
  };
  EXPECT_TRUE(says(load_error({}), {"\"HeavyBall\"", "C++ code", ".optimizers = {{"}));
  EXPECT_TRUE(says(load_error({.custom_objects = {.optimizers = {{"HeavyBall", Optimizer()}}}}),
                   {"\"HeavyBall\"", "undefined"}));
  EXPECT_TRUE(says(load_error({.custom_objects = {.optimizers = {{"HeavyBall", "adam"}}}}),
                   {"\"HeavyBall\"", "\"Adam\""}));
  EXPECT_FALSE(load_model(dir_ / "m.stoker", {.compile = false}).compiled());
}

TEST_F(OwnOptimizerFiles, AreNotConfusedWithTheLibrarysOfThatName) {
  OptimizerRule adam = heavy_ball();
  adam.kind = "Adam";
  model(Optimizer(adam)).save(dir_ / "m.stoker");
  std::string text = error_of<FileError>([&] { load_model(dir_ / "m.stoker"); });
  EXPECT_TRUE(says(text, {"\"Adam\"", "C++ code"}));
}

TEST_F(OwnOptimizerFiles, KeepScheduleAndLossScaleBesides) {
  LearningRateSchedule mine("mine", [](const Value& step) { return 0.1 / (1.0 + step); });
  Optimizer own = LossScaleOptimizer(Optimizer(heavy_ball(), {.learning_rate = mine}));
  Sequential first = model(own);
  first.fit(data_.x, data_.y, {.epochs = 2, .verbose = 0});
  first.save(dir_ / "m.stoker");
  Model second = load_model(
      dir_ / "m.stoker",
      {.custom_objects = {.schedules = {{"mine", mine}}, .optimizers = {{"HeavyBall", own}}}});
  EXPECT_FALSE(second.optimizer() == own) << "the file has a state of its own";
  EXPECT_TRUE(second.optimizer().scales_loss());
  EXPECT_EQ(second.optimizer().learning_rate(), own.learning_rate());
}

TEST_F(OwnOptimizerFiles, GoOnFromACheckpoint) {
  auto run = [&](const std::string& folder, std::optional<int64_t> stop_after) {
    set_seed(3);
    Sequential made = model(Optimizer(heavy_ball(), {.learning_rate = 0.05}));
    made.fit(data_.x, data_.y,
             {.epochs = 3,
              .batch_size = 4,
              .verbose = 0,
              .callbacks = {BackupAndRestore(dir_ / folder, {.stop_after_steps = stop_after})}});
    return weights_sha256(made);
  };
  std::string whole = run("whole", {});
  EXPECT_THROW(run("parts", 5), Interrupted);
  EXPECT_EQ(run("parts", {}), whole);
}

TEST(OptimizerRule, IsRefusedWhereItCannotWork) {
  auto error = [](auto change) {
    OptimizerRule rule = heavy_ball();
    change(rule);
    return error_of<ValueError>([&] { Optimizer{rule}; });
  };
  EXPECT_TRUE(says(error([](OptimizerRule& rule) { rule.kind = ""; }), {"kind"}));
  EXPECT_TRUE(
      says(error([](OptimizerRule& rule) { rule.update = nullptr; }), {"HeavyBall", "update"}));
  EXPECT_TRUE(says(error([](OptimizerRule& rule) { rule.options.set("clipnorm", 1.0); }),
                   {"HeavyBall", "clipnorm", "OptimizerOptions"}));
  EXPECT_TRUE(
      says(error([](OptimizerRule& rule) { rule.momentum = "beta_1"; }), {"HeavyBall", "beta_1"}));
  EXPECT_TRUE(says(error_of<ValueError>([] { Optimizer(heavy_ball(), {.learning_rate = -1}); }),
                   {"HeavyBall", "learning_rate", "-1"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([] { Optimizer(heavy_ball(), {.clipnorm = 1, .clipvalue = 1}); }),
           {"HeavyBall", "only one of"}));
  Optimizer good(heavy_ball());
  EXPECT_TRUE(says(error_of<ValueError>([&] { good.with_config({{"gamma", 1.0}}); }), {"gamma"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { good.with_config({{"beta", true}}); }), {"beta"}));
}

// What applying a rule throws.
template <class E>
std::string apply_error(const OptimizerRule& rule) {
  OnDevice device;
  Variable p("p", Tensor::zeros({3}));
  Optimizer own(rule);
  auto step = function([&](Value g) { own.apply({g}, {p}); });
  return error_of<E>([&] { step(Tensor::zeros({3})); });
}

TEST(OptimizerRule, MustReturnWhatItWasGiven) {
  auto returns = [](RuleOutput (*update)(const RuleInput&)) {
    OptimizerRule rule = heavy_ball();
    rule.update = update;
    return rule;
  };
  EXPECT_TRUE(says(apply_error<ValueError>(
                       returns([](const RuleInput& at) { return RuleOutput{at.parameter}; })),
                   {"HeavyBall", "0 slots", "\"p\"", "expected 1"}));
  EXPECT_TRUE(says(apply_error<ValueError>(returns([](const RuleInput& at) {
                     return RuleOutput{Value(), {at.slots[0]}};
                   })),
                   {"HeavyBall", "undefined", "\"p\""}));
  EXPECT_TRUE(says(apply_error<ShapeError>(returns([](const RuleInput& at) {
                     return RuleOutput{at.parameter, {ops::sum(at.slots[0])}};
                   })),
                   {"HeavyBall", "float32[]", "float32[3]", "speed"}));
}

TEST(OptimizerRule, NamesItsSlotsApart) {
  for (const char* name : {"", "a/b", "speed", "gradient_sum"}) {
    OptimizerRule rule = heavy_ball();
    rule.slots = {{"speed"}, {name}};
    EXPECT_TRUE(says(apply_error<ValueError>(rule), {"HeavyBall", "slot", name}));
  }
}

}  // namespace
}  // namespace stoker
