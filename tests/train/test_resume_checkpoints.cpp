// BackupAndRestore: which checkpoints stay, what may differ, and what damage and full disks do.
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "support/faulty_files.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/resuming.h"

namespace stoker {
namespace {

using namespace test;

TEST_F(Resume, DeleteCheckpointLeavesNoneOfAFinishedTraining) {
  TempDir dir;
  train(BackupAndRestore(dir / "c", {.delete_checkpoint = true}), on_arrays(data_, {.epochs = 2}));
  EXPECT_EQ(latest_checkpoint(dir / "c"), std::nullopt);
  EXPECT_FALSE(local_files().exists(dir / "c"))
      << "the fit made the folder, and leaves no empty one";
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
  auto fit = [&](const BackupOptions& options) {
    model.fit(data_.x, data_.y, {.epochs = 2, .callbacks = {BackupAndRestore(dir / "c", options)}});
  };
  EXPECT_TRUE(says(error_of<DifferentTraining>([&] { fit({}); }), {"architecture: ", "Dense"}));
  std::string text = error_of<FileError>([&] { fit({.allow_differences = true}); });
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
    EXPECT_LE(got.notes.size(), 2U);  // that one failed, and that the next one did not
    ASSERT_EQ(latest_checkpoint(directory), directory + "/" + checkpoint_name(3, 0)) << before;
  }
}

TEST_F(Resume, ADirectoryThatCannotBeIsAnErrorBeforeTheFirstStep) {
  TempDir dir;
  dir.write("file", "");
  EXPECT_TRUE(says(error_of<FileError>([&] {
                     train(BackupAndRestore(dir / "file/c"), on_arrays(data_, {.epochs = 1}));
                   }),
                   {"file/c", "is not a directory"}));
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
