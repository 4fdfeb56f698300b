#include "observe/cpu_counters.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/cores.h"

namespace stoker::doctor {

namespace {

namespace fs = std::filesystem;

int64_t process_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Whether this process may run on a core; all of them where that cannot be known.
bool is_allowed(int core) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return true;
  return core >= 0 && core < CPU_SETSIZE && CPU_ISSET(core, &allowed);
}

// Of the cores that this process may use, all but idle and waiting for disks. A line is
// "cpu7 user nice system idle iowait irq softirq steal …", in ticks; the first, "cpu", is the sum.
// What others do on cores that this process cannot have takes nothing from it.
int64_t system_cpu_ns(const fs::path& root) {
  std::ifstream file(root / "proc/stat");
  int64_t busy = 0;
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));
    int core = 0;
    int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
    if (line[3] == ' ' || !(words >> core) || !is_allowed(core)) continue;
    if (words >> user >> nice >> system >> idle >> iowait >> irq >> softirq)
      busy += user + nice + system + irq + softirq;
  }
  int64_t ticks = std::max(sysconf(_SC_CLK_TCK), 1L);
  return busy * (1'000'000'000 / ticks);
}

// Of this process's own group; version 1 counts in nanoseconds.
int64_t throttled_ns(const fs::path& root) {
  for (const ControlGroup& group : control_groups("cpu", root)) {
    std::ifstream stat(group.folder / "cpu.stat");
    std::string key;
    for (int64_t value = 0; stat >> key >> value;) {
      if (key == "throttled_usec") return value * 1000;
      if (key == "throttled_time") return value;
    }
  }
  return 0;
}

std::map<int, CpuCounters::Thread> times_of_threads(const fs::path& root) {
  std::map<int, CpuCounters::Thread> threads;
  std::error_code error;
  for (const fs::directory_entry& task : fs::directory_iterator(root / "proc/self/task", error)) {
    std::string name = task.path().filename();
    int id = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), id).ec != std::errc()) continue;
    std::ifstream file(task.path() / "schedstat");
    int64_t ran = 0, delayed = 0;
    if (!(file >> ran >> delayed)) continue;
    std::string thread;
    std::ifstream(task.path() / "comm") >> thread;
    threads[id] = {ran, delayed, thread.starts_with("pipeline")};
  }
  return threads;
}

}  // namespace

CpuCounters read_cpu_counters(const fs::path& root) {
  return {.at = steady_clock().now(),
          .process = process_cpu_ns(),
          .system = system_cpu_ns(root),
          .throttled = throttled_ns(root),
          .threads = times_of_threads(root)};
}

void add_to(HealthFacts& health, const CpuCounters& before, const CpuCounters& after) {
  auto wall = double(after.at - before.at);
  if (wall <= 0) return;
  health.process_cores = double(after.process - before.process) / wall;
  double system = double(after.system - before.system) / wall;
  health.other_cores = std::max(0.0, system - health.process_cores);
  health.throttled_share = double(after.throttled - before.throttled) / wall;
  health.available_cores = available_cores();
  health.quota_cores = cgroup_cpu_quota().value_or(0);
  // The step is as late as the thread of it that waits longest.
  health.own = {};
  for (const auto& [id, thread] : after.threads) {
    auto earlier = before.threads.find(id);
    if (earlier == before.threads.end()) continue;
    double ran = double(thread.ran - earlier->second.ran) / wall;
    double delayed = double(thread.delayed - earlier->second.delayed) / wall;
    double& share = thread.pipeline ? health.pipeline_delay_share : health.run_delay_share;
    share = std::max(share, delayed);
    health.own.wanted += ran + delayed;
    (thread.pipeline ? health.own.pipeline : health.own.computing) += ran;
  }
}

int64_t peak_memory_of_process(const fs::path& root) {
  std::ifstream file(root / "proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    std::istringstream words(line.substr(6));
    int64_t kilobytes = 0;
    words >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace stoker::doctor
