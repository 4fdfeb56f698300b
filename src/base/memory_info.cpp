#include "base/memory_info.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "base/cgroup.h"

namespace stoker {

namespace {

// The first number of a file; -1 without one ("max" is none).
int64_t number_in(const std::filesystem::path& path) {
  int64_t value = 0;
  return std::ifstream(path) >> value ? value : -1;  // a failed extraction leaves 0
}

int64_t machine_memory(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string name;
  int64_t kilobytes = 0;
  while (file >> name >> kilobytes) {
    if (name == "MemAvailable:") return kilobytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

// What is left in the fullest of the groups that hold this process.
int64_t group_memory(const std::filesystem::path& root) {
  int64_t left = std::numeric_limits<int64_t>::max();
  for (const ControlGroup& group : control_groups("memory", root)) {
    bool new_names = group.version == 2;
    int64_t limit = number_in(group.folder / (new_names ? "memory.max" : "memory.limit_in_bytes"));
    int64_t used =
        number_in(group.folder / (new_names ? "memory.current" : "memory.usage_in_bytes"));
    if (limit >= 0 && used >= 0) left = std::min(left, std::max<int64_t>(limit - used, 0));
  }
  return left;
}

// A line of /proc/self/status in bytes.
int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
  return 0;
}

// "32768K" or "1M".
int64_t size_in(const std::filesystem::path& path) {
  int64_t value = 0;
  char unit = 0;
  std::ifstream(path) >> value >> unit;
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

}  // namespace

int64_t last_cache_bytes(const std::filesystem::path& root) {
  std::filesystem::path caches = root / "sys/devices/system/cpu/cpu0/cache";
  int64_t level = 0, bytes = 0;
  std::error_code error;
  for (const auto& cache : std::filesystem::directory_iterator(caches, error)) {
    int64_t here = number_in(cache.path() / "level");
    if (here > level) level = here, bytes = size_in(cache.path() / "size");
  }
  return bytes;
}

int64_t peak_resident_memory() { return status_bytes("VmHWM:"); }
int64_t anonymous_memory() { return status_bytes("RssAnon:"); }

int64_t available_memory(const std::filesystem::path& root) {
  int64_t machine = machine_memory(root), group = group_memory(root);
  if (machine == 0) return group == std::numeric_limits<int64_t>::max() ? 0 : group;
  return std::min(machine, group);
}

}  // namespace stoker
