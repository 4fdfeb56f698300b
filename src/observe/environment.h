// What a training needs of its machine: facts, and a judgement of each with what to do about it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/registry.h"
#include "observe/device_monitor.h"

namespace stoker {

enum class CheckResult : uint8_t { ok, warning, wrong };
std::string_view name(CheckResult result);  // "ok", "warning", "wrong"

struct EnvironmentCheck {
  std::string what, found;
  CheckResult result = CheckResult::ok;
  std::string advice = {};  // empty where all is well
};

struct GpuFacts {
  GpuState state = {};
  GpuLimits limits = {};
  std::vector<GpuProcess> processes = {};  // of others
};

struct ProcessorFacts {
  int machine = 0, usable = 0;       // by affinity and quota
  std::optional<double> quota = {};  // in cores
  double throttled_share = 0;        // of the look: held back by the quota
  double other_cores = 0;            // busy with other programs
};

struct ThreadFacts {
  // What is set, as NAME=VALUE, of the variables that OpenMP reads.
  std::vector<std::string> openmp = {};
  int openmp_limit = 0;            // OMP_THREAD_LIMIT; 0: none
  int64_t running = 0, most = -1;  // of the control group or the user; -1: no limit
};

struct DiskFacts {
  double write_rate = 0, read_rate = 0;  // bytes per second
  int64_t free = -1;                     // bytes; -1: unknown
  std::string error = {};                // empty: it can be written
};

struct EnvironmentFacts {
  std::string device = {};           // that "auto" takes, described; empty: the CPU
  std::vector<Absence> absent = {};  // else: why no other
  EngineVersions engine = {};        // runtime 0: this build has no GPU engine
  std::string driver = {};           // version; empty: none answers
  std::vector<GpuFacts> gpus = {};
  std::string vectors = {};  // "AVX-512", "AVX2" or empty
  ProcessorFacts cores = {};
  ThreadFacts threads = {};
  int64_t memory = 0;          // bytes that may still be taken; 0: unknown
  int64_t shared_memory = -1;  // bytes of /dev/shm; -1: there is none
  DiskFacts disk = {};         // of the folder
};

// Reads the facts, and how fast `folder` is written and read. Takes about a second.
EnvironmentFacts look_at_environment(const std::string& folder = ".");

// Pure. GPU engine, driver and CUDA, cuDNN, each GPU (kernels, power, clocks, PCIe, memory), vector
// instructions, cores, threads, memory, shared memory, disk.
std::vector<EnvironmentCheck> judge_environment(const EnvironmentFacts& facts);

std::string to_text(const std::vector<EnvironmentCheck>& checks);

}  // namespace stoker
