#include "base/cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

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

// The smallest quota on the way from a group up to the mount point. A container may see its group's
// path without seeing the folder; the mount point is then its own group.
template <class Quota>
std::optional<double> smallest(const fs::path& mount, const fs::path& group, Quota quota) {
  std::optional<double> result;
  for (fs::path path = group.relative_path();; path = path.parent_path()) {
    if (auto found = quota(mount / path)) result = std::min(*found, result.value_or(*found));
    if (path.empty()) return result;
  }
}

bool names_cpu(const std::string& controllers) {
  std::istringstream list(controllers);
  for (std::string name; std::getline(list, name, ',');)
    if (name == "cpu") return true;
  return false;
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
  const fs::path mount = root / "sys/fs/cgroup";
  std::optional<double> result;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/path" or "4:cpu,cpuacct:/path"
    auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    std::optional<double> found;
    if (controllers.empty()) found = smallest(mount, group, quota_v2);
    if (names_cpu(controllers)) found = smallest(mount / "cpu", group, quota_v1);
    if (found) result = std::min(*found, result.value_or(*found));
  }
  return result;
}

int available_cores() {
  int cores = cores_by_affinity();
  if (auto quota = cgroup_cpu_quota())
    cores = std::min(cores, int(std::ceil(std::min(*quota, 1e6))));
  return std::max(cores, 1);
}

}  // namespace stoker
