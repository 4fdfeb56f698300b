#include <cmath>
#include <filesystem>

#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::OnDevice;
using test::says;

LearningRateSchedule halves() {
  return ExponentialDecay(
      {.initial_learning_rate = 0.5, .decay_steps = 1, .decay_rate = 0.5, .staircase = true});
}

using ScheduledSteps = test::DeviceTest;

TEST_P(ScheduledSteps, TakeTheRateOfTheirIterationWithoutANewProgram) {
  Variable p("p", Tensor(0.0F));
  SGD optimizer({.learning_rate = halves()});
  auto step =
      function([&](Value g) { optimizer.apply(gradients(p * g, std::vector<Variable>{p}), {p}); });
  EXPECT_EQ(optimizer.learning_rate(), 0.5);
  for (double after : {-0.5, -0.75, -0.875}) {
    step(Tensor(1.0F));
    EXPECT_NEAR(p.read().item(), after, 1e-6);
  }
  EXPECT_EQ(step.traces(), 1U);
  EXPECT_NEAR(optimizer.learning_rate(), 0.0625, 1e-7);  // of the next step
  optimizer.set_iterations(0);
  EXPECT_EQ(optimizer.learning_rate(), 0.5);
}

TEST_P(ScheduledSteps, CountUpdatesNotBatches) {
  Variable p("p", Tensor(0.0F));
  SGD optimizer({.learning_rate = halves(), .gradient_accumulation_steps = 2});
  auto step =
      function([&](Value g) { optimizer.apply(gradients(p * g, std::vector<Variable>{p}), {p}); });
  for (int i = 0; i < 4; ++i) step(Tensor(1.0F));
  EXPECT_NEAR(p.read().item(), -0.75, 1e-6);
}

TEST_P(ScheduledSteps, GoOnFromAFile) {
  test::TempDir dir;
  test::Data data = test::line(32, 1);
  auto schedule =
      WarmUp({.schedule = CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 20}),
              .warmup_steps = 5});
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = Adam({.learning_rate = schedule}), .loss = "mse"});
  model.fit(data.x, data.y, {.epochs = 1, .batch_size = 4});
  model.save(dir / "m.stoker");
  Model loaded = load_model(dir / "m.stoker");
  EXPECT_EQ(loaded.optimizer().config(), model.optimizer().config());
  EXPECT_EQ(loaded.optimizer().learning_rate(), model.optimizer().learning_rate());
  for (const Model& each : {Model(model), loaded})
    each.fit(data.x, data.y, {.epochs = 2, .batch_size = 4, .initial_epoch = 1});
  EXPECT_EQ(loaded.get_weights(), model.get_weights());
}

TEST_P(ScheduledSteps, HaveTheRatesOfTheHost) {
  std::vector<LearningRateSchedule> schedules = {
      ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 7, .decay_rate = 0.6}),
      halves(),
      PolynomialDecay({.initial_learning_rate = 0.1, .decay_steps = 15, .power = 1.7}),
      PolynomialDecay({.initial_learning_rate = 0.1, .decay_steps = 15, .cycle = true}),
      PiecewiseConstantDecay({.boundaries = {3, 11}, .values = {0.3, 0.2, 0.05}}),
      InverseTimeDecay({.initial_learning_rate = 0.1, .decay_steps = 4, .decay_rate = 0.5}),
      CosineDecay({.initial_learning_rate = 0.01,
                   .decay_steps = 20,
                   .alpha = 0.1,
                   .warmup_target = 0.2,
                   .warmup_steps = 6}),
      CosineDecayRestarts({.initial_learning_rate = 0.1, .first_decay_steps = 6, .m_mul = 0.8}),
      CyclicalLearningRate({.initial_learning_rate = 0.01,
                            .maximal_learning_rate = 0.1,
                            .step_size = 5,
                            .mode = "exp_range",
                            .gamma = 0.97}),
      OneCycle({.max_learning_rate = 0.2, .total_steps = 30}),
      WarmUp({.schedule = halves(), .warmup_steps = 8})};
  for (const LearningRateSchedule& schedule : schedules) {
    auto rate = function([&](Value step) { return schedule(step); });
    for (int step = 0; step < 40; ++step)
      EXPECT_NEAR(rate(Tensor(float(step))).item(), schedule.at(step), 1e-6)
          << schedule.kind() << " at " << step;
    EXPECT_EQ(rate.traces(), 1U);
  }
}

TEST_P(ScheduledSteps, OfAFitReachTheSameRate) {
  test::Data data = test::line(40, 1);
  auto schedule = CosineDecayRestarts({.initial_learning_rate = 0.1, .first_decay_steps = 4});
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = SGD({.learning_rate = schedule}), .loss = "mse"});
  model.fit(data.x, data.y, {.epochs = 3, .batch_size = 8});
  EXPECT_EQ(model.optimizer().iterations(), 15);
  EXPECT_EQ(model.optimizer().learning_rate(), schedule.at(15));
}

// Parameters whose gradient is 1, moved by hand beside the step.
TEST_P(ScheduledSteps, CycleTheMomentumOfThoseThatHaveOne) {
  constexpr int64_t kSteps = 12;
  auto cycle = OneCycle({.max_learning_rate = 0.25, .total_steps = 10});
  auto fixed = OneCycle({.max_learning_rate = 0.25, .total_steps = 10, .cycle_momentum = false});
  auto moved = [](const Optimizer& optimizer) {
    Variable w("w", Tensor(0.0F));
    auto step = function([&](Value x) {
      Value loss = Value(w) * x;
      optimizer.apply(gradients(loss, std::vector{w}), {w});
      return loss;
    });
    std::vector<double> seen;
    for (int64_t i = 0; i < kSteps; ++i) {
      step(Tensor(1.0F));
      seen.push_back(w.read().item());
    }
    return seen;
  };
  std::vector<double> sgd = moved(SGD({.learning_rate = cycle, .momentum = 0.9})),
                      kept = moved(SGD({.learning_rate = fixed, .momentum = 0.9})),
                      plain = moved(SGD({.learning_rate = cycle})),
                      adam = moved(Adam({.learning_rate = cycle}));
  double p = 0, m = 0, kept_p = 0, kept_m = 0, plain_p = 0, adam_p = 0, adam_m = 0, v = 0;
  for (int64_t i = 0; i < kSteps; ++i) {
    double rate = cycle.at(i), momentum = cycle.momentum_at(i), t = double(i + 1);
    p += m = momentum * m - rate;
    kept_p += kept_m = 0.9 * kept_m - rate;
    plain_p -= rate;
    adam_m += (1 - adam_m) * (1 - momentum);
    v += (1 - v) * 0.001;
    double corrected = rate * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(momentum, t));
    adam_p -= corrected * adam_m / (std::sqrt(v) + 1e-7);
    EXPECT_NEAR(sgd[size_t(i)], p, 1e-5) << i;
    EXPECT_NEAR(kept[size_t(i)], kept_p, 1e-5) << i;
    EXPECT_NEAR(plain[size_t(i)], plain_p, 1e-5) << i;
    EXPECT_NEAR(adam[size_t(i)], adam_p, 1e-5) << i;
  }
  EXPECT_NEAR(cycle.momentum_at(0), 0.95, 1e-6);
  EXPECT_NEAR(cycle.momentum_at(2), 0.85, 1e-6);
  EXPECT_FALSE(fixed.cycles_momentum());
  auto warm = WarmUp({.schedule = cycle, .warmup_steps = 3});
  EXPECT_EQ(warm.momentum_at(5), cycle.momentum_at(2));
}

INSTANTIATE_ON_DEVICES(ScheduledSteps);

TEST(Schedule, WarmsUpInFrontOfAnother) {
  auto warm = WarmUp({.schedule = halves(), .warmup_steps = 4, .initial_learning_rate = 0.1});
  EXPECT_NEAR(warm.at(0), 0.1, 1e-7);
  EXPECT_NEAR(warm.at(2), 0.3, 1e-7);
  EXPECT_NEAR(warm.at(4), 0.5, 1e-7);
  EXPECT_NEAR(warm.at(6), 0.125, 1e-7);
  auto to_a_number = WarmUp({.schedule = 0.5, .warmup_steps = 2});
  EXPECT_EQ(to_a_number.at(1), 0.25);
  EXPECT_EQ(to_a_number.at(1000), 0.5);
}

TEST(Schedule, RestartsAtTheVeryStep) {
  auto rate = CosineDecayRestarts({.initial_learning_rate = 1, .first_decay_steps = 1000});
  for (int64_t begin : {0, 1000, 3000, 7000, 15000, 31000, 63000}) EXPECT_EQ(rate.at(begin), 1.0);
}

TEST(Schedule, IsMadeAgainFromItsConfiguration) {
  auto warm =
      WarmUp({.schedule = WarmUp({.schedule = halves(), .warmup_steps = 3}), .warmup_steps = 4});
  LearningRateSchedule same = LearningRateSchedule::from_config(warm.kind(), warm.config());
  EXPECT_EQ(same.config(), warm.config());
  EXPECT_EQ(same.at(9), warm.at(9));
  SGD first({.learning_rate = warm, .momentum = 0.5});
  Optimizer second = Optimizer::from_config("SGD", first.config());
  EXPECT_EQ(second.config(), first.config());
  EXPECT_EQ(second.learning_rate(), first.learning_rate());
}

TEST(Schedule, MayBeAFunctionWhichIsSavedByItsName) {
  OnDevice device;
  test::TempDir dir;
  LearningRateSchedule mine("mine", [](const Value& step) { return 0.5 / (step + 1.0); });
  EXPECT_EQ(mine.at(3), 0.125);
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = SGD({.learning_rate = mine}), .loss = "mse"});
  model.save(dir / "m.stoker");
  EXPECT_TRUE(says(error_of<FileError>([&] { load_model(dir / "m.stoker"); }),
                   {"\"mine\"", "C++ code", ".schedules"}));
  LearningRateSchedule wide("wide", [](const Value&) { return Tensor::zeros({2}); });
  EXPECT_TRUE(says(error_of<ShapeError>([&] { wide.at(0); }), {"wide", "scalar"}));
}

TEST(Schedule, CannotBeOverruledByHand) {
  OnDevice device;
  Adam optimizer({.learning_rate = halves()});
  EXPECT_TRUE(says(error_of<Error>([&] { optimizer.set_learning_rate(0.1); }),
                   {"ExponentialDecay", "0.1"}));
  test::Data data = test::line(4, 1);
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  LearningRateScheduler scheduler([](int64_t) { return 0.1; });
  EXPECT_THROW(model.fit(data.x, data.y, {.callbacks = {scheduler}}), Error);
}

TEST(Schedule, RefusesWhatItCannotDo) {
  EXPECT_TRUE(says(error_of<ValueError>([] { CosineDecay({.initial_learning_rate = 0.1}); }),
                   {"CosineDecay", "decay_steps must be at least 1, got 0"}));
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     PiecewiseConstantDecay({.boundaries = {1, 2}, .values = {0.1, 0.2}});
                   }),
                   {"2 values for 2 boundaries"}));
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     PiecewiseConstantDecay({.boundaries = {2, 2}, .values = {1, 2, 3}});
                   }),
                   {"ascend"}));
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     CyclicalLearningRate({.maximal_learning_rate = 1, .mode = "square"});
                   }),
                   {"square", "triangular2"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([] { OneCycle({.max_learning_rate = 1, .total_steps = 0}); }),
           {"total_steps"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([] { LearningRateSchedule::from_config("CosineDecoy", {}); }),
           {"CosineDecoy", "CosineDecay", "WarmUp"}));
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     LearningRateSchedule::from_config("CosineDecay", {{"gamma", 1.0}});
                   }),
                   {"unknown option \"gamma\""}));
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     Optimizer::from_config("SGD", {{"learning_rate", std::string("none")}});
                   }),
                   {"none"}));
}

}  // namespace
}  // namespace stoker
