// batch = auto: the rule on made-up throughputs, and what measuring may not change.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <sstream>

#include "support/temp_dir.h"
#include "train/fit/auto_batch.h"
#include "train/helpers.h"
#include "train/model/trainer.h"

namespace stoker::test {
namespace {

// Samples per second by batch; a batch that is not listed does not fit.
Throughput listed(std::map<int64_t, double> rates) {
  return [rates = std::move(rates)](int64_t batch) {
    auto found = rates.find(batch);
    return found == rates.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(AutoBatchRule, GrowsTheBatchWhileTwiceAsManySamplesGainFivePercent) {
  AutoBatch chosen = grow_batch(
      {}, listed({{8, 100}, {16, 190}, {32, 300}, {64, 315}, {128, 330}, {256, 330}, {512, 900}}));
  EXPECT_EQ(chosen.batch, 64) << "315 is 5 % more than 300, 330 is less than 5 % more than 315";
  EXPECT_EQ(chosen.why, "128 is only 5 % faster");
  EXPECT_EQ(chosen.trials.size(), 6U) << "nothing behind the second that does not pay";
}

TEST(AutoBatchRule, GoesOnBehindOneSizeWithASlowKernel) {
  AutoBatch chosen = grow_batch({}, listed({{8, 100}, {16, 70}, {32, 300}, {64, 290}}));
  EXPECT_EQ(chosen.batch, 32);
  EXPECT_EQ(chosen.why, "64 is 3 % slower");
}

TEST(AutoBatchRule, KeepsTheSmallestWhereNothingIsGained) {
  AutoBatch chosen = grow_batch({}, listed({{8, 100}, {16, 80}}));
  EXPECT_EQ(chosen.batch, 8);
  EXPECT_EQ(chosen.why, "16 is 20 % slower");
}

TEST(AutoBatchRule, StopsWhereMemoryEnds) {
  AutoBatch chosen = grow_batch({}, listed({{8, 100}, {16, 200}}));
  EXPECT_EQ(chosen.batch, 16);
  EXPECT_EQ(chosen.why, "32 does not fit into memory");
  EXPECT_EQ(grow_batch({}, listed({})).batch, 0);
}

TEST(AutoBatchRule, StopsAtTheLargestThatIsAllowed) {
  auto doubles = [](int64_t batch) { return std::optional(double(batch)); };
  AutoBatch chosen = grow_batch({.least = 8, .most = 32, .why_most = "enough"}, doubles);
  EXPECT_EQ(chosen.batch, 32);
  EXPECT_EQ(chosen.why, "enough");
}

TEST(AutoBatchRule, ANumberThatIsNoneDoesNotPay) {
  EXPECT_EQ(grow_batch({}, listed({{8, 100}, {16, std::nan("")}, {32, std::nan("")}})).batch, 8);
}

TEST(AutoBatchRule, LeavesAnEpochItsStepsButNotBelowTheUsualBatch) {
  EXPECT_EQ(batch_bounds({.samples = 60'000}).most, 2048);
  EXPECT_EQ(batch_bounds({.samples = 480}).most, 32);
  EXPECT_EQ(batch_bounds({.samples = 100}).most, 32);
  EXPECT_EQ(batch_bounds({.samples = 20}).most, 16);
  EXPECT_EQ(batch_bounds({.samples = 3}).most, 2);
  EXPECT_EQ(batch_bounds({.samples = 3}).least, 2);
  EXPECT_EQ(batch_bounds({}).most, 8192);
  EXPECT_EQ(batch_bounds({.samples = 60'000, .largest = 100}).most, 64);
  EXPECT_THROW(batch_bounds({.samples = -1}), ValueError);
}

TEST(AutoBatchRule, SaysWhatBecomesOfTheLearningRate) {
  EXPECT_TRUE(says(learning_rate_rule("SGD", 128), {"4 times", "linearly", "SGD"}));
  EXPECT_TRUE(says(learning_rate_rule("Adam", 128), {"2 times", "square root", "Adam"}));
  EXPECT_TRUE(says(learning_rate_rule("SGD", 8), {"0.25 times"}));
  EXPECT_EQ(learning_rate_rule("SGD", 32), "");
}

class AutoBatchOn : public DeviceTest {
 protected:
  static Sequential compiled_model() {
    set_seed(1);
    Sequential model({Input({8, 8, 1}), Conv2D(4, 3, {.activation = "relu"}), BatchNormalization(),
                      Dropout(0.3), Flatten(), Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = Adam({.learning_rate = 0.01}),
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"}});
    return model;
  }
  static Data pictures(int64_t count) {
    Data data = blobs(count, 64, 3, 7);
    return {data.x.reshape({count, 8, 8, 1}), data.y};
  }
  // Every bit that a step changes.
  static std::string state_of(const Model& model) {
    std::string bits;
    auto add = [&](const Tensor& tensor) {
      bits.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
    };
    for (const Tensor& weight : model.get_weights()) add(weight);
    for (const Variable& variable : model.optimizer().variables()) add(variable.read());
    const Trainer& trainer = *ModelAccess::base(model).trainer;
    add(trainer.random_state.read());
    for (const auto& [name, sum] : trainer.compiled->training->variables()) add(sum.read());
    return bits + std::to_string(trainer.compiled->training->samples());
  }
};
INSTANTIATE_ON_DEVICES(AutoBatchOn);

TEST_P(AutoBatchOn, MeasuringLeavesEveryBitAsItWas) {
  Sequential model = compiled_model();
  Data data = pictures(32);
  model.train_on_batch(data.x, data.y);
  std::string before = state_of(model);
  AutoBatch chosen = measure_batch_size(model, {.largest = 32});
  EXPECT_EQ(state_of(model), before);
  EXPECT_GE(chosen.trials.size(), 2U);
  Sequential other = compiled_model();
  other.train_on_batch(data.x, data.y);
  for (const Sequential& each : {model, other})
    each.fit(data.x, data.y, {.epochs = 2, .batch_size = 8, .verbose = 0});
  EXPECT_EQ(state_of(model), state_of(other));
}

TEST_P(AutoBatchOn, FitMeasuresOnItsOwnDataAndSaysWhatItChose) {
  std::ostringstream said;
  default_context().out = &said;
  Sequential model = compiled_model();
  Data data = pictures(100);
  History history = model.fit(data.x, data.y, {.batch_size = Auto, .verbose = 2});
  int64_t batch = model.run_plan().batch_size;
  EXPECT_GE(batch, 8);
  EXPECT_LE(batch, 32);
  EXPECT_EQ(std::popcount(uint64_t(batch)), 1);
  EXPECT_EQ(history.params().steps, (100 + batch - 1) / batch);
  EXPECT_TRUE(says(said.str(), {"measured: ", "samples/s at 8: "}));
  EXPECT_EQ(said.str().find("A learning rate") == std::string::npos, batch == 32) << said.str();
}

TEST_P(AutoBatchOn, StaysWithinMemory) {
  Sequential model = compiled_model();
  for (int64_t batch : {8, 16, 64}) {
    auto enough = int64_t(model.memory_plan(batch)->total);
    EXPECT_LE(auto_batch_size(model, {.largest = 128, .memory = enough}), batch);
  }
}

TEST(AutoBatch, OfATrainingThatGoesOnIsTheOneThatItBeganWith) {
  OnDevice device("cpu");
  TempDir folder;
  Data data = blobs(200, 2, 3, 5);
  auto train = [&](BatchSize batch, std::optional<int64_t> stop) {
    set_seed(1);
    Sequential model({Input({2}), Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
    BackupAndRestore backup(folder / "c", {.stop_after_steps = stop});
    model.fit(data.x, data.y, {.epochs = 2, .batch_size = batch, .callbacks = {backup}});
    return model.run_plan().batch_size;
  };
  // A batch that the rule would never choose.
  EXPECT_THROW(train(10, 7), Interrupted);
  EXPECT_EQ(train(Auto, {}), 10);
}

TEST(AutoBatch, IsRefusedForBatchesWithSizesOfTheirOwn) {
  OnDevice device("cpu");
  Sequential model = line_model();
  Data data = line(16, 1);
  std::string text = error_of<ValueError>([&] {
    model.fit(data::from_slices({data.x, data.y}).batch(4), {.batch_size = Auto});
  });
  EXPECT_TRUE(says(text, {"batch_size = Auto", "auto_batch_size"}));
}

TEST(AutoBatch, SaysWhenNothingFits) {
  OnDevice device("cpu");
  Sequential model = line_model();
  std::string text = error_of<OutOfMemoryError>([&] { auto_batch_size(model, {.memory = 8}); });
  EXPECT_TRUE(says(text, {"a step of 8 samples takes", "8 B may be used"}));
  EXPECT_THROW(auto_batch_size(model, {.samples = -1}), ValueError);
  EXPECT_THROW(auto_batch_size(Sequential({Input({4}), Dense(2)})), Error);
}

TEST(AutoBatch, IsNotMeasuredInTheMiddleOfAFit) {
  OnDevice device("cpu");
  Sequential model = line_model();
  Data data = line(16, 1);
  std::string text;
  LambdaCallback callback(
      {.on_train_begin = [&] { text = error_of<Error>([&] { auto_batch_size(model); }); }});
  model.fit(data.x, data.y, {.callbacks = {callback}});
  EXPECT_TRUE(says(text, {"auto_batch_size", "being trained"}));
}

}  // namespace
}  // namespace stoker::test
