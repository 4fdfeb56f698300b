// What `stoker doctor --env` finds wrong, and what it advises: judged from made-up facts.
#include <gtest/gtest.h>

#include <algorithm>

#include "observe/environment.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

// A machine on which all is well.
EnvironmentFacts good_facts() {
  GpuFacts gpu{.state = {.name = "NVIDIA H200",
                         .use = 0,
                         .memory_bytes = 1'000'000'000,
                         .memory_total = 150'000'000'000,
                         .power_watts = 120,
                         .power_limit_watts = 700,
                         .temperature = 35,
                         .clock_mhz = 345,
                         .clock_max_mhz = 1980,
                         .pcie_generation = 5,
                         .pcie_generation_max = 5,
                         .pcie_width = 16,
                         .pcie_width_max = 16},
               .limits = {.compute_major = 9,
                          .compute_minor = 0,
                          .power_default_watts = 700,
                          .application_clock_mhz = 1980,
                          .pcie_generation_gpu = 5,
                          .memory_errors = 0}};
  return {.device = "cuda:0: NVIDIA H200",
          .engine = {.driver = 12090,
                     .runtime = 12040,
                     .dnn = 90100,
                     .dnn_built = 90100,
                     .dnn_runtime = 12040,
                     .architectures = "80-real,90"},
          .driver = "575.51",
          .gpus = {gpu},
          .vectors = "AVX-512",
          .cores = {.machine = 16, .usable = 16},
          .memory = int64_t(64) << 30,
          .shared_memory = int64_t(8) << 30,
          .disk = {.write_rate = 1e9, .read_rate = 3e9, .free = int64_t(100) << 30}};
}

EnvironmentCheck row(const EnvironmentFacts& facts, const std::string& what) {
  for (const EnvironmentCheck& check : judge_environment(facts))
    if (check.what == what) return check;
  ADD_FAILURE() << "no row " << what;
  return {};
}

struct Case {
  const char* row;
  CheckResult result;
  const char *found, *advice;
  void (*change)(EnvironmentFacts&);
};

constexpr auto kWrong = CheckResult::wrong, kWarning = CheckResult::warning, kOk = CheckResult::ok;

const Case kCases[] = {
    {"GPU engine", kOk, "no NVIDIA GPU", "",
     [](auto& f) {
       f.device = "", f.absent = {{false, "this machine has no NVIDIA GPU", ""}};
     }},
    {"GPU engine", kWrong, "stands idle: no driver", "install it",
     [](auto& f) {
       f.device = "", f.absent = {{true, "no driver", "install it"}};
     }},
    {"GPU engine", kWarning, "no GPU engine", "build it",
     [](auto& f) {
       f.device = "", f.engine = {}, f.absent = {{true, "no GPU engine", "build it"}};
     }},
    {"NVIDIA driver", kWrong, "up to CUDA 11.8; this build uses CUDA 12.4",
     "a driver for CUDA 12.4", [](auto& f) { f.engine.driver = 11080; }},
    {"NVIDIA driver", kWarning, "up to CUDA 12.2", "one major version",
     [](auto& f) { f.engine.driver = 12020; }},
    {"cuDNN", kWrong, "8.9.7", "needs 9.1.0", [](auto& f) { f.engine.dnn = 8907; }},
    {"cuDNN", kWrong, "made for CUDA 11.8", "for CUDA 12.4",
     [](auto& f) { f.engine.dnn_runtime = 11080; }},
    {"cuDNN", kWarning, "9.0.0", "older than the 9.1.0", [](auto& f) { f.engine.dnn = 90000; }},
    {"GPU 0", kWrong, "compute capability 7.5; this build has kernels for 80-real,90",
     "ARCHITECTURES=75",
     [](auto& f) { f.gpus[0].limits.compute_major = 7, f.gpus[0].limits.compute_minor = 5; }},
    {"GPU 0", kWarning, "compute capability 12.0", "at the first start",
     [](auto& f) { f.gpus[0].limits.compute_major = 12; }},
    {"GPU 0", kWrong, "H200", "nvidia-smi -c DEFAULT",
     [](auto& f) { f.gpus[0].limits.compute_prohibited = true; }},
    {"GPU 0", kWrong, "H200", "3 memory errors",
     [](auto& f) { f.gpus[0].limits.memory_errors = 3; }},
    {"GPU 0 power", kWarning, "of 400 W, made for 700 W", "nvidia-smi -pl 700",
     [](auto& f) { f.gpus[0].state.power_limit_watts = 400; }},
    {"GPU 0 clocks", kWrong, "held back by its temperature", "cooling",
     [](auto& f) { f.gpus[0].state.throttle_reasons = {"its temperature"}; }},
    {"GPU 0 clocks", kOk, "345 of 1980 MHz", "",
     [](auto& f) { f.gpus[0].state.throttle_reasons = {"its power limit"}; }},
    {"GPU 0 clocks", kWarning, "applications may use 1200", "nvidia-smi -rac",
     [](auto& f) { f.gpus[0].limits.application_clock_mhz = 1200; }},
    {"GPU 0 PCIe", kWrong, "x4 of x16", "25 %", [](auto& f) { f.gpus[0].state.pcie_width = 4; }},
    {"GPU 0 PCIe", kOk, "generation 1 of 5", "",
     [](auto& f) { f.gpus[0].state.pcie_generation = 1; }},
    {"GPU 0 PCIe", kWarning, "generation 1 of 5", "it is busy",
     [](auto& f) { f.gpus[0].state.pcie_generation = 1, f.gpus[0].state.use = 0.9; }},
    {"GPU 0 PCIe", kWarning, "(the GPU could 5)", "slot",
     [](auto& f) { f.gpus[0].state.pcie_generation = f.gpus[0].state.pcie_generation_max = 3; }},
    {"GPU 0 memory", kWarning, "other programs: python (42)", "choose another GPU",
     [](auto& f) {
       f.gpus[0].processes = {{42, "python", 90'000'000'000}};
     }},
    {"GPU 0 memory", kOk, "other programs: process (42)", "",
     [](auto& f) {
       f.gpus[0].processes = {{42, "", 1'000'000}};
     }},
    {"vector instructions", kWrong, "neither", "several times slower",
     [](auto& f) { f.vectors = ""; }},
    {"cores", kWrong, "held back for 20 %", "quota",
     [](auto& f) { f.cores.throttled_share = 0.2; }},
    {"cores", kWarning, "1 of 16", "share one core", [](auto& f) { f.cores.usable = 1; }},
    {"cores", kWarning, "12.0 busy with other programs", "end them",
     [](auto& f) { f.cores.other_cores = 12; }},
    {"cores", kWarning, "quota 3.5", "whole cores",
     [](auto& f) { f.cores.usable = 4, f.cores.quota = 3.5; }},
    {"cores", kOk, "quota 4.0", "", [](auto& f) { f.cores.usable = 4, f.cores.quota = 4.0; }},
    {"threads", kWrong, "5 of 100 that may run are left", "--pids-limit",
     [](auto& f) { f.threads.running = 95, f.threads.most = 100; }},
    {"threads", kWarning, "OMP_THREAD_LIMIT=4", "12 cores unused",
     [](auto& f) { f.threads.openmp = {"OMP_THREAD_LIMIT=4"}, f.threads.openmp_limit = 4; }},
    {"threads", kWarning, "OMP_NUM_THREADS=2", "--threads",
     [](auto& f) { f.threads.openmp = {"OMP_NUM_THREADS=2"}; }},
    {"memory", kWrong, "0.1 GB free", "free some", [](auto& f) { f.memory = 100'000'000; }},
    {"memory", kOk, "not known", "", [](auto& f) { f.memory = 0; }},
    {"shared memory", kWarning, "0.1 GB in /dev/shm", "--shm-size",
     [](auto& f) { f.shared_memory = 64 << 20; }},
    {"shared memory", kWarning, "no /dev/shm", "mount it", [](auto& f) { f.shared_memory = -1; }},
    {"disk", kWarning, "5 MB/s written", "faster disk", [](auto& f) { f.disk.write_rate = 5e6; }},
    {"disk", kWrong, "0.5 GB free", "need room", [](auto& f) { f.disk.free = 500'000'000; }},
    {"disk", kWrong, "read-only", "can be written",
     [](auto& f) { f.disk.error = "/x: read-only file system"; }},
};

TEST(Environment, IsFineWhereEverythingFits) {
  for (const EnvironmentCheck& check : judge_environment(good_facts())) {
    EXPECT_EQ(check.result, kOk) << check.what << ": " << check.found;
    EXPECT_EQ(check.advice, "") << check.what;
  }
}

TEST(Environment, NamesWhatDoesNotFitAndWhatToDo) {
  for (const Case& each : kCases) {
    EnvironmentFacts facts = good_facts();
    each.change(facts);
    EnvironmentCheck check = row(facts, each.row);
    EXPECT_EQ(name(check.result), name(each.result)) << check.what << ": " << check.found;
    EXPECT_NE(check.found.find(each.found), std::string::npos) << check.what << ": " << check.found;
    EXPECT_NE(check.advice.find(each.advice), std::string::npos) << check.advice;
    EXPECT_EQ(check.result == kOk, check.advice.empty()) << check.what << ": " << check.advice;
  }
}

TEST(Environment, OneFaultDoesNotSpoilOtherRows) {
  for (const Case& each : kCases) {
    EnvironmentFacts facts = good_facts();
    each.change(facts);
    int64_t others = std::ranges::count_if(judge_environment(facts), [&](const auto& check) {
      return check.what != each.row && check.result != kOk;
    });
    EXPECT_EQ(others, 0) << each.row << ": " << each.found;
  }
}

TEST(Environment, OfThisMachineIsReadAndSaid) {
  test::TempDir folder;
  std::vector<EnvironmentCheck> checks = judge_environment(look_at_environment(folder.path()));
  for (const EnvironmentCheck& check : checks) {
    EXPECT_FALSE(check.found.empty()) << check.what;
    EXPECT_EQ(check.result == kOk, check.advice.empty()) << check.what;
    EXPECT_NE(to_text(checks).find(check.found), std::string::npos);
  }
}

TEST(Environment, SaysThatAFolderCannotBeWritten) {
  std::vector<EnvironmentCheck> checks = judge_environment(look_at_environment("/nowhere"));
  EXPECT_EQ(checks.back().what, "disk");
  EXPECT_EQ(checks.back().result, kWrong);
  EXPECT_NE(to_text(checks).find("wrong    disk"), std::string::npos) << to_text(checks);
}

}  // namespace
}  // namespace stoker
