// BackupAndRestore: a fit that is stopped and gone on with ends as one that was never stopped.
#include <gtest/gtest.h>
#include <stoker/stoker.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>

#include "support/faulty_files.h"
#include "support/temp_dir.h"
#include "train/checkpoint_files.h"
#include "train/helpers.h"
#include "train/weights_hash.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;
using test::TempDir;

// What came out of a training.
struct Outcome {
  std::string weights;
  History history;
  std::string resumed_from;
  std::vector<std::string> notes;
  BackupCosts costs;
};

Sequential three_class_model(double rate = 0.02) {
  Sequential model({Input({4}), Dense(8, {.activation = "relu"}), Dropout(0.2),
                    Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = Adam({.learning_rate = rate}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

// One process in miniature: the same seed, a new model, a fit. Nothing is left over from the last.
using FitCall = std::function<History(const Model&, FitArgs)>;
Outcome train(BackupAndRestore backup, const FitCall& fit, FitArgs args = {}) {
  set_seed(3);
  Sequential model = three_class_model();
  args.verbose = 0;
  args.callbacks.emplace_back(backup);
  Outcome outcome;
  outcome.history = fit(model, args);
  outcome.weights = weights_sha256(model);
  outcome.resumed_from = backup.resumed_from();
  outcome.notes = backup.notes();
  outcome.costs = backup.costs();
  return outcome;
}

void expect_same(const Outcome& got, const Outcome& expected) {
  EXPECT_EQ(got.weights, expected.weights);
  EXPECT_EQ(got.history.epochs(), expected.history.epochs());
  ASSERT_EQ(got.history.names(), expected.history.names());
  for (const std::string& name : got.history.names())
    EXPECT_EQ(got.history[name], expected.history[name]) << name;
}

// Stops after `steps` again and again, until the training ends by itself.
void expect_stops_change_nothing(const FitCall& fit, int64_t steps, const FitArgs& args = {}) {
  TempDir whole, parts;
  Outcome expected = train(BackupAndRestore(whole / "c"), fit, args);
  int stops = 0;
  while (true) {
    BackupOptions options{.stop_after_steps = steps};
    if (stops % 2 == 1) options.save_freq = 2;
    try {
      Outcome got = train(BackupAndRestore(parts / "c", options), fit, args);
      EXPECT_GT(stops, 0);
      EXPECT_NE(got.resumed_from, "");
      expect_same(got, expected);
      return;
    } catch (const Interrupted& error) {
      ++stops;
      ASSERT_TRUE(says(error.what(), {"run the same program again", "ckpt-"}));
      EXPECT_EQ(error.signal(), 0);
    }
  }
}

class Resume : public testing::Test {
 protected:
  test::OnDevice device_{"cpu"};
  test::Data data_ = test::blobs(50, 4, 3, 7);
};

data::Dataset dataset(const test::Data& data) {
  return data::from_slices({data.x, data.y})
      .shuffle()
      .map([](const Tensor& x, int32_t y, Rng& rng) {
        Tensor out = x.clone();
        for (int64_t i = 0; i < 4; ++i) out.data_mut<float>()[i] += 0.1F * rng.normal();
        return std::tuple(out, y);
      })
      .batch(8);
}

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
    if (std::string why; !has_cuda(&why)) GTEST_SKIP() << why;
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

FitCall on_arrays(const test::Data& data, FitArgs fixed) {
  return [=](const Model& model, const FitArgs& args) {
    FitArgs all = fixed;
    all.callbacks = args.callbacks;
    all.verbose = args.verbose;
    return model.fit(data.x, data.y, all);
  };
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

TEST_F(Resume, DeleteCheckpointLeavesNoneOfAFinishedTraining) {
  TempDir dir;
  train(BackupAndRestore(dir / "c", {.delete_checkpoint = true}), on_arrays(data_, {.epochs = 2}));
  EXPECT_EQ(latest_checkpoint(dir / "c"), std::nullopt);
  EXPECT_TRUE(local_files().list(dir / "c").empty());
}

TEST_F(Resume, KeepsTheNewestTheMilestonesAndTheBest) {
  TempDir dir;
  std::vector<double> losses;
  FitCall fit = [&](const Model& model, FitArgs args) {
    args.epochs = 9;
    args.validation_data = {data_.x, data_.y};
    // Makes one of the early epochs the best.
    args.callbacks.emplace_back(LambdaCallback({.on_epoch_begin = [&](int64_t epoch) {
      if (epoch == 3) model.optimizer().set_learning_rate(3.0);
    }}));
    return model.fit(data_.x, data_.y, args);
  };
  Outcome outcome = train(
      BackupAndRestore(dir / "c", {.keep = 2, .keep_every_epochs = 4, .monitor = "val_loss"}), fit);
  const std::vector<double>& seen = outcome.history["val_loss"];
  int64_t best = std::ranges::min_element(seen) - seen.begin() + 1;
  std::set<std::string> expected, there;
  for (int64_t epoch : {best, int64_t(4), int64_t(8), int64_t(9)})
    expected.insert(checkpoint_name(epoch, 0));
  for (const DirectoryEntry& entry : local_files().list(dir / "c")) there.insert(entry.name);
  EXPECT_EQ(there, expected);
  EXPECT_LT(best, 8);
}

TEST_F(Resume, WhatDiffersIsListedAndCanBeAllowed) {
  TempDir dir;
  EXPECT_THROW(train(BackupAndRestore(dir / "c", {.stop_after_steps = 3}),
                     on_arrays(data_, {.epochs = 2, .batch_size = 8})),
               Interrupted);
  FitCall other = on_arrays(data_, {.epochs = 2, .batch_size = 16});
  std::string text = error_of<ValueError>([&] { train(BackupAndRestore(dir / "c"), other); });
  EXPECT_TRUE(says(text, {"ckpt-", "batch_size: 16 here, 8 there",
                          "steps in an epoch: 4 here, 7 there", "allow_differences"}));
  Outcome outcome = train(BackupAndRestore(dir / "c", {.allow_differences = true}), other);
  ASSERT_EQ(outcome.notes.size(), 1U);
  EXPECT_TRUE(says(outcome.notes[0], {"batch_size"}));
}

TEST_F(Resume, AnotherModelIsAnErrorAndIsLeftAsItIs) {
  TempDir dir;
  EXPECT_THROW(
      train(BackupAndRestore(dir / "c", {.stop_after_steps = 3}), on_arrays(data_, {.epochs = 2})),
      Interrupted);
  set_seed(3);
  Sequential model(
      {Input({4}), Dense(5, {.activation = "relu"}), Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  std::string before = weights_sha256(model);
  std::string text = error_of<FileError>(
      [&] { model.fit(data_.x, data_.y, {.callbacks = {BackupAndRestore(dir / "c")}}); });
  EXPECT_TRUE(says(text, {"another model", "dense"}));
  EXPECT_EQ(weights_sha256(model), before);
}

TEST_F(Resume, ASeedThatWasDrawnIsTheTrainingsOwn) {
  auto run = [&](const std::string& directory, std::optional<int64_t> stop) {
    Context context{.device = "cpu", .out = nullptr};  // as a program that never sets a seed
    Sequential model({Input({4}), Dropout(0.1), Dense(3, {.activation = "softmax"})});
    model.compile(
        {.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .context = &context});
    model.fit(
        data_.x, data_.y,
        {.epochs = 2,
         .batch_size = 8,
         .callbacks = {BackupAndRestore(directory, {.keep = 100, .stop_after_steps = stop})}});
    return std::pair(weights_sha256(model), context.seed.value());
  };
  TempDir dir;
  EXPECT_THROW(run(dir / "c", 4), Interrupted);
  std::filesystem::copy(dir / "c", dir / "d", std::filesystem::copy_options::recursive);
  auto first = run(dir / "c", {}), second = run(dir / "d", {});
  EXPECT_EQ(first, second);
}

TEST_F(Resume, DamagedNewestCheckpointsArePassedOverAndKept) {
  TempDir dir;
  FitCall fit = on_arrays(data_, {.epochs = 3, .batch_size = 8});
  Outcome expected = train(BackupAndRestore(dir / "whole"), fit);
  EXPECT_THROW(
      train(BackupAndRestore(dir / "c", {.save_freq = 2, .keep = 5, .stop_after_steps = 12}), fit),
      Interrupted);
  std::vector<DirectoryEntry> before = local_files().list(dir / "c");
  ASSERT_GE(before.size(), 2U);
  std::string newest = (dir / "c") + "/" + before.back().name + "/state.safetensors";
  std::filesystem::resize_file(newest, local_files().size(newest) - 1);
  std::ostringstream out;
  default_context().out = &out;
  Outcome got = train(BackupAndRestore(dir / "c", {.keep = 100}), fit);
  default_context().out = nullptr;
  expect_same(got, expected);
  EXPECT_EQ(got.resumed_from, (dir / "c") + "/" + before[before.size() - 2].name);
  EXPECT_TRUE(says(out.str(), {"damaged checkpoint, passed over", "state.safetensors"}));
  bool kept = false;
  for (const DirectoryEntry& entry : local_files().list(dir / "c"))
    kept = kept || entry.name.starts_with(before.back().name);
  EXPECT_TRUE(kept);
}

TEST_F(Resume, WhereAllCheckpointsAreDamagedNothingBeginsAnewInSilence) {
  TempDir dir;
  dir.write("c/ckpt-000001-000000000/manifest.json", "{}");
  std::string text = error_of<FileError>(
      [&] { train(BackupAndRestore(dir / "c"), on_arrays(data_, {.epochs = 1})); });
  EXPECT_TRUE(says(text, {"none of its 1 checkpoints", "begin anew"}));
}

TEST_F(Resume, ADiskThatIsFullIsSaidOnceAndTrainingGoesOn) {
  TempDir dir;
  FitCall fit = on_arrays(data_, {.epochs = 4, .batch_size = 8});
  Outcome expected = train(BackupAndRestore(dir / "whole"), fit);
  for (int before : {0, 3, 20, 45}) {
    test::FaultyFiles files;
    files.fail_from(before + 1, ENOSPC);  // the first looks whether the directory exists
    BackupAndRestore backup(dir / std::to_string(before), {.save_freq = 3});
    backup.use_files(&files);
    std::ostringstream out;
    default_context().out = &out;
    Outcome got = train(backup, fit);
    default_context().out = nullptr;
    expect_same(got, expected);
    ASSERT_EQ(got.notes.size(), 1U) << before;
    EXPECT_TRUE(says(got.notes[0], {"could not be written", "No space left", "training goes on"}));
    EXPECT_TRUE(says(out.str(), {got.notes[0].c_str()}));
    // What was there before is whole, and good for going on.
    Outcome again = train(BackupAndRestore(dir / std::to_string(before)), fit);
    expect_same(again, expected);
  }
}

TEST_F(Resume, AFailureThatPassesCostsOneCheckpoint) {
  TempDir dir;
  FitCall fit = on_arrays(data_, {.epochs = 3, .batch_size = 8});
  for (int before = 1; before < 40; ++before) {
    test::FaultyFiles files;
    files.fail_once(before, EIO);
    std::string directory = dir / std::to_string(before);
    BackupAndRestore backup(directory, {.keep = 2});
    backup.use_files(&files);
    Outcome got = train(backup, fit);
    EXPECT_LE(got.notes.size(), 1U);
    ASSERT_EQ(latest_checkpoint(directory), directory + "/" + checkpoint_name(3, 0)) << before;
  }
}

TEST_F(Resume, ADirectoryThatCannotBeIsSaid) {
  TempDir dir;
  dir.write("file", "");
  Outcome got = train(BackupAndRestore(dir / "file/c"), on_arrays(data_, {.epochs = 1}));
  ASSERT_EQ(got.notes.size(), 1U);
  EXPECT_TRUE(says(got.notes[0], {"Not a directory"}));
}

class Signals : public Resume, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Both, Signals, testing::Values(SIGINT, SIGTERM));

TEST_P(Signals, EndTheFitAfterItsStepWithACheckpoint) {
  TempDir dir;
  FitCall plain = on_arrays(data_, {.epochs = 3, .batch_size = 8});
  Outcome expected = train(BackupAndRestore(dir / "whole"), plain);
  FitCall fit = [&](const Model& model, FitArgs args) {
    args.epochs = 3, args.batch_size = 8;
    int step = 0;
    args.callbacks.emplace_back(LambdaCallback({.on_train_batch_begin = [step](int64_t) mutable {
      if (++step == 10) raise(GetParam());
    }}));
    return model.fit(data_.x, data_.y, args);
  };
  try {
    train(BackupAndRestore(dir / "c"), fit);
    FAIL();
  } catch (const Interrupted& error) {
    EXPECT_EQ(error.signal(), GetParam());
    EXPECT_EQ(error.exit_code(), 128 + GetParam());
    EXPECT_TRUE(says(error.what(), {"in epoch 2 after step 3", "run the same program again",
                                    checkpoint_name(1, 3).c_str()}));
  }
  expect_same(train(BackupAndRestore(dir / "c"), plain), expected);
}

TEST_P(Signals, EndTheFitInItsValidationToo) {
  TempDir dir;
  FitArgs common{.epochs = 2, .batch_size = 8, .validation_data = {data_.x, data_.y}};
  Outcome expected = train(BackupAndRestore(dir / "whole"), on_arrays(data_, common));
  FitCall fit = [&](const Model& model, FitArgs args) {
    struct Raising : Callback {
      void on_test_batch_begin(int64_t batch) override {
        if (batch == 2) raise(GetParam());
      }
    };
    args.callbacks.emplace_back(Raising());
    FitArgs all = common;
    all.callbacks = args.callbacks;
    return model.fit(data_.x, data_.y, all);
  };
  EXPECT_THROW(train(BackupAndRestore(dir / "c"), fit), Interrupted);
  EXPECT_EQ(latest_checkpoint(dir / "c"), (dir / "c") + "/" + checkpoint_name(0, 7));
  expect_same(train(BackupAndRestore(dir / "c"), on_arrays(data_, common)), expected);
}

TEST_P(Signals, GoBackToWhomTheyBelonged) {
  TempDir dir;
  struct sigaction before = {}, inside = {}, after = {};
  sigaction(GetParam(), nullptr, &before);
  FitCall fit = [&](const Model& model, FitArgs args) {
    args.callbacks.emplace_back(LambdaCallback(
        {.on_epoch_begin = [&](int64_t) { sigaction(GetParam(), nullptr, &inside); }}));
    return model.fit(data_.x, data_.y, args);
  };
  train(BackupAndRestore(dir / "c"), fit);
  sigaction(GetParam(), nullptr, &after);
  EXPECT_NE(inside.sa_handler, before.sa_handler);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  train(BackupAndRestore(dir / "d", {.handle_signals = false}), fit);
  EXPECT_EQ(inside.sa_handler, before.sa_handler);
}

int own_signals = 0;
void count_signal(int) { ++own_signals; }

TEST_P(Signals, OfAProgramThatHandlesThemStayItsOwn) {
  TempDir dir;
  auto before = std::signal(GetParam(), count_signal);
  own_signals = 0;
  FitCall fit = [&](const Model& model, FitArgs args) {
    args.callbacks.emplace_back(
        LambdaCallback({.on_epoch_begin = [](int64_t) { raise(GetParam()); }}));
    return model.fit(data_.x, data_.y, args);
  };
  train(BackupAndRestore(dir / "c"), fit);
  EXPECT_EQ(own_signals, 1);
  std::signal(GetParam(), before);
}

TEST_F(Resume, ALossThatIsNotFiniteIsNeverSaved) {
  TempDir dir;
  Tensor x = data_.x.clone();
  for (int64_t i = 0; i < 4; ++i) x.data_mut<float>()[40 * 4 + i] = NAN;
  set_seed(3);
  Sequential model = three_class_model();
  EXPECT_THROW(
      model.fit(x, data_.y,
                {.epochs = 2,
                 .batch_size = 8,
                 .shuffle = false,
                 .callbacks = {BackupAndRestore(dir / "c", {.save_freq = 1, .keep = 100})}}),
      NonFiniteError);
  for (const ListedCheckpoint& each : list_checkpoints(dir / "c", local_files())) {
    EXPECT_LE(each.step, 5);
    for (const auto& [name, tensor] : read_checkpoint((dir / "c") + "/" + each.name).weights)
      for (float value : tensor.values<float>()) ASSERT_TRUE(std::isfinite(value)) << name;
  }
  EXPECT_NE(latest_checkpoint(dir / "c"), std::nullopt);
}

TEST_F(Resume, OptionsThatMakeNoSenseAreErrors) {
  EXPECT_THROW(BackupAndRestore(""), ValueError);
  EXPECT_THROW(BackupAndRestore("c", {.save_freq = "step"}), ValueError);
  EXPECT_THROW(BackupAndRestore("c", {.save_freq = 0}), ValueError);
  EXPECT_THROW(BackupAndRestore("c", {.keep = 0}), ValueError);
  EXPECT_THROW(BackupAndRestore("c", {.monitor = "val_loss", .mode = "best"}), ValueError);
  TempDir dir;
  BackupAndRestore first(dir / "a"), second(dir / "b");
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     three_class_model().fit(data_.x, data_.y, {.callbacks = {first, second}});
                   }),
                   {"two BackupAndRestore"}));
}

}  // namespace
}  // namespace stoker
