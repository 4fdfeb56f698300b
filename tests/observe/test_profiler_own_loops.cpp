// The profiler on everything that runs beside fit: own loops, several models in a step, single
// steps, evaluation, predictions; and the ranges for tools from outside.
#include <gtest/gtest.h>
#include <stoker/stoker.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/tracing.h"
#include "observe/profile_checks.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using nlohmann::json;

class OwnLoopProfile : public testing::Test {
 protected:
  OwnLoopProfile() {
    context_.device = "cpu";
    context_.out = nullptr;
    context_.seed.set(1);
    context_.threads.compute = 1;
  }

  static Sequential network(const std::string& first, const std::string& second, int64_t inputs,
                            int64_t outputs) {
    return Sequential({Input({inputs}), Dense(16, {.activation = "relu", .name = first}),
                       Dense(outputs, {.name = second})});
  }

  const StepProfile& step_of(const Profile& profile, const std::string& kind) const {
    static const StepProfile none;
    auto found = std::ranges::find(profile.steps, kind, &StepProfile::kind);
    if (found != profile.steps.end()) return *found;
    ADD_FAILURE() << "no step \"" << kind << "\" in\n" << profile.text();
    return none;
  }

  static std::set<std::string> layers_of(const StepProfile& step) {
    std::set<std::string> names;
    for (const LayerProfile& layer : step.layers) names.insert(layer.layer);
    return names;
  }

  Context context_;
  test::TempDir folder_;
};

TEST_F(OwnLoopProfile, SeesEveryCallOfAFunctionAndChangesNoBit) {
  std::vector<std::vector<Tensor>> ends;
  for (bool profiled : {false, true}) {
    set_seed(1);
    Sequential model = network("hidden", "line", 4, 1);
    Adam adam;
    auto step = function(
        [&](Value x, Value y) {
          Value loss = mean_squared_error(y, model(x));
          adam.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
          return loss;
        },
        {.name = "my_step", .context = &context_});
    if (profiled) profiler::start(folder_ / "logs");
    for (int i = 0; i < 7; ++i) step(Tensor::full({8, 4}, 0.5 * i), Tensor::full({8, 1}, 1.0));
    ends.push_back(model.get_weights());
    if (!profiled) continue;
    Profile profile = profiler::stop();
    EXPECT_EQ(profile.text().find("No step ran"), std::string::npos);
    const StepProfile& seen = step_of(profile, "my_step");
    EXPECT_EQ(seen.steps, 7);
    EXPECT_EQ(seen.timed_steps, 7);
    EXPECT_EQ(seen.batch_size, 8);
    test::expect_sums(seen);
    std::set<std::string> layers = layers_of(seen);
    EXPECT_TRUE(layers.contains("hidden") && layers.contains("line")) << profile.text();
    EXPECT_EQ(profile.fit_steps, 0) << "no fit ran";
  }
  EXPECT_EQ(ends[0], ends[1]);
  // Every call is a step of the trace, with its ops inside.
  std::multiset<std::string> names;
  json trace = json::parse(read_text(folder_ / "logs/trace.json"));
  for (const json& event : trace["traceEvents"]) names.insert(event["name"].get<std::string>());
  for (int i = 0; i < 7; ++i) EXPECT_EQ(names.count("step " + std::to_string(i)), 1U) << i;
  EXPECT_EQ(names.count("run my_step"), 7U);
  auto ops =
      std::ranges::count_if(names, [](const auto& name) { return name.starts_with("hidden/"); });
  EXPECT_GE(ops, 7) << "forward and backward of every call";
}

TEST_F(OwnLoopProfile, SeesSeveralModelsInAStep) {
  set_seed(1);
  Sequential generator = network("dream", "draw", 2, 4), judge = network("look", "judge", 4, 1);
  SGD first, second;
  auto step = function(
      [&](Value real, Value noise) {
        Value fake = ops::stop_gradient(generator(noise));
        Value judged = ops::mean(ops::softplus(-judge(real)) + ops::softplus(judge(fake)));
        first.apply(gradients(judged, judge.trainable_variables()), judge.trainable_variables());
        Value fooled = ops::mean(ops::softplus(-judge(generator(noise))));
        second.apply(gradients(fooled, generator.trainable_variables()),
                     generator.trainable_variables());
        return Values{judged, fooled};
      },
      {.name = "adversaries", .context = &context_});
  profiler::start(folder_ / "logs");
  for (int i = 0; i < 3; ++i) step(Tensor::full({8, 4}, 1.0), Tensor::full({8, 2}, 0.5));
  Profile profile = profiler::stop();
  std::set<std::string> layers = layers_of(step_of(profile, "adversaries"));
  for (const char* layer : {"dream", "draw", "look", "judge"})
    EXPECT_TRUE(layers.contains(layer)) << layer << "\n" << profile.text();
}

TEST_F(OwnLoopProfile, SeesTwoFunctionsOfOneLoopApart) {
  Variable w("w", Tensor::full({4}, 1.0));
  FunctionOptions options{.context = &context_};
  options.name = "first";
  auto first = function([&](Value x) { return ops::sum(Value(w) * x); }, options);
  options.name = "second";
  auto second = function([&](Value x) { return ops::max(Value(w) * x); }, options);
  profiler::start(folder_ / "logs");
  for (int i = 0; i < 2; ++i) first(Tensor::zeros({4})), second(Tensor::zeros({4}));
  first(Tensor::zeros({4}));
  Profile profile = profiler::stop();
  EXPECT_EQ(step_of(profile, "first").steps, 3);
  EXPECT_EQ(step_of(profile, "second").steps, 2);
}

TEST_F(OwnLoopProfile, SeesSingleStepsEvaluationAndPredictions) {
  set_seed(1);
  Sequential model = network("hidden", "line", 4, 1);
  model.compile({.optimizer = "sgd", .loss = "mse", .context = &context_});
  Tensor x = Tensor::full({32, 4}, 0.5), y = Tensor::zeros({32, 1});
  profiler::start(folder_ / "logs");
  for (int i = 0; i < 3; ++i) model.train_on_batch(x, y);
  model.test_on_batch(x, y);
  model.evaluate(x, y, {.batch_size = 16});
  model.predict(x, {.batch_size = 8});
  model.predict_on_batch(x);
  model(x, {.training = true});
  Profile profile = profiler::stop();
  std::map<std::string, int64_t> runs;
  for (const StepProfile& step : profile.steps) runs[step.kind] += step.steps;
  EXPECT_EQ(runs["train"], 3) << profile.text();
  EXPECT_EQ(runs["test"], 1 + 2);
  EXPECT_EQ(runs["predict"], 4 + 1);
  EXPECT_EQ(runs.size(), 4U) << "and the call in training mode";
}

TEST_F(OwnLoopProfile, OfAFitWithValidationAndAnOwnLoopKeepsThemApart) {
  set_seed(1);
  Sequential model = network("hidden", "line", 4, 1);
  model.compile({.optimizer = "sgd", .loss = "mse", .context = &context_});
  Tensor x = Tensor::full({32, 4}, 0.5), y = Tensor::zeros({32, 1});
  auto step = function([&](Value v) { return model(v); }, {.name = "own", .context = &context_});
  profiler::start(folder_ / "logs");
  step(x);
  model.fit(x, y, {.epochs = 2, .batch_size = 8, .validation_data = {x, y}, .verbose = 0});
  step(x);
  Profile profile = profiler::stop();
  EXPECT_EQ(profile.fit_steps, 8) << "steps of fit alone";
  EXPECT_EQ(step_of(profile, "own").steps, 2);
  EXPECT_EQ(step_of(profile, "train").steps, 8);
  EXPECT_EQ(step_of(profile, "test").steps, 8);
}

// What a tool from outside would see, by thread in order.
class RecordedRanges final : public RangeSink {
 public:
  void push(const char* name) override {
    std::lock_guard lock(mutex_);
    names_.insert(name);
    ++depth_[this_thread_number()];
  }
  void pop() override {
    std::lock_guard lock(mutex_);
    balanced_ = --depth_[this_thread_number()] >= 0 && balanced_;
  }
  size_t count(const std::string& name) const { return names_.count(name); }
  bool balanced() const {
    return balanced_ &&
           std::ranges::all_of(depth_, [](const auto& entry) { return entry.second == 0; });
  }

 private:
  std::mutex mutex_;
  std::multiset<std::string> names_;
  std::map<int, int> depth_;
  bool balanced_ = true;
};

TEST_F(OwnLoopProfile, RangesNameWhatRunsForOtherTools) {
  set_seed(1);
  Sequential model = network("hidden", "line", 4, 1);
  model.compile({.optimizer = "sgd", .loss = "mse", .context = &context_});
  Tensor x = Tensor::full({32, 4}, 0.5), y = Tensor::zeros({32, 1});
  auto step = function([&](Value v) { return model(v); }, {.name = "own", .context = &context_});
  auto ranges = std::make_shared<RecordedRanges>();
  active_ranges().set(ranges);
  model.fit(data::from_slices({x, y}).batch(8),
            {.epochs = 2,
             .validation_data = {x, y},
             .verbose = 0,
             .callbacks = {EarlyStopping({.monitor = "loss", .patience = 5})}});
  step(x);
  active_ranges().set(nullptr);
  step(x);
  EXPECT_EQ(ranges->count("epoch"), 2U);
  EXPECT_EQ(ranges->count("train"), 8U);
  EXPECT_EQ(ranges->count("test"), 2U);
  EXPECT_EQ(ranges->count("validation"), 2U);
  EXPECT_EQ(ranges->count("wait for batch"), 10U) << "the last of an epoch finds none";
  EXPECT_EQ(ranges->count("own"), 1U) << "off again";
  EXPECT_GE(ranges->count("EarlyStopping"), 8U);
  EXPECT_GE(ranges->count("batches"), 1U) << "the pipeline's threads";
  EXPECT_TRUE(ranges->balanced());
}

TEST_F(OwnLoopProfile, RangesThatThisBuildCannotGiveAreAnError) {
  try {
    profiler::emit_ranges();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("STOKER_CUDA=ON"), std::string::npos);
    return;
  }
  EXPECT_FALSE(active_ranges().empty());
  profiler::emit_ranges(false);
  EXPECT_TRUE(active_ranges().empty());
}

}  // namespace
}  // namespace stoker
