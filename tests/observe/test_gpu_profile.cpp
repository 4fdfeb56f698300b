// The profiler on a GPU: steps taken apart, steps replayed as a whole, and the trace of both.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "observe/gpu_training.h"
#include "observe/machine_peaks.h"
#include "observe/profile_checks.h"
#include "support/temp_dir.h"

namespace stoker::test {

using namespace doctor;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class GpuProfile : public GpuTraining {
 protected:
  // Both layers with weights, in both directions.
  static void expect_layers(const StepProfile& step) {
    for (const char* name : {"first", "probs"}) {
      auto found = std::ranges::find(step.layers, name, &LayerProfile::layer);
      ASSERT_NE(found, step.layers.end()) << name;
      EXPECT_GT(found->forward, 0) << name;
      EXPECT_GT(found->backward, 0) << name;
      EXPECT_GT(found->flops, 0) << name;
      EXPECT_GT(found->bytes, 0) << name;
      EXPECT_GT(found->memory, 0) << name;
      EXPECT_GT(found->live, 0) << name;
    }
  }

  static void expect_sane_shares(const Profile& profile) {
    EXPECT_GT(profile.peak_flops, 0);
    EXPECT_GT(profile.peak_bandwidth, 0);
    for (const StepProfile& step : profile.steps)
      for (const LayerReport& op : step.ops)
        EXPECT_LE(op.live, double(step.memory.total)) << op.layer << "/" << op.op;
  }

  Profile profile_of_fit(Context& context, int64_t steps) {
    Sequential model = picture_model(context);
    Data data = pictures(steps * kBatch, 1);
    profiler::start(folder_ / "logs");
    model.fit(data.x, data.y, {.batch_size = kBatch, .verbose = 0});
    return profiler::stop();
  }

  TempDir folder_;
};
INSTANTIATE_TEST_SUITE_P(Policies, GpuProfile, testing::Values("float32", "mixed_bfloat16"),
                         [](const auto& policy) { return policy.param; });

TEST_P(GpuProfile, SeesEveryLayerForwardsAndBackwards) {
  Context gpu = context();
  Profile profile = profile_of_fit(gpu, 40);
  ASSERT_EQ(profile.steps.size(), 1U) << profile.text();
  const StepProfile& step = profile.steps[0];
  EXPECT_EQ(step.kind, "train");
  EXPECT_EQ(step.steps, 40);
  EXPECT_EQ(step.timed_steps, 20);  // the rest is left alone
  EXPECT_EQ(step.batch_size, kBatch);
  EXPECT_GT(step.memory.total, 0U);
  expect_layers(step);
  expect_sums(step);
  expect_sane_shares(profile);
  EXPECT_EQ(profile.device_name.find("CPU"), std::string::npos);
  std::cout << profile.text();
}

TEST_P(GpuProfile, KnowsWhatTheMachineReaches) {
  Context gpu = context();
  const MachinePeaks& peaks = machine_peaks(gpu);
  for (double MemoryRates::*rate :
       {&MemoryRates::read, &MemoryRates::copy, &MemoryRates::fill, &MemoryRates::update}) {
    EXPECT_GT(peaks.memory.*rate, 0);
    EXPECT_GE(peaks.cache.*rate, peaks.memory.*rate);
    std::cout << 1e-9 * peaks.memory.*rate << " GB/s, in the cache " << 1e-9 * peaks.cache.*rate
              << "\n";
  }
  EXPECT_GT(peaks.flops, 0);
}

TEST_P(GpuProfile, TakesAStepApartThatIsNotCaptured) {
  Context gpu = context({.capture = false});
  Profile profile = profile_of_fit(gpu, 30);
  ASSERT_EQ(profile.steps.size(), 1U) << profile.text();
  EXPECT_EQ(profile.steps[0].timed_steps, 20);
  expect_layers(profile.steps[0]);
  expect_sums(profile.steps[0]);
  expect_sane_shares(profile);
}

TEST_P(GpuProfile, ChangesNoBitOfATrainingFedByAPipelineOrByArrays) {
  for (bool captured : {true, false})
    for (bool piped : {true, false}) {
      std::vector<std::string> ends;
      for (bool profiled : {false, true}) {
        Context gpu = context({.capture = captured});
        Sequential model = picture_model(gpu);
        Data data = pictures(31 * kBatch + 7, 1);  // the last batch has a program of its own
        if (profiled) profiler::start(folder_ / "logs", {.op_steps = 9});
        History history =
            piped ? model.fit(pipeline(data), {.epochs = 2, .validation_data = pipeline(data)})
                  : model.fit(data.x, data.y, {.epochs = 2, .batch_size = kBatch, .verbose = 0});
        if (profiled) profiler::stop();
        ends.push_back(weights_sha256(model) + " " + std::to_string(history["loss"].back()));
      }
      EXPECT_EQ(ends[0], ends[1]) << (captured ? "captured, " : "") << (piped ? "piped" : "arrays");
    }
}

TEST_P(GpuProfile, ChangesNoBitWithAccumulationAndLossScaling) {
  std::vector<std::string> ends;
  for (bool profiled : {false, true}) {
    Context gpu = context();
    if (GetParam() != "float32") gpu.policy = "mixed_float16";
    Sequential model = picture_model(
        gpu,
        LossScaleOptimizer(Adam({.gradient_accumulation_steps = 2}), {.initial_scale = 16777216}));
    Data data = pictures(30 * kBatch, 1);
    if (profiled) profiler::start(folder_ / "logs");
    model.fit(data.x, data.y, {.batch_size = kBatch, .verbose = 0});
    if (profiled) {
      Profile profile = profiler::stop();
      std::set<std::string> kinds;
      for (const StepProfile& step : profile.steps) kinds.insert(step.kind);
      EXPECT_EQ(kinds, (std::set<std::string>{"accumulate", "train"}));
    }
    ends.push_back(weights_sha256(model));
  }
  EXPECT_EQ(ends[0], ends[1]);
}

// Events of the trace by lane of the device, in order, and the host's steps by name.
struct ParsedTrace {
  struct Event {
    std::string name;
    double begin = 0, end = 0;
  };
  std::map<std::string, std::vector<Event>> lanes;
  std::map<std::string, Event> steps;

  explicit ParsedTrace(const std::string& path) {
    json trace = json::parse(read_text(path));
    std::map<int, std::string> names;
    for (const json& event : trace["traceEvents"])
      if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      double begin = event["ts"], end = begin + event["dur"].get<double>();
      Event found{event["name"], begin, end};
      lanes[names[event["tid"]]].push_back(found);
      if (names[event["tid"]] == "training" && found.name.starts_with("step "))
        steps[found.name] = found;
    }
  }
};

constexpr double kRounding = 0.002;  // microseconds, of a trace's numbers

void expect_apart(const std::vector<ParsedTrace::Event>& events) {
  for (size_t i = 1; i < events.size(); ++i)
    EXPECT_GE(events[i].begin, events[i - 1].end - kRounding)
        << events[i - 1].name << " and " << events[i].name;
}

bool inside(const ParsedTrace::Event& event, const ParsedTrace::Event& of) {
  return of.begin - kRounding <= event.begin && event.end <= of.end + kRounding;
}

// A fit after another one of the same model: what the device tells of the first belongs to no step
// of the second.
TEST_P(GpuProfile, DrawsLanesOfComputingAndCopyingForTheStepsOfTheSecondFitToo) {
  for (bool piped : {true, false}) {
    Context gpu = context();
    Sequential model = picture_model(gpu);
    Data data = pictures(60 * kBatch, 1);
    model.fit(data.x, data.y, {.batch_size = kBatch, .verbose = 0});
    std::string logs = folder_ / (piped ? "piped" : "arrays");
    Profiler profiler({.log_dir = logs, .steps = {5, 24}, .verbose = 0});
    if (piped)
      model.fit(pipeline(data), {.verbose = 0, .callbacks = {profiler}});
    else
      model.fit(data.x, data.y, {.batch_size = kBatch, .verbose = 0, .callbacks = {profiler}});
    const Profile& profile = *profiler.profile();
    ASSERT_EQ(profile.steps.size(), 1U);
    EXPECT_EQ(profile.steps[0].steps, 20);
    EXPECT_EQ(profile.steps[0].timed_steps, 10);
    EXPECT_EQ(profile.fit_steps, 8);  // from the beginning of one to that of the next
    EXPECT_LE(profile.shares[Owner::unexplained], 0.03);

    ParsedTrace trace(logs + "/trace.json");
    ASSERT_EQ(trace.steps.size(), 20U);
    expect_apart(trace.lanes["compute"]);
    expect_apart(trace.lanes["copy"]);
    EXPECT_EQ(trace.lanes["copy"].size(), 20U);
    std::map<double, double> ops;  // of the steps that were taken apart, by their beginning
    size_t whole = 0;
    for (const ParsedTrace::Event& event : trace.lanes["compute"]) {
      if (event.name.starts_with("step ")) {
        ASSERT_TRUE(trace.steps.contains(event.name)) << event.name;
        EXPECT_GE(event.begin, trace.steps[event.name].begin) << event.name;
        ++whole;
        continue;
      }
      auto step = std::ranges::find_if(
          trace.steps, [&](const auto& each) { return inside(event, each.second); });
      ASSERT_NE(step, trace.steps.end()) << event.name;
      ops[step->second.begin] += event.end - event.begin;
    }
    EXPECT_EQ(whole, 9U);
    ASSERT_EQ(ops.size(), 11U);
    ops.erase(ops.begin());  // the first is not in the tables: it is captured for this
    double sum = 0;
    for (auto [begin, of_step] : ops) sum += of_step;
    EXPECT_NEAR(sum, 1e6 * 10 * profile.steps[0].op_seconds, 1);
    EXPECT_NE(profile.text().find("compute"), std::string::npos);
  }
}

TEST_P(GpuProfile, GivesTensorBoardADeviceOfItsOwn) {
  Context gpu = context();
  Sequential model = picture_model(gpu);
  Data data = pictures(30 * kBatch, 1);
  model.fit(pipeline(data),
            {.verbose = 0,
             .callbacks = {TensorBoard({.log_dir = folder_ / "logs", .profile_batch = {5, 24}})}});
  std::string planes;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "logs"))
    if (entry.path().string().ends_with(".xplane.pb")) planes = read_text(entry.path().string());
  for (const char* part : {"/host:CPU", "/device:GPU:0", "(Compute)", "(MemcpyH2D)",
                           "correlation_id", "step, replayed as a whole"})
    EXPECT_NE(planes.find(part), std::string::npos) << part;
  json expected{
      {"spans", {"run", "IteratorGetNext (wait for batch)"}}, {"device", true}, {"steps", 18}};
  expect_plugin_shows(folder_ / "logs", expected, {"first", "probs"});
}

TEST_P(GpuProfile, MeasuresTheLayersOfASummary) {
  Context gpu = context();
  Sequential model = picture_model(gpu);
  Data data = pictures(4 * kBatch, 1);
  model.fit(data.x, data.y, {.batch_size = kBatch, .verbose = 0});
  std::string before = weights_sha256(model);
  std::string text = model.summary({.batch_size = kBatch, .measure = true});
  EXPECT_EQ(weights_sha256(model), before);
  EXPECT_TRUE(says(text, {"Forward", "Backward", "Update", "A training step at batch 32"}));
  expect_time_of("first", text);
}

TEST_P(GpuProfile, SeesEvaluationAndPrediction) {
  Context gpu = context();
  Sequential model = picture_model(gpu);
  Data data = pictures(30 * kBatch, 1);
  profiler::start(folder_ / "logs");
  model.evaluate(data.x, data.y, {.batch_size = kBatch, .verbose = 0});
  model.predict(data.x, {.batch_size = kBatch});
  Profile profile = profiler::stop();
  std::set<std::string> kinds;
  for (const StepProfile& step : profile.steps) kinds.insert(step.kind);
  EXPECT_EQ(kinds, (std::set<std::string>{"test", "predict"}));
}

}  // namespace

}  // namespace stoker::test
