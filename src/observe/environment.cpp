#include "observe/environment.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/file.h"
#include "base/memory_info.h"
#include "observe/cpu_counters.h"

namespace stoker {

namespace {

constexpr size_t kProbeBytes = size_t(32) << 20;

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

void look_at_engine(EnvironmentFacts& facts) {
  FoundDevice best = find_device(kAutomatic);
  if (best.traits().preferred) facts.device = best.described();
  for (const DeviceFamily* family : preferred_families()) {
    if (facts.device.empty()) facts.absent.push_back(family->absence());
    if (facts.engine.runtime == 0) facts.engine = family->versions();
  }
}

void look_at_gpus(EnvironmentFacts& facts) {
  DeviceMonitor& monitor = device_monitor();
  facts.driver = monitor.driver_version();
  if (facts.engine.driver == 0) facts.engine.driver = monitor.cuda_version();
  for (int i = 0; i < monitor.count(); ++i) {
    GpuFacts gpu{monitor.state(i), monitor.limits(i), monitor.processes(i)};
    std::erase_if(gpu.processes, [](const GpuProcess& each) { return each.pid == getpid(); });
    facts.gpus.push_back(std::move(gpu));
  }
}

std::string vector_instructions() {
  std::ifstream file("/proc/cpuinfo");
  std::string flags;
  for (std::string line; std::getline(file, line) && flags.empty();)
    if (line.starts_with("flags")) flags = line + " ";
  if (flags.find(" avx512f ") != std::string::npos) return "AVX-512";
  return flags.find(" avx2 ") != std::string::npos ? "AVX2" : "";
}

ThreadFacts look_at_threads() {
  ThreadFacts facts;
  for (const char* name :
       {"OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"})
    if (std::string value = environment_variable(name); !value.empty())
      facts.openmp.push_back(fmt::format("{}={}", name, value));
  facts.openmp_limit = std::atoi(environment_variable("OMP_THREAD_LIMIT").c_str());
  for (const ControlGroup& group : control_groups("pids")) {
    int64_t most = 0, now = 0;
    if (!(std::ifstream(group.folder / "pids.max") >> most)) continue;  // "max"
    std::ifstream(group.folder / "pids.current") >> now;
    if (facts.most < 0 || most - now < facts.most - facts.running)
      facts.most = most, facts.running = now;
  }
  return facts;
}

DiskFacts look_at_disk(const std::string& folder) {
  std::string path = folder + "/stoker-probe" + std::string(kTemporarySuffix);
  DiskFacts facts;
  try {
    std::vector<std::byte> bytes(kProbeBytes);
    FileSystem& files = local_files();
    int64_t begin = steady_clock().now();
    {
      auto file = files.create(path, FileSystem::Write::replace);
      file->write(bytes);
      file->sync();
    }
    int64_t written = steady_clock().now();
    read_file(path);
    int64_t read = steady_clock().now();
    files.remove(path);
    facts.write_rate = 1e9 * double(kProbeBytes) / double(std::max<int64_t>(written - begin, 1));
    facts.read_rate = 1e9 * double(kProbeBytes) / double(std::max<int64_t>(read - written, 1));
  } catch (const FileError& error) {
    facts.error = error.what();
  }
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) == 0)
    facts.free = int64_t(space.f_bavail) * int64_t(space.f_frsize);
  return facts;
}

int64_t bytes_of_shared_memory() {
  struct statvfs space {};
  if (::statvfs("/dev/shm", &space) != 0) return -1;
  return int64_t(space.f_blocks) * int64_t(space.f_frsize);
}

}  // namespace

EnvironmentFacts look_at_environment(const std::string& folder) {
  EnvironmentFacts facts;
  doctor::CpuCounters before = doctor::read_cpu_counters();
  look_at_engine(facts);
  look_at_gpus(facts);
  facts.vectors = vector_instructions();
  facts.threads = look_at_threads();
  facts.memory = available_memory();
  facts.shared_memory = bytes_of_shared_memory();
  facts.disk = look_at_disk(folder);
  doctor::HealthFacts health;
  doctor::add_to(health, before, doctor::read_cpu_counters());
  facts.cores = {.machine = int(std::thread::hardware_concurrency()),
                 .usable = available_cores(),
                 .quota = cgroup_cpu_quota(),
                 .throttled_share = health.throttled_share,
                 .other_cores = health.other_cores};
  return facts;
}

std::string_view name(CheckResult result) {
  static constexpr std::array<std::string_view, 3> kNames = {"ok", "warning", "wrong"};
  return kNames[size_t(result)];
}

std::string to_text(const std::vector<EnvironmentCheck>& checks) {
  std::string text;
  std::array<int, 3> counts{};
  for (const EnvironmentCheck& check : checks) {
    ++counts[size_t(check.result)];
    text += fmt::format("{:<8} {:<20} {}\n", name(check.result), check.what, check.found);
    if (!check.advice.empty()) text += fmt::format("{:<8} {:<20} → {}\n", "", "", check.advice);
  }
  return text + fmt::format("\n{} ok, {} warning{}, {} wrong\n", counts[0], counts[1],
                            counts[1] == 1 ? "" : "s", counts[2]);
}

}  // namespace stoker
