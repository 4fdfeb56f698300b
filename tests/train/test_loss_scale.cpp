// Dynamic loss scaling: what it does to a step, to a run and to files. Gradients are made to
// overflow on purpose, also in float32, which every device has.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker::test {

namespace {

class LossScale : public DeviceTest {};
INSTANTIATE_ON_DEVICES(LossScale);

// The gradient of (1 - w·x)² at w = 0 is -2x. The norm of 8192 times that is finite, and of 16384
// times that infinite: 3e34 · 16384 is beyond float32. The CPU engine squares in float32.
double steep_input() { return default_context().device == "cpu" ? 7.7e14 : 1.5e34; }

struct Steep {
  Sequential model{{Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})}};
  Optimizer optimizer;
  double learning_rate = 1e-3 / steep_input();
  Tensor x = Tensor::full({4, 1}, steep_input()), y = Tensor::full({4, 1}, 1);

  explicit Steep(const LossScaleOptions& options = {})
      : optimizer(LossScaleOptimizer(
            SGD({.learning_rate = 1e-3 / steep_input(), .global_clipnorm = 1.0}), options)) {
    model.compile({.optimizer = optimizer, .loss = "mse"});
  }
  void step() const { model.train_on_batch(x, y); }
  float weight() const { return model.get_weights()[0].data<float>()[0]; }
};

TEST_P(LossScale, IsOffByDefault) {
  Optimizer adam("adam");
  EXPECT_FALSE(adam.scales_loss());
  EXPECT_EQ(adam.loss_scale(), 1);
  EXPECT_EQ(adam.skipped_steps(), 0);
}

TEST_P(LossScale, SkipsAStepWhoseGradientsOverflowAndHalves) {
  Steep steep;
  EXPECT_EQ(steep.optimizer.loss_scale(), 32768);
  for (int skipped = 1; skipped <= 2; ++skipped) {
    steep.step();
    EXPECT_EQ(steep.weight(), 0);
    EXPECT_EQ(steep.optimizer.iterations(), 0) << "a skipped step does not count";
    EXPECT_EQ(steep.optimizer.skipped_steps(), skipped);
  }
  EXPECT_EQ(steep.optimizer.loss_scale(), 8192);
  steep.step();
  EXPECT_NEAR(steep.weight() / steep.learning_rate, 1, 1e-5) << "unscaled, then clipped to norm 1";
  EXPECT_EQ(steep.optimizer.iterations(), 1);
  EXPECT_EQ(steep.optimizer.skipped_steps(), 2);
}

TEST_P(LossScale, DoublesAfterEnoughGoodSteps) {
  Steep steep({.initial_scale = 1024, .dynamic_growth_steps = 3});
  std::vector<double> scales;
  for (int i = 0; i < 7; ++i) {
    steep.step();
    scales.push_back(steep.optimizer.loss_scale());
  }
  EXPECT_EQ(scales, (std::vector<double>{1024, 1024, 2048, 2048, 2048, 4096, 4096}));
}

TEST_P(LossScale, BelowOneIsAnErrorThatNamesTheOp) {
  Steep steep({.initial_scale = 1});
  steep.x = Tensor::full({4, 1}, 3e38);
  steep.y = Tensor::full({4, 1}, 10);
  std::string text = error_of<NonFiniteError>([&] { steep.step(); });
  EXPECT_TRUE(says(text, {"not finite", "matmul", "dense", "loss scale 1"})) << text;
  EXPECT_EQ(steep.weight(), 0);
  EXPECT_EQ(steep.optimizer.skipped_steps(), 0);
  steep.x = Tensor::full({4, 1}, 1);
  steep.step();
  EXPECT_EQ(steep.optimizer.iterations(), 1) << "training goes on";
}

TEST_P(LossScale, ALossThatIsNotFiniteIsAnErrorAtOnce) {
  Steep steep;
  steep.y = Tensor::full({4, 1}, std::numeric_limits<double>::infinity());
  error_of<NonFiniteError>([&] { steep.step(); });
  EXPECT_EQ(steep.optimizer.loss_scale(), 32768) << "no scale would have helped";
}

TEST_P(LossScale, TrainsAsWithoutIt) {
  std::vector<std::vector<Tensor>> weights;
  for (bool scales : {false, true}) {
    set_seed(5);
    Sequential model({Dense(8, {.activation = "relu"}), BatchNormalization(), Dense(1)});
    Optimizer optimizer = Adam({.learning_rate = 0.01, .clipnorm = 0.5});
    if (scales) optimizer = LossScaleOptimizer(optimizer);
    model.compile({.optimizer = optimizer, .loss = "mse"});
    Data data = line(64, 3);
    model.fit(data.x, data.y, {.epochs = 3, .batch_size = 16, .verbose = 0});
    weights.push_back(model.get_weights());
    EXPECT_EQ(optimizer.iterations(), 12);
  }
  expect_near(weights[1], weights[0], 1e-5);
}

TEST_P(LossScale, ASkippedStepLeavesMovingStatisticsAndCountsMetrics) {
  Sequential model(
      {Input({1}), BatchNormalization({.center = false, .scale = false, .name = "norm"}),
       Lambda([](const Value& x) { return x * 1e34; }), Dense(1, {.use_bias = false})});
  model.get_layer("dense").set_weights({Tensor::full({1, 1}, 1e-34)});
  Optimizer sgd = LossScaleOptimizer(SGD({.learning_rate = 1e-37, .global_clipnorm = 1.0}));
  model.compile({.optimizer = sgd, .loss = "mse"});
  Tensor x = Tensor::from<float>({1, 2, 3, 8}, {4, 1});
  Logs logs = model.train_on_batch(x, Tensor::full({4, 1}, 50));
  ASSERT_EQ(sgd.skipped_steps(), 1);
  EXPECT_EQ(model.get_layer("norm").get_weights()[0].item(), 0);
  EXPECT_EQ(model.get_layer("norm").get_weights()[1].item(), 1);
  EXPECT_NEAR(logs["loss"], 2501, 1);
}

TEST_P(LossScale, ABadBatchSpoilsItsAccumulatedUpdateAndNoOther) {
  Sequential model({Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})});
  Optimizer sgd =
      LossScaleOptimizer(SGD({.learning_rate = 0.25, .gradient_accumulation_steps = 2}));
  model.compile({.optimizer = sgd, .loss = "mse"});
  Tensor one = Tensor::full({1, 1}, 1), large = Tensor::full({1, 1}, 1e35);
  auto weight = [&] { return model.get_weights()[0].item(); };
  model.train_on_batch(large, one);  // its gradient, 32768 times as large, is infinite
  model.train_on_batch(one, one);
  EXPECT_EQ(weight(), 0);
  EXPECT_EQ(sgd.skipped_steps(), 1);
  EXPECT_EQ(sgd.iterations(), 0);
  model.train_on_batch(one, one);
  model.train_on_batch(one, one);
  EXPECT_EQ(weight(), 0.5) << "the mean of two gradients of -2";
  EXPECT_EQ(sgd.iterations(), 1);
  EXPECT_EQ(sgd.loss_scale(), 16384);
}

TEST_P(LossScale, IsTurnedOnByThePolicyAndReportedInTheHistory) {
  Context context{.device = GetParam(), .policy = "mixed_float16", .out = nullptr};
  Sequential model({Dense(4, {.activation = "relu"}), Dense(1, {.dtype = "float32"})});
  model.compile({.optimizer = "adam", .loss = "mse", .context = &context});
  Data data = line(32, 3);
  History history = model.fit(data.x, data.y, {.epochs = 2, .batch_size = 8, .verbose = 0});
  EXPECT_TRUE(model.optimizer().scales_loss());
  ASSERT_EQ(history["loss_scale"].size(), 2);
  EXPECT_EQ(history["loss_scale"].back(), model.optimizer().loss_scale());
  EXPECT_EQ(history["skipped_steps"].back(), double(model.optimizer().skipped_steps()));
  EXPECT_EQ(model.optimizer().iterations() + model.optimizer().skipped_steps(), 8);
}

TEST_P(LossScale, AFloat16RunThatOverflowsSkipsRecoversAndLearns) {
  if (GetParam() == "cpu") GTEST_SKIP() << "this engine has no float16";
  Context context{.device = GetParam(), .policy = "mixed_float16", .out = nullptr};
  Sequential model({Input({2}), Dense(1)});
  Optimizer optimizer = SGD({.learning_rate = 1e-3});
  model.compile({.optimizer = optimizer, .loss = "mse", .context = &context});
  Data data = line(64, 3);
  float* values = data.x.data_mut<float>();
  for (int64_t i = 0; i < data.x.elements(); ++i) values[i] *= 30;  // 32768 · 60 is beyond float16
  History history = model.fit(data.x, data.y, {.epochs = 6, .batch_size = 16, .verbose = 0});
  EXPECT_GE(optimizer.skipped_steps(), 3);
  EXPECT_EQ(optimizer.iterations() + optimizer.skipped_steps(), 24);
  EXPECT_LT(optimizer.loss_scale(), 32768);
  EXPECT_LT(history["loss"].back(), 0.5 * history["loss"].front());
  EXPECT_EQ(history["skipped_steps"].back(), double(optimizer.skipped_steps()));
}

// What a fit says whose gradients overflow above `largest_good_scale`.
struct Said {
  std::string text;
  size_t warnings = 0;
};

Said said_by(double largest_good_scale, double initial_scale, int64_t steps, int64_t epochs) {
  std::ostringstream out;
  Context context{.device = default_context().device, .out = &out};
  // As steep_input(), for which 8192 is the largest.
  double input = steep_input() * 8192 / largest_good_scale;
  Sequential model({Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})});
  Optimizer optimizer =
      LossScaleOptimizer(SGD({.learning_rate = 1e-3 / input, .global_clipnorm = 1.0}),
                         {.initial_scale = initial_scale});
  model.compile({.optimizer = optimizer, .loss = "mse", .context = &context});
  model.fit(Tensor::full({steps, 1}, input), Tensor::full({steps, 1}, 1),
            {.epochs = epochs, .batch_size = 1, .verbose = 0});
  Said said{out.str()};
  for (size_t at = 0; (at = said.text.find("warning:", at)) != std::string::npos; ++at)
    ++said.warnings;
  return said;
}

TEST_P(LossScale, WarnsOnceOfManySkippedStepsInARow) {
  Said said = said_by(2, 32768, 12, 1);
  EXPECT_EQ(said.warnings, 1) << said.text;
  EXPECT_TRUE(says(said.text, {"the last 12 steps were skipped (loss scale 8)",
                               "12 steps skipped so far", "mixed_bfloat16"}))
      << said.text;
}

TEST_P(LossScale, WarnsOnceAFitThatItStandsAtItsFloor) {
  Said said = said_by(1, 2, 4, 3);
  EXPECT_EQ(said.warnings, 1) << said.text;
  EXPECT_TRUE(says(said.text, {"fallen to its floor of 1; 1 steps skipped so far"})) << said.text;
}

TEST_P(LossScale, SaysNothingOfTheFirstStepsThatFindIt) {
  EXPECT_EQ(said_by(8192, 32768, 12, 2).text, "");
}

TEST_P(LossScale, IsSavedWithTheModel) {
  TempDir folder;
  std::string path = folder / "model.safetensors";
  Steep steep;
  steep.step();
  steep.model.save(path);
  Model loaded = load_model(path);
  EXPECT_EQ(loaded.optimizer().loss_scale(), 16384);
  EXPECT_EQ(loaded.optimizer().skipped_steps(), 1);
  EXPECT_EQ(loaded.optimizer().config().get<int64_t>("dynamic_growth_steps"), 2000);
}

TEST_P(LossScale, AModelOfFloat32IsLoadedUnderFloat16) {
  TempDir folder;
  std::string path = folder / "model.safetensors";
  Sequential model({Input({2}), Dense(1, {.dtype = "float32"})});
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.save(path);
  Context context{.device = GetParam(), .policy = "mixed_float16", .out = nullptr};
  Model loaded = load_model(path, {.context = &context});
  EXPECT_EQ(loaded.optimizer().loss_scale(), 32768);
  EXPECT_EQ(loaded.layers().back().dtype_policy(), "float32");
  Data data = line(16, 3);
  loaded.fit(data.x, data.y, {.batch_size = 8, .verbose = 0});
  EXPECT_EQ(loaded.optimizer().iterations(), 2);
}

TEST_P(LossScale, WorksInAnOwnLoop) {
  Variable w("w", Tensor(0.0F));
  Optimizer sgd = LossScaleOptimizer(SGD({.learning_rate = 0.25}), {.initial_scale = 2});
  auto step = function([&](const Value& x) {
    Value loss = ops::square(Value(1.0) - Value(w) * x);
    sgd.apply(gradients(sgd.scale_loss(loss), std::vector{w}), {w});
    return loss;
  });
  step(Tensor(1e38F));  // the gradient, -2e38, twice
  EXPECT_EQ(w.read().item(), 0);
  EXPECT_EQ(sgd.skipped_steps(), 1);
  step(Tensor(1.0F));
  EXPECT_EQ(w.read().item(), 0.5);
}

TEST(LossScaleOptions, AreChecked) {
  error_of<ValueError>([] { LossScaleOptimizer("adam", {.initial_scale = 0.5}); });
  error_of<ValueError>([] { LossScaleOptimizer("adam", {.initial_scale = 1e9}); });
  error_of<ValueError>([] { LossScaleOptimizer("adam", {.dynamic_growth_steps = 0}); });
  error_of<ValueError>([] { LossScaleOptimizer{Optimizer()}; });
}

}  // namespace

}  // namespace stoker::test
