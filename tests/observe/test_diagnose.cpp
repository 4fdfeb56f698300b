// The doctor on models that train: what it says, what it writes, and that it leaves no trace.
#include <gtest/gtest.h>
#include <stoker/stoker.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "observe/observed.h"
#include "support/temp_dir.h"
#include "train/model/weights_hash.h"

namespace stoker::doctor {
namespace {

constexpr const char* kDevice = "cpu";

class Doctor : public testing::Test {
 protected:
  Doctor() {
    context_.device = kDevice;
    context_.out = nullptr;
    context_.seed.set(1);
    context_.threads.compute = 1;
  }

  Sequential compiled(int64_t units = 64) {
    Sequential model({Input({64}), Dense(units, {.activation = "relu"}), Dropout(0.1),
                      Dense(4, {.activation = "softmax"})});
    model.compile(
        {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .context = &context_});
    return model;
  }

  // Rows of features and labels; every element takes `nanoseconds` on a core.
  static data::Dataset slow(int64_t nanoseconds) {
    Tensor x = Tensor::zeros({4000, 64}), y = Tensor::zeros({4000}, DType::int64);
    for (int64_t row = 0; row < 4000; ++row) {
      y.data_mut<int64_t>()[row] = row % 4;
      for (int64_t column = 0; column < 64; ++column)
        x.data_mut<float>()[64 * row + column] = float((row + column) % 7);
    }
    return data::from_slices({x, y})
        .map(
            [nanoseconds](const Tensor& features, int64_t label) {
              auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
              while (std::chrono::steady_clock::now() < until) continue;
              return std::pair(features, label);
            },
            {.name = "slow"})
        .batch(16)
        .with_options({.seed = 5, .as_written = true});
  }

  Context context_;
};

TEST_F(Doctor, LeavesEveryBitOfAModelAsItWas) {
  test::TempDir folder;
  Sequential model = compiled();
  data::Dataset dataset = slow(0);
  model.fit(dataset, {.steps_per_epoch = 5, .verbose = 0});
  model.save(folder / "before");
  diagnose(model, dataset, {.steps = 60, .fix = true});
  model.save(folder / "after");
  std::ifstream before(folder / "before"), after(folder / "after");
  EXPECT_TRUE(std::equal(std::istreambuf_iterator<char>(before), {},
                         std::istreambuf_iterator<char>(after), {}));
  EXPECT_EQ(model.history().epochs().size(), 1U);
}

TEST_F(Doctor, LeavesNoTraceInWhatIsTrainedAfterwards) {
  auto weights_after = [&](bool examined) {
    context_.seed.set(1);
    set_seed(1);  // layers draw their first weights from the default context
    Sequential model = compiled();
    data::Dataset dataset = slow(0);
    model.fit(dataset, {.steps_per_epoch = 5, .verbose = 0});
    if (examined) diagnose(model, dataset, {.steps = 60});
    model.fit(dataset, {.steps_per_epoch = 5, .verbose = 0});
    return weights_sha256(model);
  };
  EXPECT_EQ(weights_after(true), weights_after(false)) << "moments and random numbers count too";
}

TEST_F(Doctor, PutsTheStateBackWhereTrainingBreaks) {
  Sequential model({Input({64}), Dense(8), Dense(4, {.activation = "softmax"})});
  model.compile({.optimizer = SGD({.learning_rate = 1e30}),
                 .loss = "sparse_categorical_crossentropy",
                 .context = &context_});
  std::string before = weights_sha256(model);
  EXPECT_THROW(diagnose(model, slow(0), {.steps = 60}), NonFiniteError);
  EXPECT_EQ(weights_sha256(model), before);
}

TEST_F(Doctor, ReplaysOneBatchOnceWhereThereIsNoCopy) {
  Sequential model = compiled();
  Diagnosis diagnosis = diagnose(model, slow(0), {.steps = 60, .layers = false});
  std::vector<std::string> names;
  for (const Counterfactual& each : diagnosis.counterfactuals) {
    names.push_back(each.name);
    EXPECT_GT(each.seconds, 0) << each.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"one batch, replayed", "pipeline alone",
                                             "batch × 2, replayed"}));
  EXPECT_NE(diagnosis.text().find("no copy to make"), std::string::npos);
}

TEST_F(Doctor, NamesTheStageThatHoldsUpTheDevice) {
  Sequential model = compiled();
  Diagnosis diagnosis = diagnose(model, slow(200'000), {.steps = 60, .seconds = 20});
  // On a machine that others use the verdict may be that; what was measured stays.
  EXPECT_GT(diagnosis.shares[Owner::input], 0.5) << diagnosis.text();
  ASSERT_GE(diagnosis.pipeline.stages.size(), 1U);  // and perhaps source and batch
  EXPECT_EQ(diagnosis.pipeline.stages[0].name, "map(\"slow\")");
  EXPECT_GE(diagnosis.pipeline.stages[0].seconds, 200e-6);
  if (diagnosis.verdict.finding == Finding::unstable) return;
  EXPECT_FALSE(diagnosis.layers.empty());
  EXPECT_EQ(diagnosis.counterfactuals.size(), 3U);
  ASSERT_FALSE(diagnosis.prescriptions.empty());
}

TEST_F(Doctor, SaysBeforeTheFirstStepThatAModelDoesNotFit) {
  context_.memory_limit = 4 << 20;
  Sequential model = compiled(4096);
  Diagnosis diagnosis = diagnose(model, slow(0));
  EXPECT_EQ(diagnosis.verdict.cause, Cause::out_of_memory) << diagnosis.text();
  EXPECT_NE(diagnosis.verdict.sentence.find("does not fit"), std::string::npos);
  EXPECT_FALSE(diagnosis.prescriptions.empty());
  EXPECT_EQ(diagnosis.steps, 0);
}

TEST_F(Doctor, SaysWhereMoreThanAllOfAPeakWasReached) {
  Sequential model = compiled(512);
  Diagnosis diagnosis = diagnose(model, slow(0), {.steps = 60, .counterfactuals = false});
  bool above = false;
  for (const LayerReport& layer : diagnosis.layers)
    above = above || layer.compute_share > 1.005 || layer.bandwidth_share > 1.005;
  EXPECT_EQ(diagnosis.trust.find("above the measured peak") != std::string::npos, above)
      << diagnosis.text();
}

TEST_F(Doctor, PutsWhatWasPredictedBesideWhatWasTried) {
  Sequential model = compiled();
  Diagnosis diagnosis = diagnose(model, slow(100'000), {.steps = 60, .fix = true, .seconds = 60});
  const Prescription& first = diagnosis.prescriptions.at(0);
  EXPECT_TRUE(first.tried) << diagnosis.text();
  EXPECT_EQ(first.knob, Knob::pipeline);
  for (size_t i = 1; i < diagnosis.prescriptions.size(); ++i)
    EXPECT_NE(diagnosis.prescriptions[i].knob, Knob::pipeline) << "it is told once";
  if (diagnosis.verdict.limit == Limit::input) {
    EXPECT_GT(first.predicted_step_seconds, 0);
  }
}

TEST_F(Doctor, AccountsForAllOfTheTime) {
  Sequential model = compiled();
  Diagnosis diagnosis = diagnose(model, slow(10'000), {.steps = 60, .counterfactuals = false});
  double sum = 0;
  for (double share : diagnosis.shares.share) sum += share;
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_EQ(diagnosis.shares[Owner::unexplained], 0) << "on a CPU the records cover every moment";
}

TEST_F(Doctor, NamesTheCallbackThatWorksBetweenSteps) {
  struct Busy : Callback {
    void on_train_batch_end(int64_t, const Logs&) override {
      auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
      while (std::chrono::steady_clock::now() < until) continue;
    }
  };
  Busy busy;
  Sequential model = compiled();
  Diagnosis diagnosis = diagnose(model, slow(0), {.steps = 60, .callbacks = {busy}});
  ASSERT_EQ(diagnosis.callbacks.size(), 1U);
  EXPECT_EQ(diagnosis.callbacks[0].name, "Busy");
  EXPECT_GE(diagnosis.callbacks[0].seconds, 1e-3);
  EXPECT_GT(diagnosis.shares[Owner::sync], 0.05) << diagnosis.text();
}

TEST_F(Doctor, IsOnDuringEveryFit) {
  Sequential model = compiled();
  EXPECT_FALSE(last_diagnosis(model).has_value());
  model.fit(slow(100'000), {.steps_per_epoch = 80, .verbose = 0});
  ASSERT_TRUE(last_diagnosis(model).has_value());
  EXPECT_EQ(last_diagnosis(model)->steps, 70);
  EXPECT_GT(last_diagnosis(model)->shares[Owner::input], 0.3);
}

TEST_F(Doctor, TellsInEveryLogWhatAnEpochWaitedForAndAdvisesAtTheEnd) {
  std::ostringstream out;  // a pipe, a notebook: no terminal
  context_.out = &out;
  Sequential model = compiled();
  History history = model.fit(slow(200'000), {.epochs = 2, .steps_per_epoch = 12, .verbose = 2});
  ASSERT_EQ(history.waited().size(), 2U) << out.str();
  EXPECT_EQ(history.waited()[1].epoch, 1);
  EXPECT_EQ(history.waited()[1].limit, "input");
  EXPECT_GT(history.waited()[1].share, 0.1);
  std::istringstream lines(out.str());
  std::string epoch, advice, rest;
  for (int i = 0; i < 2; ++i) {
    std::getline(lines, epoch);
    EXPECT_NE(epoch.find("limit: input (the device waited "), std::string::npos) << epoch;
  }
  ASSERT_TRUE(std::getline(lines, advice)) << out.str();
  EXPECT_FALSE(std::getline(lines, rest)) << "one line: " << rest;
}

TEST_F(Doctor, IsSilentWhereAFitIs) {
  std::ostringstream out;
  context_.out = &out;
  Sequential model = compiled();
  History history = model.fit(slow(200'000), {.steps_per_epoch = 30, .verbose = 0});
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(history.waited().size(), 1U) << "what it carries does not depend on what is shown";
}

TEST_F(Doctor, SaysNothingAboutAFitThatIsTooShort) {
  Sequential model = compiled();
  model.fit(slow(0), {.steps_per_epoch = 5, .verbose = 0});
  EXPECT_FALSE(last_diagnosis(model).has_value());
}

TEST_F(Doctor, TunesAFitWithoutChangingItsResult) {
  auto weights_after = [&](Tune tune) {
    context_.seed.set(1);
    set_seed(1);  // layers draw their first weights from the default context
    Sequential model = compiled();
    History history =
        model.fit(slow(100'000), {.epochs = 2, .steps_per_epoch = 150, .verbose = 0, .tune = tune});
    std::vector<double> values = history["loss"];
    for (const Variable& variable : model.trainable_variables()) {
      Tensor tensor = variable.read();
      for (int64_t i = 0; i < tensor.elements(); ++i) values.push_back(tensor.at(i));
    }
    if (tune == Auto) {
      std::optional<Diagnosis> diagnosis = last_diagnosis(model);
      EXPECT_TRUE(diagnosis && !diagnosis->prescriptions.empty() &&
                  diagnosis->prescriptions[0].tried);
    }
    return values;
  };
  EXPECT_EQ(weights_after(Auto), weights_after(Tune::off));
}

TEST_F(Doctor, WritesStatusAndReportIntoTheRunsFolder) {
  test::TempDir folder;
  Sequential model = compiled();
  model.fit(slow(20'000), {.steps_per_epoch = 100, .verbose = 0, .run_directory = folder.path()});
  auto json = nlohmann::json::parse(std::ifstream(folder / "doctor.json"));
  EXPECT_EQ(json["stoker_doctor"], 1);
  EXPECT_EQ(json["steps"], 90);
  double sum = 0;
  for (const auto& [owner, share] : json["shares"].items()) sum += share.get<double>();
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_TRUE(std::ifstream(folder / "doctor.html").good());
}

TEST_F(Doctor, TellsTheCostsOfWholeBatchesWhereAFitEndsWithASmallerOne) {
  Sequential model = compiled();
  Tensor x = Tensor::zeros({16 * 20 + 5, 64}), y = Tensor::zeros({16 * 20 + 5}, DType::int64);
  model.fit(x, y, {.epochs = 2, .batch_size = 16, .verbose = 0});
  std::optional<Diagnosis> diagnosis = last_diagnosis(model);
  ASSERT_TRUE(diagnosis && diagnosis->predicted_memory);
  EXPECT_EQ(diagnosis->predicted_memory->total, model.memory_plan(16)->total);
  EXPECT_NE(diagnosis->predicted_memory->total, model.memory_plan(5)->total);
  const ModelBase& base = ModelAccess::base(model);
  EXPECT_EQ(step_for(base, 5)->specs[0].shape[0], 5);
  EXPECT_EQ(step_for(base, 16)->specs[0].shape[0], 16);
  EXPECT_EQ(step_for(base, 99)->specs[0].shape[0], 16) << "the largest, not the latest";
}

TEST_F(Doctor, KnowsWhichConvolutionsCouldBeSeparable) {
  Sequential model({Input({8, 8, 16}), Conv2D(32, 3, {.name = "stem"}),
                    Conv2D(8, 1, {.name = "pointwise"}), GlobalAveragePooling2D(),
                    Dense(4, {.activation = "softmax"})});
  model.compile({.loss = "sparse_categorical_crossentropy", .context = &context_});
  model.fit(Tensor::zeros({16, 8, 8, 16}), Tensor::zeros({16}, DType::int64),
            {.batch_size = 16, .verbose = 0});
  Evidence evidence;
  evidence.device.ops = {{.layer = "stem", .op = "conv2d"}, {.layer = "pointwise", .op = "conv2d"}};
  add_costs(evidence, step_for(ModelAccess::base(model), 16), context_);
  EXPECT_NEAR(evidence.device.ops[0].separable, 9.0 * 32 / (9 + 32), 1e-9);
  EXPECT_EQ(evidence.device.ops[1].separable, 0) << "it is one already";
  EXPECT_EQ(evidence.device.float_bytes, 16 * 8 * 8 * 16 * 4) << "labels are not images";
}

TEST_F(Doctor, WritesAFolderForEveryFitOfAProgramThatIsNotItsOwn) {
  test::TempDir folder;
  ASSERT_EQ(setenv("STOKER_RUN_DIRECTORY", folder.path().c_str(), 1), 0);
  Sequential model = compiled();
  for (int fit = 0; fit < 2; ++fit) model.fit(slow(0), {.steps_per_epoch = 30, .verbose = 0});
  model.fit(slow(0), {.steps_per_epoch = 30, .verbose = 0, .run_directory = folder / "own"});
  unsetenv("STOKER_RUN_DIRECTORY");
  model.fit(slow(0), {.steps_per_epoch = 30, .verbose = 0});
  size_t folders = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_TRUE(std::filesystem::exists(each.path() / "doctor.json")) << each.path();
    ++folders;
  }
  EXPECT_EQ(folders, 3U);
  EXPECT_TRUE(std::filesystem::exists(folder / "own"));
}

TEST_F(Doctor, TellsStepsFromWhatHappensBetweenEpochs) {
  struct Slow : Callback {
    void on_epoch_end(int64_t, const Logs&) override {
      auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
      while (std::chrono::steady_clock::now() < until) continue;
    }
  };
  Slow callback;
  Sequential model = compiled();
  model.fit(slow(0), {.epochs = 3,
                      .validation_data = slow(0),
                      .steps_per_epoch = 20,
                      .validation_steps = 5,
                      .verbose = 0,
                      .callbacks = {callback}});
  FitShares fit = last_diagnosis(model)->fit;
  EXPECT_GT(fit.steps, 0);
  EXPECT_GT(fit.validation, 0);
  EXPECT_GE(fit.epoch_turns * fit.seconds, 0.06);
  EXPECT_GE(fit.unexplained, 0);
  EXPECT_NEAR(fit.steps + fit.read_back + fit.validation + fit.epoch_turns + fit.unexplained, 1,
              1e-9);
  EXPECT_EQ(diagnose(model, slow(0), {.steps = 30, .counterfactuals = false}).fit.seconds, 0)
      << "its epochs are not the user's";
}

TEST_F(Doctor, CountsCheckpointsAsTheTimeOfTheirCallback) {
  test::TempDir folder;
  BackupAndRestore backup(folder.path(), {.save_freq = 1});
  Sequential model = compiled();
  model.fit(slow(0), {.steps_per_epoch = 30, .verbose = 0, .callbacks = {backup}});
  std::optional<Diagnosis> diagnosis = last_diagnosis(model);
  ASSERT_EQ(diagnosis->callbacks.size(), 1U);
  EXPECT_EQ(diagnosis->callbacks[0].name, "BackupAndRestore");
  EXPECT_GT(diagnosis->callbacks[0].seconds, 1e-6) << "snapshots of all weights";
}

TEST_F(Doctor, RefusesBatchesThatCanBeWalkedOnlyOnce) {
  Sequential model = compiled();
  int left = 10;
  Batches once([left]() mutable -> std::optional<Batch> {
    if (left-- == 0) return std::nullopt;
    return Batch{Tensor::zeros({16, 64}), Tensor::zeros({16}, DType::int64)};
  });
  EXPECT_THROW(diagnose(model, once), ValueError);
  Sequential raw({Input({4}), Dense(1)});
  EXPECT_THROW(diagnose(raw, slow(0)), Error);
}

TEST_F(Doctor, PutsTheVerdictFirstAndBarsThatSumToAHundred) {
  Diagnosis diagnosis;
  diagnosis.verdict.sentence = "Input-bound: it is.";
  diagnosis.step_seconds = 0.01;
  diagnosis.shares.share = {0.333, 0.111, 0.333, 0.111, 0.111, 0.001};
  std::string text = diagnosis.text();
  EXPECT_TRUE(text.starts_with("Input-bound: it is.\n"));
  size_t open = text.find('|'), close = text.find('|', open + 1);
  EXPECT_EQ(close - open - 1, 50U);
}

TEST_F(Doctor, KeepsMarkupInNamesOutOfThePage) {
  Diagnosis diagnosis;
  diagnosis.verdict.sentence = "</script><script>alert(1)</script>";
  std::string page = diagnosis.html();
  EXPECT_EQ(page.find("</script><script>alert"), std::string::npos);
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg"));  // no network
}

}  // namespace
}  // namespace stoker::doctor
