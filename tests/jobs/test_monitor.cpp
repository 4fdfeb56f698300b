// What `stoker monitor` shows of a machine and of a run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include <stoker/error.h>

#include "jobs/monitor.h"
#include "support/temp_dir.h"
#include "train/callbacks/event_log.h"

namespace stoker::jobs {
namespace {

using nlohmann::json;
using test::TempDir;

MachineState busy_machine() {
  WatchedGpu gpu{.state = {.name = "NVIDIA H200",
                           .use = 0.72,
                           .memory_bytes = 38'200'000'000,
                           .memory_total = 150'100'000'000,
                           .power_watts = 412,
                           .power_limit_watts = 700,
                           .temperature = 54,
                           .clock_mhz = 1830,
                           .clock_max_mhz = 1980,
                           .throttle_reasons = {"its temperature"}},
                 .activity = {.occupancy = 0.41, .tensor_use = 0.33},
                 .processes = {{4123, "stoker", 12'400'000'000}}};
  return {.cores = {0.1, 0.9},
          .usable_cores = 2,
          .memory_total = 64'000'000'000,
          .memory_free = 48'000'000'000,
          .disks = {{"nvme0n1", 120e6, 3e6, 0.14}},
          .file_systems = {{"/", 500'000'000'000, 120'000'000'000}},
          .gpus = {gpu}};
}

MonitorReading reading_of(std::optional<RunStatus> run = {}) {
  return {.clock = "12:41:07",
          .folder = run ? "runs/a" : "",
          .run = std::move(run),
          .machine = busy_machine()};
}

RunStatus training() {
  return {.state = RunState::training,
          .epoch = 3,
          .epochs = 20,
          .step = 412,
          .steps = 1875,
          .seconds = 62,
          .seconds_left = 461,
          .metrics = {{"loss", 0.1432}, {"val_accuracy", 0.948}}};
}

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

json status_file() {
  return {{"stoker_status", 1},  {"pid", getpid()},
          {"host", host_name()}, {"time", 0},
          {"state", "training"}, {"epoch", 1},
          {"epochs", 2},         {"step", 5},
          {"steps", -1},         {"metrics", {{{"name", "loss"}, {"value", nullptr}}}}};
}

TEST(Monitor, ShowsEveryGpuTheCoresAndTheDisks) {
  expect_parts(monitor_screen(reading_of(), {.width = 120}), {"this machine",
                                                              "GPU 0",
                                                              "NVIDIA H200",
                                                              "72 %",
                                                              "occupancy 41 %",
                                                              "tensor cores 33 %",
                                                              "38.2 of 150.1 GB",
                                                              "412 of 700 W",
                                                              "54 °C",
                                                              "1830 of 1980 MHz",
                                                              "held back by its temperature",
                                                              "4123 stoker",
                                                              "12.4 GB",
                                                              "50 % of 2",
                                                              "▁█",
                                                              "48.0 of 64.0 GB free",
                                                              "nvme0n1",
                                                              "120.0 MB/s read",
                                                              "3.0 MB/s written",
                                                              "14 % busy",
                                                              "120.0 of 500.0 GB free"});
}

TEST(Monitor, ShowsHowARunStands) {
  expect_parts(monitor_screen(reading_of(training()), {.width = 100}),
               {"runs/a", "epoch 3/20", "step 412/1875", "7:41 left", "1:02 passed", "loss 0.1432",
                "val_accuracy 0.948"});
  RunStatus failed = training();
  failed.state = RunState::failed;
  failed.reason = "the loss is not finite";
  expect_parts(monitor_screen(reading_of(failed), {.width = 100}),
               {"failed", "the loss is not finite"});
  RunStatus finished = training();
  finished.state = RunState::finished;
  expect_parts(monitor_screen(reading_of(finished), {.width = 100}), {"finished"});
  RunStatus silent = training();
  silent.age = 30;
  expect_parts(monitor_screen(reading_of(silent), {.width = 100}), {"last heard 30 s ago"});
}

TEST(Monitor, EndsWithTheRun) {
  RunStatus run = training();
  EXPECT_FALSE(is_over(reading_of()));
  EXPECT_FALSE(is_over(reading_of(RunStatus())));
  EXPECT_FALSE(is_over(reading_of(run)));
  for (RunState state : {RunState::finished, RunState::failed}) {
    run.state = state;
    EXPECT_TRUE(is_over(reading_of(run)));
  }
}

TEST(Monitor, StaysWithinTheTerminalAndItsColours) {
  for (int width : {40, 60, 80, 200}) {
    std::string screen = monitor_screen(reading_of(training()), {.width = width});
    EXPECT_EQ(screen.find('\x1b'), std::string::npos);
    int columns = 0;
    for (char c : screen) {
      columns = c == '\n' ? 0 : columns + int((uint8_t(c) & 0xC0) != 0x80);
      ASSERT_LT(columns, width) << screen;
    }
  }
  std::string coloured =
      monitor_screen(reading_of(training()), {.live = true, .colour = true, .width = 80});
  EXPECT_NE(coloured.find("\x1b["), std::string::npos);
}

TEST(Monitor, WritesOneLineForPipes) {
  std::string line = monitor_line(reading_of(training()));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  expect_parts(line, {"12:41:07  training  epoch 3/20  step 412/1875", "loss 0.1432", "7:41 left",
                      "GPU 0: 72 %, 38.2 GB, 412 W, held back", "cores 50 %",
                      "disks 120.0 MB/s read, 3.0 MB/s written"});
}

TEST(Monitor, WritesEverythingAsJson) {
  json all = to_json(reading_of(training()));
  EXPECT_EQ(all["run"]["state"], "training");
  EXPECT_EQ(all["run"]["metrics"]["loss"], 0.1432);
  EXPECT_EQ(all["gpus"][0]["processes"][0]["pid"], 4123);
  EXPECT_EQ(all["gpus"][0]["throttle_reasons"][0], "its temperature");
  EXPECT_EQ(all["disks"][0]["read_bytes_per_second"], 120e6);
  EXPECT_EQ(all["file_systems"][0]["free_bytes"], 120'000'000'000);
  MonitorReading unknown{.machine = {.gpus = {WatchedGpu{}}}};
  EXPECT_TRUE(to_json(unknown)["gpus"][0]["use"].is_null());
}

TEST(RunStatus, OfAFolderWithoutAFitIsWaiting) {
  TempDir folder;
  EXPECT_EQ(read_run_status(folder.path()).state, RunState::waiting);
  EXPECT_THROW(read_run_status(folder / "nowhere"), FileError);
}

TEST(RunStatus, ReadsWhatIsThere) {
  TempDir folder;
  folder.write("status.json", status_file().dump());
  RunStatus run = read_run_status(folder.path());
  EXPECT_EQ(run.state, RunState::training);
  EXPECT_EQ(run.epoch, 1);
  EXPECT_EQ(run.steps, -1);
  EXPECT_EQ(run.seconds_left, -1);
  ASSERT_EQ(run.metrics.size(), 1U);
  EXPECT_TRUE(std::isnan(run.metrics[0].second)) << "JSON has no such number";
}

TEST(RunStatus, OfAProcessThatIsGoneHasFailed) {
  TempDir folder;
  json status = status_file();
  status["pid"] = 0x3ffffff;  // beyond what Linux gives
  folder.write("status.json", status.dump());
  RunStatus run = read_run_status(folder.path());
  EXPECT_EQ(run.state, RunState::failed);
  EXPECT_NE(run.reason.find("without saying why"), std::string::npos) << run.reason;
  status["host"] = "elsewhere";
  folder.write("status.json", status.dump());
  EXPECT_EQ(read_run_status(folder.path()).state, RunState::training) << "unknown from here";
}

TEST(RunStatus, RefusesOtherFiles) {
  TempDir folder;
  for (json wrong : {json::object(), json{{"stoker_status", 2}}, json{{"stoker_status", 1}}}) {
    folder.write("status.json", wrong.dump());
    EXPECT_THROW(read_run_status(folder.path()), FileError) << wrong;
  }
  json status = status_file();
  status["state"] = "sleeping";
  folder.write("status.json", status.dump());
  EXPECT_THROW(read_run_status(folder.path()), FileError);
}

}  // namespace
}  // namespace stoker::jobs
