// A fit that goes on: what differs from the training that was saved is named, and nothing is
// changed before that.
#include <filesystem>
#include <map>
#include <thread>

#include "base/file.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/resuming.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;

// Every file below, by name.
std::map<std::string, std::string> contents_of(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) contents[entry.path().string()] = read_text(entry.path().string());
  return contents;
}

// A training in two halves whose second may be told other things.
struct Told {
  CompileArgs compile = {.optimizer = SGD({.learning_rate = 0.1}),
                         .loss = "sparse_categorical_crossentropy",
                         .metrics = {"accuracy"}};
  FitArgs fit = {.epochs = 2, .batch_size = 8, .verbose = 0};
  double dropout = 0.2;
  Tensor x = {}, y = {};
  std::optional<data::Dataset> dataset = {};
};

class ResumeSettings : public Resume {
 protected:
  Model run(Told told, BackupOptions options = {}) {
    set_seed(3);
    Sequential model({Input({4}), Dense(8, {.activation = "relu"}), Dropout(told.dropout),
                      Dense(3, {.activation = "softmax"})});
    model.compile(told.compile);
    options.handle_signals = false;
    backup_ = BackupAndRestore(dir_ / "c", options);
    told.fit.callbacks.emplace_back(backup_);
    if (told.dataset) {
      told.fit.batch_size = {};
      model.fit(*told.dataset, told.fit);
    } else {
      model.fit(told.x.defined() ? told.x : data_.x, told.y.defined() ? told.y : data_.y, told.fit);
    }
    return model;
  }
  void stop(const Told& told, int64_t steps = 3) {
    EXPECT_THROW(run(told, {.stop_after_steps = steps}), Interrupted);
  }
  // What is said about a second half that was told `other`, after a first that was told `told`.
  std::string refusal(const Told& other) {
    auto before = contents_of(dir_ / "c");
    std::string text = error_of<DifferentTraining>([&] { run(other); });
    EXPECT_EQ(contents_of(dir_ / "c"), before) << "a refusal changes no file";
    return text;
  }

  TempDir dir_;
  BackupAndRestore backup_{dir_ / "c"};
};

TEST_F(ResumeSettings, EveryOneThatDiffersIsNamedWithBothValues) {
  Told told;
  stop(told);
  Told other = told;
  other.compile.optimizer = SGD({.learning_rate = 0.2, .momentum = 0.9, .weight_decay = 0.01});
  other.compile.metrics = {};
  other.dropout = 0.5;
  other.fit.shuffle = false;
  other.fit.class_weight = {{0, 2.0}};
  std::string text = refusal(other);
  EXPECT_TRUE(says(text, {"learning_rate: 0.2 here, 0.1 there", "momentum: 0.9 here, 0.0 there",
                          "weight_decay: 0.01 here, not set there", "metrics: none here", "0.5",
                          "0.2", "shuffle: false here, true there", "allow_differences = true"}))
      << text;
}

TEST_F(ResumeSettings, AnotherOptimizerOrLossOrClippingIsNamed) {
  Told told;
  stop(told);
  Told other = told;
  other.compile.optimizer = Adam({.learning_rate = 0.1, .global_clipnorm = 1.0});
  other.compile.loss = SparseCategoricalCrossentropy({.from_logits = true});
  EXPECT_TRUE(says(refusal(other), {"optimizer: Adam here, SGD there", "global_clipnorm: 1.0 here",
                                    "loss: ", "from_logits"}));
}

TEST_F(ResumeSettings, AnotherDatasetOfTheSameSizeIsNamed) {
  Told told;
  stop(told);
  Told other = told;
  other.x = data_.x.clone();
  other.x.data_mut<float>()[7] += 1;
  EXPECT_TRUE(says(refusal(other), {"data: float32[50, 4] "}));
}

TEST_F(ResumeSettings, AnotherStepOfThePipelineIsNamed) {
  Told told;
  auto chain = [&](double scale, int64_t batch) {
    return data::from_slices({data_.x, data_.y}).map(image::rescale(scale)).shuffle().batch(batch);
  };
  told.dataset = chain(1, 8);
  stop(told);
  Told other = told;
  other.dataset = chain(2, 16);
  EXPECT_TRUE(says(refusal(other), {"data: map(rescale(2)", "there", "batch(16) here, batch(8)"}));
}

TEST_F(ResumeSettings, FilesThatWereReplacedAreNoticed) {
  for (const char* name : {"a", "b", "c", "d"}) dir_.write(std::string("d/") + name, "0123");
  auto numbers = [&] {
    return data::files(dir_ / "d/*")
        .map(data::read_file())
        .map(
            [](const std::string& text) {
              Tensor x = Tensor::full({4}, double(text[0]));
              return std::tuple(x, int32_t(text.size() % 3));
            },
            {.spec = data::ElementSpec{{DType::float32, {4}}, {DType::int32, {}}}})
        .batch(1);
  };
  Told told;
  told.dataset = numbers();
  stop(told);
  dir_.write("d/b", "9876");
  told.dataset = numbers();
  EXPECT_TRUE(says(refusal(told), {"data: 4 files of 16 bytes, fingerprint "}));
}

TEST_F(ResumeSettings, MoreEpochsAreNoDifference) {
  Told told;
  run(told);
  told.fit.epochs = 3;
  run(told);
  EXPECT_NE(backup_.resumed_from(), "");
  EXPECT_TRUE(backup_.notes().empty());
}

TEST_F(ResumeSettings, AScheduleThatFollowsTheEpochsIsNamedAndGoesOn) {
  auto cosine = [](int64_t epochs) {
    Told told;
    told.fit.epochs = epochs;
    told.compile.optimizer = SGD(
        {.learning_rate = CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 7 * epochs})});
    return told;
  };
  run(cosine(2));
  run(cosine(3));
  ASSERT_EQ(backup_.notes().size(), 1U);
  EXPECT_TRUE(says(backup_.notes()[0], {"decay_steps: 21 here, 14 there"}));
  Told other = cosine(4);
  other.fit.epochs = 3;  // not more than there: the schedule itself was changed
  EXPECT_TRUE(says(refusal(other), {"decay_steps: 28 here, 21 there"}));
}

TEST_F(ResumeSettings, FewerEpochsThanAreDoneAreRefused) {
  Told told;
  told.fit.epochs = 3;
  run(told);
  told.fit.epochs = 2;
  EXPECT_TRUE(says(refusal(told), {"epochs: 2 here, the training stands after epoch 3 there"}));
  told.fit.epochs = 3;
  EXPECT_NO_THROW(run(told));
}

TEST_F(ResumeSettings, ARateThatIsAllowedToDifferHolds) {
  Told told;
  stop(told);
  told.compile.optimizer = SGD({.learning_rate = 0.025});
  Model model = run(told, {.allow_differences = true});
  EXPECT_DOUBLE_EQ(model.optimizer().config().get<double>("learning_rate"), 0.025);
  ASSERT_EQ(backup_.notes().size(), 1U);
  EXPECT_TRUE(says(backup_.notes()[0], {"learning_rate: 0.025 here, 0.1 there"}));
}

TEST_F(ResumeSettings, ARateThatACallbackHasSetIsNoDifference) {
  Told told;
  told.fit.callbacks = {
      LearningRateScheduler([](int64_t epoch, double) { return 0.1 / (1 + double(epoch)); })};
  stop(told, 9);
  EXPECT_NO_THROW(run(told));
}

TEST_F(ResumeSettings, ACheckpointOfAnOlderStokerGoesOn) {
  Told told;
  stop(told);
  std::string path = *latest_checkpoint(dir_ / "c");
  Checkpoint old = read_checkpoint(path);
  EXPECT_FALSE(old.settings.empty());
  old.settings.clear();
  fs::remove_all(path);
  write_checkpoint(dir_ / "c", old, {});
  told.compile.optimizer = SGD({.learning_rate = 0.2});  // not known there, so not compared
  EXPECT_NO_THROW(run(told));
  EXPECT_EQ(backup_.resumed_from(), path);
}

TEST_F(ResumeSettings, ASecondFitInTheDirectoryIsRefusedAndTheFirstGoesOnUndisturbed) {
  Told told;
  Model alone = run(told);
  std::string expected = weights_sha256(alone);
  fs::remove_all(dir_ / "c");
  std::string said;
  LambdaCallback meanwhile({.on_epoch_end = [&](int64_t, const Logs&) {
    std::thread([&] {
      Context context{.device = "cpu", .out = nullptr};
      Sequential model({Input({4}), Dense(3, {.activation = "softmax"})});
      model.compile(
          {.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .context = &context});
      said = error_of<FileError>([&] {
        model.fit(data_.x, data_.y, {.verbose = 0, .callbacks = {BackupAndRestore(dir_ / "c")}});
      });
    }).join();
  }});
  told.fit.callbacks = {meanwhile};
  EXPECT_EQ(weights_sha256(run(told)), expected);
  EXPECT_TRUE(says(said, {"is in use by process", "choose another folder"}));
  EXPECT_FALSE(fs::exists(dir_ / "c/.lock"));
}

TEST_F(ResumeSettings, ARunDirectoryIsForOneFitToo) {
  std::string said;
  Told told;
  told.fit.run_directory = dir_ / "run";
  LambdaCallback meanwhile({.on_train_begin = [&] {
    std::thread([&] {
      Context context{.device = "cpu", .out = nullptr};
      Sequential model({Input({4}), Dense(3, {.activation = "softmax"})});
      model.compile(
          {.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .context = &context});
      said = error_of<FileError>(
          [&] { model.fit(data_.x, data_.y, {.verbose = 0, .run_directory = dir_ / "run"}); });
    }).join();
  }});
  told.fit.callbacks = {meanwhile};
  run(told);
  EXPECT_TRUE(says(said, {"is in use by process"}));
}

}  // namespace
}  // namespace stoker::test
