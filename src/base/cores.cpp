#include "base/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "base/cgroup.h"

namespace stoker {

namespace {

namespace fs = std::filesystem;

std::optional<double> ratio(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return std::nullopt;  // version 1 writes -1 for "no quota"
  return quota / period;
}

// cpu.max holds "200000 100000" or "max 100000".
std::optional<double> quota_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period)) return std::nullopt;
  return ratio(quota, period);
}

std::optional<double> quota_v1(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us"), period_file(group / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  return ratio(quota, period);
}

int cores_by_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more than CPU_SETSIZE (1024) processors.
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return int(std::thread::hardware_concurrency());
}

}  // namespace

std::optional<double> cgroup_cpu_quota(const fs::path& root) {
  std::optional<double> result;
  for (const ControlGroup& group : control_groups("cpu", root)) {
    auto found = group.version == 2 ? quota_v2(group.folder) : quota_v1(group.folder);
    if (found) result = std::min(*found, result.value_or(*found));
  }
  return result;
}

int cores_of_rank(int64_t ranks_of_host) {
  int cores = available_cores();
  auto online = int(sysconf(_SC_NPROCESSORS_ONLN));
  int share = std::max(1, int(std::max(cores, online) / ranks_of_host));
  bool bound = cores_by_affinity() < online;
  return bound ? std::min(cores, share) : std::max(1, int(cores / ranks_of_host));
}

int available_cores() {
  int cores = cores_by_affinity();
  if (auto quota = cgroup_cpu_quota())
    cores = std::min(cores, int(std::ceil(std::min(*quota, 1e6))));
  return std::max(cores, 1);
}

}  // namespace stoker
