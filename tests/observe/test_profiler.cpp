// The profiler on models that train: what it sees, what it writes, and that results stay the same.
#include <gtest/gtest.h>
#include <stoker/stoker.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/enum_names.h"
#include "base/file.h"
#include "observe/profile_checks.h"
#include "support/peer_python.h"
#include "support/temp_dir.h"
#include "train/callbacks/event_log.h"

namespace stoker {

using namespace doctor;
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

template <class E>
std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class ProfilerTest : public testing::Test {
 protected:
  ProfilerTest() {
    context_.device = "cpu";
    context_.out = &said_;
    context_.seed.set(1);
    context_.threads.compute = 1;
  }

  Sequential compiled(int64_t units = 32) {
    set_seed(1);  // layers draw from the default context
    context_.seed.set(1);
    Sequential model({Input({64}), Dense(units, {.activation = "relu", .name = "hidden"}),
                      Dropout(0.1), Dense(4, {.activation = "softmax", .name = "probs"})});
    model.compile(
        {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .context = &context_});
    return model;
  }

  static data::Dataset batches() {
    Tensor x = Tensor::zeros({320, 64}), y = Tensor::zeros({320}, DType::int64);
    for (int64_t row = 0; row < 320; ++row) {
      y.data_mut<int64_t>()[row] = row % 4;
      for (int64_t column = 0; column < 64; ++column)
        x.data_mut<float>()[64 * row + column] = float((row + column) % 7);
    }
    return data::from_slices({x, y})
        .map([](const Tensor& features, int64_t label) { return std::pair(features, label); },
             {.name = "nothing"})
        .batch(16)
        .with_options({.seed = 5});
  }

  // Every bit that training changes; names differ between models.
  static std::string state_of(const Sequential& model) {
    std::string bits;
    auto add = [&](const Tensor& tensor) {
      bits.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
    };
    for (const Tensor& weight : model.get_weights()) add(weight);
    for (const Variable& variable : model.optimizer().variables()) add(variable.read());
    return bits;
  }

  static json json_of(const std::string& path) { return json::parse(read_text(path)); }

  static std::vector<std::string> xplanes(const std::string& log_dir) {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(log_dir))
      if (entry.path().string().ends_with(".xplane.pb")) found.push_back(entry.path().string());
    return found;
  }

  std::ostringstream said_;
  Context context_;
  test::TempDir folder_;
};

TEST_F(ProfilerTest, SeesEveryLayerBetweenStartAndStop) {
  Sequential model = compiled();
  data::Dataset train = batches();
  profiler::start(folder_ / "logs");
  model.fit(train, {.epochs = 2, .verbose = 0});
  model.evaluate(train, {.verbose = 0});
  Profile profile = profiler::stop();

  ASSERT_EQ(profile.steps.size(), 2U) << profile.text();
  std::set<std::string> kinds{profile.steps[0].kind, profile.steps[1].kind};
  EXPECT_EQ(kinds, (std::set<std::string>{"train", "test"}));
  for (const StepProfile& step : profile.steps) {
    EXPECT_EQ(step.steps, step.kind == "train" ? 40 : 20);
    EXPECT_EQ(step.timed_steps, step.steps);
    EXPECT_EQ(step.batch_size, 16);
    test::expect_sums(step);
    EXPECT_GT(step.memory.total, 0U);
    for (const LayerReport& op : step.ops) EXPECT_LE(op.live, double(step.memory.total)) << op.op;
  }
  const StepProfile& step = profile.steps[profile.steps[0].kind == "train" ? 0 : 1];
  for (const char* name : {"hidden", "probs"}) {
    auto found = std::ranges::find(step.layers, name, &LayerProfile::layer);
    ASSERT_NE(found, step.layers.end()) << name << "\n" << profile.text();
    EXPECT_GT(found->forward, 0);
    EXPECT_GT(found->backward, 0);
    EXPECT_GT(found->flops, 0);
    EXPECT_GT(found->bytes, 0);
    EXPECT_GT(found->memory, 0);
    EXPECT_GT(found->live, 0);
    EXPECT_GT(found->compute_share, 0);
  }
  EXPECT_EQ(profile.fit_steps, 40);
  double shares = 0;
  for (double share : profile.shares.share) shares += share;
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_EQ(profile.events_dropped, 0);
}

TEST_F(ProfilerTest, ChangesNoBitOfATraining) {
  std::vector<std::string> ends;
  for (bool profiled : {false, true}) {
    Sequential model = compiled();
    if (profiled) profiler::start(folder_ / "logs");
    model.fit(batches(), {.epochs = 2, .validation_data = batches(), .verbose = 0});
    if (profiled) profiler::stop();
    ends.push_back(state_of(model));
  }
  EXPECT_TRUE(ends[0] == ends[1]);
}

TEST_F(ProfilerTest, ChangesNoBitWithGradientAccumulationAndLossScaling) {
  std::vector<std::string> ends;
  for (bool profiled : {false, true}) {
    set_seed(3);
    context_.seed.set(3);
    Sequential model({Input({64}), Dense(8, {.activation = "relu"}), BatchNormalization(),
                      Dense(4, {.activation = "softmax"})});
    model.compile({.optimizer = LossScaleOptimizer(Adam({.gradient_accumulation_steps = 2}),
                                                   {.dynamic_growth_steps = 3}),
                   .loss = "sparse_categorical_crossentropy",
                   .context = &context_});
    if (profiled) profiler::start(folder_ / "logs");
    model.fit(batches(), {.epochs = 1, .verbose = 0});
    if (profiled) profiler::stop();
    ends.push_back(state_of(model));
  }
  EXPECT_TRUE(ends[0] == ends[1]);
}

TEST_F(ProfilerTest, WritesItsFiles) {
  Sequential model = compiled();
  Profiler profiler({.log_dir = folder_ / "logs", .steps = {3, 7}});
  model.fit(batches(), {.epochs = 1, .verbose = 0, .callbacks = {profiler}});
  ASSERT_TRUE(profiler.profile().has_value());
  EXPECT_EQ(profiler.profile()->fit_steps, 5);
  json profile = json_of(folder_ / "logs/profile.json");
  EXPECT_EQ(profile["steps"][0]["steps"], 5);
  EXPECT_EQ(profile["fit_steps"], 5);

  json trace = json_of(folder_ / "logs/trace.json");
  std::map<std::string, int> lanes;
  std::multiset<std::string> names;
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") lanes[event["args"]["name"]] = event["tid"];
    if (event["ph"] == "X") names.insert(event["name"].get<std::string>());
  }
  EXPECT_TRUE(lanes.contains("training"));
  EXPECT_TRUE(lanes.contains("compute"));
  EXPECT_TRUE(std::ranges::any_of(
      lanes, [](const auto& lane) { return lane.first.starts_with("pipeline"); }));
  EXPECT_EQ(names.count("wait for batch"), 5U);
  EXPECT_EQ(names.count("step 2"), 1U);  // the third
  EXPECT_EQ(names.count("step 1"), 0U);
  EXPECT_GE(names.count("Profiler"), 5U);  // callbacks have names
  EXPECT_GE(names.count("map(\"nothing\")") + names.count("batches"), 1U);

  EXPECT_EQ(xplanes(folder_ / "logs").size(), 1U);
  EXPECT_NE(said_.str().find("steps 3 to 7"), std::string::npos) << said_.str();
}

TEST_F(ProfilerTest, IsOpenedByTensorBoardsProfilePage) {
  Sequential model = compiled(2048);  // the page rounds to tenths of a millisecond
  model.fit(batches(),
            {.epochs = 1,
             .verbose = 0,
             .callbacks = {TensorBoard({.log_dir = folder_ / "logs", .profile_batch = {5, 12}})}});
  // Eight steps; the page leaves out those at the ends.
  json expected{{"spans", {"run", "IteratorGetNext (wait for batch)"}}, {"steps", 5}};
  test::expect_plugin_shows(folder_ / "logs", expected, {"hidden", "probs"});
}

TEST_F(ProfilerTest, KeepsTheLatestWhenThereIsTooMuch) {
  Sequential model = compiled();
  profiler::start(folder_ / "logs", {.max_events = 200});
  model.fit(batches(), {.epochs = 3, .verbose = 0});
  Profile profile = profiler::stop();
  EXPECT_LE(profile.events, 201);
  EXPECT_GT(profile.events_dropped, 0);
  EXPECT_EQ(profile.steps[0].timed_steps, 60);  // the tables count all
  EXPECT_NE(profile.text().find("dropped"), std::string::npos);
  json trace = json_of(folder_ / "logs/trace.json");
  EXPECT_EQ(trace["otherData"]["events_dropped"], profile.events_dropped);
  bool last = false;
  for (const json& event : trace["traceEvents"]) last |= event["name"] == "step 59";
  EXPECT_TRUE(last);
}

TEST_F(ProfilerTest, KeepsEveryRunOfTheSameFolder) {
  for (int i = 0; i < 2; ++i) {
    profiler::start(folder_ / "logs");
    Profile profile = profiler::stop();
    EXPECT_TRUE(profile.steps.empty());
    EXPECT_NE(profile.text().find("No step ran"), std::string::npos);
  }
  EXPECT_EQ(xplanes(folder_ / "logs").size(), 2U);
}

TEST_F(ProfilerTest, RunsOnceAtATime) {
  profiler::start(folder_ / "first");
  std::string error = error_of<Error>([&] { profiler::start(folder_ / "second"); });
  EXPECT_NE(error.find("first"), std::string::npos) << error;
  EXPECT_NE(error.find("profiler::stop()"), std::string::npos) << error;
  EXPECT_FALSE(fs::exists(folder_ / "second"));
  profiler::stop();
  error = error_of<Error>([&] { profiler::stop(); });
  EXPECT_NE(error.find("profiler::start"), std::string::npos) << error;
}

TEST_F(ProfilerTest, RefusesAFolderThatCannotBeWritten) {
  write_file_atomically(folder_ / "file", "text");
  std::string error = error_of<FileError>([&] { profiler::start(folder_ / "file/logs"); });
  EXPECT_NE(error.find("file/logs"), std::string::npos) << error;
  EXPECT_NE(error_of<Error>([&] { profiler::stop(); }), "");  // nothing runs
}

TEST_F(ProfilerTest, RefusesStepsThatCannotBe) {
  for (StepRange steps : {StepRange(0, 3), StepRange(5, 4), StepRange(-1)}) {
    std::string error = error_of<ValueError>([&] { Profiler({.steps = steps}); });
    EXPECT_NE(error.find("counted from 1"), std::string::npos) << error;
  }
  EXPECT_NE(error_of<ValueError>([] {
              TensorBoard({.profile_batch = {5, 4}});
            }).find("profile_batch"),
            std::string::npos);
  Sequential model = compiled();
  std::string error = error_of<ValueError>([&] {
    model.fit(batches(), {.epochs = 2, .verbose = 0, .callbacks = {Profiler({.steps = {41, 50}})}});
  });
  EXPECT_NE(error.find("the fit has 40"), std::string::npos) << error;
  EXPECT_NE(error_of<ValueError>([&] {
              profiler::start(folder_ / "logs", {.max_events = 3});
            }).find("max_events"),
            std::string::npos);
}

TEST_F(ProfilerTest, EndsWithTheTraining) {
  Sequential model = compiled();
  Profiler profiler({.log_dir = folder_ / "logs", .steps = {15, 100}});
  model.fit(batches(), {.epochs = 1, .verbose = 0, .callbacks = {profiler}});
  ASSERT_TRUE(profiler.profile().has_value());
  EXPECT_EQ(profiler.profile()->steps[0].steps, 6);
  EXPECT_THROW(profiler::stop(), Error);
}

TEST_F(ProfilerTest, SaysWhenATrainingEndsBeforeItsSteps) {
  struct Stopper : Callback {
    void on_train_batch_end(int64_t batch, const Logs&) override {
      if (batch == 3) model().stop_training();
    }
  } stopper;
  Sequential model = compiled();
  Profiler profiler({.log_dir = folder_ / "logs", .steps = {10, 12}});
  model.fit(batches(), {.epochs = 1, .verbose = 0, .callbacks = {profiler, stopper}});
  EXPECT_FALSE(profiler.profile().has_value());
  EXPECT_NE(said_.str().find("ended after 4 steps, before step 10"), std::string::npos)
      << said_.str();
}

TEST_F(ProfilerTest, IsOverWhenAFitFails) {
  struct Thrower : Callback {
    void on_train_batch_end(int64_t batch, const Logs&) override {
      if (batch == 5) throw std::runtime_error("enough");
    }
  } thrower;
  Sequential model = compiled();
  EXPECT_THROW(
      model.fit(batches(), {.epochs = 1,
                            .verbose = 0,
                            .callbacks = {Profiler({.log_dir = folder_ / "logs", .steps = {2, 20}}),
                                          thrower}}),
      std::runtime_error);
  profiler::start(folder_ / "again");
  profiler::stop();
}

TEST_F(ProfilerTest, GoesOnWhereACheckpointStood) {
  Profiler profiler({.log_dir = folder_ / "logs", .steps = {3, 5}});
  profiler.restore({.values = {{"steps", int64_t(12)}}});
  EXPECT_EQ(profiler.state().values.get<int64_t>("steps"), 12);
  EXPECT_THROW(profiler.restore({}), ValueError);
}

TEST_F(ProfilerTest, WorksOnTheReferenceEngine) {
  context_.device = "reference";
  Sequential model = compiled();
  profiler::start(folder_ / "logs");
  model.fit(batches(), {.epochs = 1, .steps_per_epoch = 2, .verbose = 0});
  Profile profile = profiler::stop();
  ASSERT_EQ(profile.steps.size(), 1U);
  EXPECT_EQ(profile.peak_flops, 0);  // nothing to compare with
  EXPECT_GT(profile.steps[0].op_seconds, 0);
}

TEST_F(ProfilerTest, GivesTensorBoardWhatTheDoctorSawInEveryEpoch) {
  Sequential model = compiled();
  model.fit(batches(),
            {.epochs = 2, .verbose = 0, .callbacks = {TensorBoard({.log_dir = folder_ / "logs"})}});
  std::string events;
  for (const auto& entry : fs::directory_iterator(folder_ / "logs/train"))
    events += read_text(entry.path().string());
  for (const char* tag :
       {"doctor/step_milliseconds", "doctor/samples_per_second", "doctor/share_compute",
        "doctor/share_input", "doctor/share_unexplained"}) {
    size_t first = events.find(tag);
    ASSERT_NE(first, std::string::npos) << tag;
    EXPECT_NE(events.find(tag, first + 1), std::string::npos) << tag << " of the second epoch";
  }
}

TEST_F(ProfilerTest, TellsTensorBoardWhatLimitsTheTraining) {
  Sequential model = compiled();
  // Sixty steps are needed for a first word: an epoch has twenty.
  model.fit(batches(),
            {.epochs = 5, .verbose = 0, .callbacks = {TensorBoard({.log_dir = folder_ / "logs"})}});
  test::PeerResult seen = test::run_peer("formats/tensorboard/check.py", folder_ / "logs");
  if (seen.skipped) STOKER_SKIP_WITHOUT_PACKAGE(seen.output);
  ASSERT_EQ(seen.code, 0) << seen.output;
  json limits = json::parse(seen.last_line())["train"]["texts"]["doctor/limit"];
  ASSERT_EQ(limits.size(), 3U) << seen.last_line();
  std::set<std::string> words;
  for (size_t i = 0; i < enumerators<Limit>(); ++i) words.emplace(name(Limit(i)));
  for (size_t i = 0; i < limits.size(); ++i) {
    EXPECT_EQ(limits[i][0], i + 2);  // the epoch
    EXPECT_TRUE(words.contains(limits[i][1])) << limits[i];
  }
}

TEST_F(ProfilerTest, MeasuresTheLayersOfASummary) {
  test::TempDir folder;
  Sequential model = compiled();
  model.fit(batches(), {.epochs = 1, .verbose = 0});
  model.save(folder / "before");
  std::string text = model.summary({.batch_size = 16, .measure = true});
  model.save(folder / "after");
  EXPECT_EQ(read_file(folder / "before"), read_file(folder / "after"));
  for (const char* word : {"Forward", "Backward", "Update", "(loss, metrics, optimiser)",
                           "A training step at batch 16"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
  test::expect_time_of("hidden", text);
  EXPECT_EQ(model.summary().find("Forward "), std::string::npos);
  EXPECT_EQ(model.history().epochs().size(), 1U);
}

TEST_F(ProfilerTest, MeasuresNothingBeforeCompile) {
  Sequential model({Input({4}), Dense(2)});
  std::string error = error_of<Error>([&] { (void)model.summary({.measure = true}); });
  EXPECT_NE(error.find("summary({.measure = true})"), std::string::npos) << error;
}

}  // namespace
}  // namespace stoker
