// What was recorded becomes lanes, tables and files: all of it by hand, without a clock.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "observe/profile/report.h"
#include "observe/profile/timeline.h"
#include "observe/profile/trace_files.h"
#include "support/peer_python.h"
#include "support/temp_dir.h"
#include "train/model/trainer.h"

namespace stoker {

using namespace doctor;
namespace {

using nlohmann::json;

KernelInfo kernel(const char* op, const char* scope, Phase phase, double flops) {
  return {.op = op,
          .kernel = "own",
          .scope = scope,
          .phase = phase,
          .cost = {.flops = flops, .bytes = 10},
          .memory = 4,
          .live = size_t(flops)};
}

// Two steps of a fit, each taken apart, and a pipeline's thread beside them.
Recorded two_steps() {
  Recorded recorded{.begin = 1000, .end = 3000, .since_1970 = 5, .device_name = "a CPU"};
  recorded.programs.push_back({.kind = "train",
                               .batch_size = 8,
                               .kernels = {kernel("matmul", "hidden", Phase::forward, 100),
                                           kernel("matmul", "hidden", Phase::backward, 200),
                                           kernel("adam", "", Phase::update, 50)},
                               .results = {{{"hidden", "matmul", Phase::forward}, 6}},
                               .runs = 2,
                               .timed = 2,
                               .timed_ns = 700,
                               .sums = {200, 300, 100}});
  for (int64_t step = 0; step < 2; ++step) {
    int64_t at = 1000 + 1000 * step;
    recorded.runs.push_back({.program = 0, .end = at + 600, .ns = {100, 150, 50}});
    recorded.steps.push_back({.number = 10 + step,
                              .times = {.epoch = 1,
                                        .step = step,
                                        .samples = 8,
                                        .asked = at,
                                        .ready = at + 200,
                                        .run = at + 250,
                                        .ran = at + 650,
                                        .end = at + 1000}});
  }
  recorded.training_thread = 4;
  recorded.spans.spans = {{.name = "run", .thread = 4, .begin = 1250, .end = 1650},
                          {.name = "before", .thread = 5, .begin = 900, .end = 1100},
                          {.name = "map(\"a\")", .thread = 5, .begin = 1200, .end = 1500},
                          {.name = "map(\"a\")", .thread = 5, .begin = 1500, .end = 1900}};
  recorded.threads = {{4, "main"}, {5, "pipeline-0"}};
  return recorded;
}

const Lane& lane(const Timeline& timeline, const std::string& name) {
  for (const Lane& each : timeline.lanes)
    if (each.name == name) return each;
  throw std::runtime_error("no lane " + name);
}

TEST(Timeline, HasALaneForEveryThreadAndForTheDevice) {
  Recorded recorded = two_steps();
  Timeline timeline = make_timeline(recorded);
  ASSERT_EQ(timeline.lanes.size(), 3U);
  EXPECT_EQ(timeline.lanes[0].name, "training");
  EXPECT_EQ(timeline.lanes[0].events.size(), 5U);  // two steps, two waits, a span
  EXPECT_EQ(lane(timeline, "pipeline-0").events.size(), 2U);
  EXPECT_EQ(lane(timeline, "compute").events.size(), 6U);
  EXPECT_EQ(timeline.events, 13);
  EXPECT_EQ(timeline.dropped, 0);
}

TEST(Timeline, LeavesOutWhatBeganBeforeTheProfile) {
  Recorded recorded = two_steps();
  Timeline timeline = make_timeline(recorded);
  for (const TimelineEvent& event : lane(timeline, "pipeline-0").events)
    EXPECT_NE(event.name, "before");
}

TEST(Timeline, PutsTheOpsOfAStepBehindEachOtherUpToItsEnd) {
  Recorded recorded = two_steps();
  Timeline timeline = make_timeline(recorded);
  const std::vector<TimelineEvent>& ops = lane(timeline, "compute").events;
  EXPECT_EQ(ops[0].begin, 300);  // 600 - 100 - 150 - 50
  EXPECT_EQ(ops[0].end, ops[1].begin);
  EXPECT_EQ(ops[2].end, 600);
  EXPECT_EQ(op_label(*ops[1].kernel), "hidden/backward/matmul");
  EXPECT_EQ(op_label(*ops[2].kernel), "step/update/adam");
}

TEST(Timeline, PutsADevicesStepsAndCopiesOnTheHostsClock) {
  Recorded recorded = two_steps();
  recorded.gpu = true;
  recorded.runs.pop_back();  // the second step was replayed as a whole
  recorded.steps[0].taken_apart = true;
  recorded.steps[0].device = DeviceStep{.launched = 1260, .issued = 1260, .busy = 300, .copy = 40};
  recorded.steps[1].device = DeviceStep{.launched = 2260,
                                        .issued = 2280,
                                        .run = 1,
                                        .busy = 320,
                                        .idle = 700,
                                        .copy = 50,
                                        .exposed_copy = 50};
  Timeline timeline = make_timeline(recorded);
  const std::vector<TimelineEvent>& compute = lane(timeline, "compute").events;
  ASSERT_EQ(compute.size(), 4U);  // three ops and a step
  EXPECT_EQ(compute[3].number, 11);
  EXPECT_EQ(compute[3].begin, 1280);  // it had run dry, and waited for the launch
  EXPECT_EQ(compute[3].end, 1580);
  const std::vector<TimelineEvent>& copies = lane(timeline, "copy").events;
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[1].end, 1260);
}

TEST(ProfileTables, LeaveStepsOfAGpuThatWereTakenApartOutOfTheAccounting) {
  Recorded recorded = two_steps();
  recorded.gpu = true;
  for (int64_t step : {0, 1, 2, 3}) {
    int64_t at = 10'000 + 1000 * step;
    recorded.steps.push_back({.number = 12 + step,
                              .times = {.epoch = 1,
                                        .step = 2 + step,
                                        .asked = at,
                                        .ready = at,
                                        .run = at,
                                        .ran = at + 100,
                                        .end = at + 1000},
                              .device = DeviceStep{.launched = at,
                                                   .issued = at,
                                                   .run = 2 + step,
                                                   .busy = 600,
                                                   .idle = step == 0 ? -1 : 400}});
  }
  for (size_t step : {0, 1}) recorded.steps[step].taken_apart = true;
  recorded.steps[1].device = DeviceStep{.launched = 2260, .issued = 2260, .run = 1, .busy = 10};
  Profile profile = make_profile(recorded, {});
  EXPECT_EQ(profile.fit_steps, 3);  // from the beginning of one to that of the next
  EXPECT_DOUBLE_EQ(profile.step_seconds, 1000e-9);
  EXPECT_DOUBLE_EQ(profile.shares[Owner::compute], 0.6);
}

TEST(Timeline, SaysWhatWasDropped) {
  Recorded recorded = two_steps();
  recorded.dropped = 7;
  recorded.spans.spans_lost = 5;
  EXPECT_EQ(make_timeline(recorded).dropped, 12);
}

TEST(ChromeTrace, IsJsonWithALaneForEveryThread) {
  Recorded recorded = two_steps();
  json trace = json::parse(chrome_trace(make_timeline(recorded), recorded));
  std::map<std::string, int> lanes;
  std::map<int, std::vector<json>> events;
  for (const json& event : trace.at("traceEvents")) {
    if (event["name"] == "thread_name") lanes[event["args"]["name"]] = event["tid"];
    if (event["ph"] == "X") events[event["tid"]].push_back(event);
  }
  ASSERT_EQ(lanes.size(), 3U);
  const json& step = events[lanes["training"]][0];
  EXPECT_EQ(step["name"], "step 10");
  EXPECT_EQ(step["args"]["epoch"], 1);
  EXPECT_EQ(step["dur"], 1.0);  // microseconds
  EXPECT_EQ(events[lanes["training"]][1]["name"], "wait for batch");
  EXPECT_EQ(events[lanes["compute"]][0]["name"], "hidden/matmul");
  EXPECT_EQ(events[lanes["compute"]][0]["args"]["flops"], 100);
  EXPECT_EQ(events[lanes["pipeline-0"]][0]["name"], "map(\"a\")");
  EXPECT_EQ(trace["otherData"]["events"], 13);
}

TEST(ChromeTrace, DrawsTheMemoryAsACurve) {
  Recorded recorded = two_steps();
  json trace = json::parse(chrome_trace(make_timeline(recorded), recorded));
  std::vector<int> held;
  for (const json& event : trace.at("traceEvents"))
    if (event["ph"] == "C") held.push_back(event["args"]["bytes"]);
  EXPECT_EQ(held, (std::vector<int>{100, 200, 50, 100, 200, 50}));
}

TEST(ChromeTrace, OfNothingIsJsonToo) {
  Recorded recorded{.begin = 1, .end = 2};
  EXPECT_NO_THROW(json::parse(chrome_trace(make_timeline(recorded), recorded)));
}

// Six steps of a millisecond, the first three of them taken apart.
Recorded gpu_steps() {
  constexpr int64_t kUs = 1000;
  Recorded recorded = two_steps();
  recorded.gpu = true;
  recorded.end = 8000 * kUs;
  recorded.device_name = "a GPU";
  recorded.runs.clear();
  recorded.steps.clear();
  for (int64_t step = 0; step < 6; ++step) {
    int64_t at = (1 + step) * 1000 * kUs;
    bool apart = step < 3;
    if (apart)
      recorded.runs.push_back(
          {.program = 0, .end = at + 800 * kUs, .ns = {200 * kUs, 250 * kUs, 50 * kUs}});
    recorded.steps.push_back({.number = step,
                              .times = {.step = step,
                                        .samples = 8,
                                        .asked = at,
                                        .ready = at + 100 * kUs,
                                        .run = at + 100 * kUs,
                                        .ran = at + 900 * kUs,
                                        .end = at + 1000 * kUs},
                              .taken_apart = apart,
                              .device = DeviceStep{.launched = at + 300 * kUs,
                                                   .issued = at + 300 * kUs,
                                                   .run = step,
                                                   .busy = 500 * kUs,
                                                   .idle = step == 0 ? -1 : 500 * kUs,
                                                   .copy = 100 * kUs}});
  }
  return recorded;
}

TEST(Timeline, KnowsTheStepOfEveryEventOfADevice) {
  Recorded recorded = gpu_steps();
  Timeline timeline = make_timeline(recorded);
  const std::vector<TimelineEvent>& compute = lane(timeline, "compute").events;
  ASSERT_EQ(compute.size(), 12U);  // nine ops and three steps
  for (size_t i = 0; i < compute.size(); ++i)
    EXPECT_EQ(compute[i].number, i < 9 ? int64_t(i / 3) : int64_t(i) - 6);
  const std::vector<TimelineEvent>& copies = lane(timeline, "copy").events;
  ASSERT_EQ(copies.size(), 6U);
  for (size_t i = 0; i < copies.size(); ++i) EXPECT_EQ(copies[i].number, int64_t(i));
}

TEST(XSpace, OfAGpuIsOpenedByTensorBoardsProfilePage) {
  test::TempDir folder;
  Recorded recorded = gpu_steps();
  std::string run = folder / "plugins/profile/run";
  local_files().create_directories(run);
  write_file_atomically(run + "/host.xplane.pb", xspace(make_timeline(recorded), recorded, "host"));
  json expected{{"ops", {"hidden/matmul", "hidden/backward/matmul"}},
                {"spans", {"IteratorGetNext (wait for batch)"}},
                {"device", true},
                {"steps", 4}};
  write_file_atomically(folder / "expected.json", expected.dump());
  STOKER_EXPECT_PEER("observe/profile/check_xplane.py", folder.path().string());
}

const MachinePeaks kAllPeaks{.flops = 1e12,
                             .memory = {.read = 1e12, .copy = 1e12, .fill = 1e12, .update = 1e12}};

TEST(ProfileTables, SumToTheTimeOfTheOps) {
  Recorded recorded = two_steps();
  Profile profile = make_profile(recorded, kAllPeaks);
  ASSERT_EQ(profile.steps.size(), 1U);
  const StepProfile& step = profile.steps[0];
  EXPECT_EQ(step.kind, "train");
  EXPECT_DOUBLE_EQ(step.seconds, 350e-9);
  EXPECT_DOUBLE_EQ(step.op_seconds, 300e-9);
  double ops = 0, layers = 0;
  for (const LayerReport& op : step.ops) ops += op.seconds;
  for (const LayerProfile& layer : step.layers) layers += layer.seconds();
  EXPECT_DOUBLE_EQ(ops, step.op_seconds);
  EXPECT_DOUBLE_EQ(layers, step.op_seconds);
  ASSERT_EQ(step.layers.size(), 2U);
  EXPECT_EQ(step.layers[0].layer, "hidden");
  EXPECT_DOUBLE_EQ(step.layers[0].forward, 100e-9);
  EXPECT_DOUBLE_EQ(step.layers[0].backward, 150e-9);
  EXPECT_DOUBLE_EQ(step.layers[0].flops, 300);
  auto forward = std::ranges::find(step.ops, "forward", &LayerReport::phase);
  EXPECT_DOUBLE_EQ(forward->written, 6);
  EXPECT_DOUBLE_EQ(step.layers[0].memory, 8);  // of both directions
  EXPECT_DOUBLE_EQ(step.layers[0].live, 200);  // the more of them
  EXPECT_DOUBLE_EQ(step.layers[0].compute_share, 300 / 250e-9 / 1e12);
}

TEST(ProfileTables, RaiseAPeakThatAKernelWentBeyond) {
  Recorded recorded = two_steps();
  recorded.programs[0].sums = {200'000, 300'000, 200};  // the last is too short to be believed
  Profile profile = make_profile(recorded, {.flops = 1, .memory = kAllPeaks.memory});
  EXPECT_DOUBLE_EQ(profile.peak_flops, 200 / 150e-6);
}

TEST(ProfileTables, TellWhatTheStepsOfAFitWaitedFor) {
  Profile profile = make_profile(two_steps(), {});
  EXPECT_EQ(profile.fit_steps, 2);
  EXPECT_DOUBLE_EQ(profile.step_seconds, 1000e-9);
  EXPECT_DOUBLE_EQ(profile.shares[Owner::input], 0.2);
  ASSERT_EQ(profile.host.size(), 2U);
  EXPECT_EQ(profile.host[0].thread, "pipeline");
  EXPECT_EQ(profile.host[0].name, "map(\"a\")");
  EXPECT_EQ(profile.host[0].count, 2);
  EXPECT_DOUBLE_EQ(profile.host[0].seconds, 700e-9);
}

TEST(ProfileTables, AreTextAndJson) {
  Profile profile = make_profile(two_steps(), kAllPeaks);
  json object = json::parse(profile.json());
  EXPECT_EQ(object["steps"][0]["layers"][0]["layer"], "hidden");
  EXPECT_EQ(object["steps"][0]["ops"].size(), 3U);
  EXPECT_DOUBLE_EQ(object["shares"]["input"], 0.2);
  std::string text = profile.text();
  for (const char* word : {"hidden", "forward", "backward", "GFLOP/s", "map(\"a\")", "(the step)"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
}

}  // namespace
}  // namespace stoker
