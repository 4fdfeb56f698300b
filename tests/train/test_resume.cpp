// BackupAndRestore: a fit that is stopped and gone on with ends as one that was never stopped.
#include "train/resuming.h"

namespace stoker {
namespace {

using namespace test;

TEST_F(Resume, ADatasetGoesOnAtAnyStep) {
  for (int64_t steps : {1, 3, 7, 8})
    expect_stops_change_nothing(
        [&](const Model& model, FitArgs args) { return model.fit(dataset(data_), args); }, steps,
        {.epochs = 3, .validation_data = {data_.x, data_.y}});
}

TEST_F(Resume, ADatasetGoesOnWithEpochsOfSomeSteps) {
  for (int64_t steps : {2, 5})
    expect_stops_change_nothing(
        [&](const Model& model, FitArgs args) { return model.fit(dataset(data_).repeat(), args); },
        steps, {.epochs = 3, .steps_per_epoch = 5});
}

TEST_F(Resume, ArraysGoOnAtAnyStep) {
  FitCall fit = [&](const Model& model, FitArgs args) { return model.fit(data_.x, data_.y, args); };
  for (int64_t steps : {1, 4, 7})
    expect_stops_change_nothing(fit, steps,
                                {.epochs = 3, .batch_size = 8, .validation_split = 0.2});
  expect_stops_change_nothing(fit, 3, {.epochs = 4, .batch_size = 8, .steps_per_epoch = 5});
  expect_stops_change_nothing(fit, 3, {.epochs = 2, .batch_size = 8, .shuffle = false});
}

class ResumeOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; !is_usable("cuda", &why)) GTEST_SKIP() << why;
  }
  test::OnDevice device_{"cuda"};
  test::Data data_ = test::blobs(50, 4, 3, 7);
};

TEST_F(ResumeOnGpu, ADatasetGoesOnAtAnyStep) {
  for (int64_t steps : {1, 3, 7, 8})
    expect_stops_change_nothing(
        [&](const Model& model, FitArgs args) {
          return model.fit(dataset(data_).prefetch(AUTOTUNE), args);
        },
        steps, {.epochs = 3, .validation_data = {data_.x, data_.y}});
}

TEST_F(ResumeOnGpu, ArraysGoOnAtAnyStepInEveryPrecision) {
  FitCall fit = [&](const Model& model, FitArgs args) { return model.fit(data_.x, data_.y, args); };
  for (const char* policy : {"float32", "mixed_bfloat16", "mixed_float16"}) {
    set_global_policy(policy);
    for (int64_t steps : {1, 4, 7})
      expect_stops_change_nothing(fit, steps,
                                  {.epochs = 3, .batch_size = 8, .validation_split = 0.2});
  }
  set_global_policy("float32");
}

TEST_F(Resume, ARangeIsWalkedOverToWhereItWas) {
  std::vector<Batch> list;
  for (int64_t row = 0; row < 50; row += 10)
    list.push_back(Batch{data_.x.slice(row, row + 10), data_.y.slice(row, row + 10)});
  FitCall fit = [&](const Model& model, FitArgs args) { return model.fit(list, args); };
  expect_stops_change_nothing(fit, 3, {.epochs = 3});
  expect_stops_change_nothing(fit, 3, {.epochs = 3, .steps_per_epoch = 4});
}

TEST_F(Resume, AGeneratorIsCalledUntilItIsWhereItWas) {
  FitCall fit = [&](const Model& model, FitArgs args) {
    int64_t row = 0;
    return model.fit(
        [&, row]() mutable -> std::optional<Batch> {
          int64_t begin = row++ % 5 * 10;
          return Batch{data_.x.slice(begin, begin + 10), data_.y.slice(begin, begin + 10)};
        },
        args);
  };
  expect_stops_change_nothing(fit, 3, {.epochs = 3, .steps_per_epoch = 4});
}

TEST_F(Resume, AModelThatLearnsItsInputFromTheDataGoesOn) {
  auto run = [&](const std::string& directory, std::optional<int64_t> stop) {
    set_seed(3);
    Sequential model({Dense(8, {.activation = "relu"}), Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
    model.fit(
        dataset(data_),
        {.epochs = 2, .callbacks = {BackupAndRestore(directory, {.stop_after_steps = stop})}});
    return weights_sha256(model);
  };
  TempDir whole, parts;
  std::string expected = run(whole / "c", {});
  EXPECT_THROW(run(parts / "c", 9), Interrupted);
  EXPECT_EQ(run(parts / "c", {}), expected);
}

TEST_F(Resume, CallbacksTakeTheTurnsTheyWouldHaveTaken) {
  // Lowers the rate after every fifth step, wherever the epochs begin.
  struct Lowering : Callback {
    int64_t steps = 0;
    void on_train_begin() override { steps = 0; }
    void on_train_batch_end(int64_t, const Logs&) override {
      if (++steps % 5 == 0)
        model().optimizer().set_learning_rate(model().optimizer().learning_rate() / 2);
    }
    CallbackState state() const override { return {.values = {{"steps", steps}}}; }
    void restore(const CallbackState& state) override {
      steps = state.values.get<int64_t>("steps");
    }
  };
  FitCall fit = [&](const Model& model, FitArgs args) {
    args.callbacks.emplace_back(Lowering());
    // A rule that must not be applied twice to the epoch that goes on.
    args.callbacks.emplace_back(LambdaCallback({.on_epoch_begin = [&](int64_t) {
      model.optimizer().set_learning_rate(model.optimizer().learning_rate() * 0.9);
    }}));
    return model.fit(data_.x, data_.y, args);
  };
  expect_stops_change_nothing(fit, 3, {.epochs = 3, .batch_size = 8});
}

TEST_F(Resume, SchedulesAndKerasCallbacksGoOn) {
  auto run = [&](const std::string& directory, std::optional<int64_t> stop) {
    set_seed(3);
    Sequential model({Input({4}), Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = Adam({.learning_rate = CosineDecay(
                                          {.initial_learning_rate = 0.1, .decay_steps = 20})}),
                   .loss = "sparse_categorical_crossentropy"});
    History history = model.fit(
        data_.x, data_.y,
        {.epochs = 5,
         .batch_size = 8,
         .validation_data = {data_.x, data_.y},
         .callbacks = {
             EarlyStopping({.min_delta = 0.05, .patience = 1, .restore_best_weights = true}),
             BackupAndRestore(directory, {.stop_after_steps = stop})}});
    return std::tuple(weights_sha256(model), history.epochs(), history["val_loss"]);
  };
  TempDir whole, parts;
  auto expected = run(whole / "c", {});
  int stops = 0;
  while (true) {
    try {
      EXPECT_EQ(run(parts / "c", 6), expected);
      break;
    } catch (const Interrupted&) {
      ++stops;
    }
  }
  EXPECT_GT(stops, 1);
}

TEST_F(Resume, AccumulatedGradientsGoOn) {
  auto run = [&](const std::string& directory, std::optional<int64_t> stop) {
    set_seed(3);
    Sequential model({Input({4}), Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = SGD({.momentum = 0.9, .gradient_accumulation_steps = 3}),
                   .loss = "sparse_categorical_crossentropy"});
    model.fit(data_.x, data_.y,
              {.epochs = 2,
               .batch_size = 8,
               .callbacks = {BackupAndRestore(directory, {.stop_after_steps = stop})}});
    return weights_sha256(model);
  };
  TempDir whole, parts;
  std::string expected = run(whole / "c", {});
  EXPECT_THROW(run(parts / "c", 4), Interrupted);
  EXPECT_THROW(run(parts / "c", 4), Interrupted);
  EXPECT_EQ(run(parts / "c", {}), expected);
}

TEST_F(Resume, ATrainingThatIsOverReturnsItsResultAtOnce) {
  TempDir dir;
  FitCall fit = on_arrays(data_, {.epochs = 2});
  Outcome first = train(BackupAndRestore(dir / "c"), fit);
  Outcome second = train(BackupAndRestore(dir / "c"), fit);
  expect_same(second, first);
  EXPECT_EQ(second.costs.saved, 0);
}

TEST_F(Resume, MoreEpochsGoOnBehindTheLast) {
  TempDir dir, whole;
  Outcome expected = train(BackupAndRestore(whole / "c"), on_arrays(data_, {.epochs = 4}));
  train(BackupAndRestore(dir / "c"), on_arrays(data_, {.epochs = 2}));
  expect_same(train(BackupAndRestore(dir / "c"), on_arrays(data_, {.epochs = 4})), expected);
}

TEST_F(Resume, AnEarlyEndStaysAnEnd) {
  TempDir dir;
  int epochs = 0;
  FitCall fit = [&](const Model& model, FitArgs args) {
    args.epochs = 5;
    args.callbacks.emplace_back(LambdaCallback({.on_epoch_end = [&](int64_t epoch, const Logs&) {
      ++epochs;
      if (epoch == 1) model.stop_training();
    }}));
    return model.fit(data_.x, data_.y, args);
  };
  Outcome first = train(BackupAndRestore(dir / "c"), fit);
  expect_same(train(BackupAndRestore(dir / "c"), fit), first);
  EXPECT_EQ(epochs, 2);
}

}  // namespace
}  // namespace stoker
