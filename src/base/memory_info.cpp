#include "base/memory_info.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace stoker {

namespace {

// The first number of a file; -1 without one ("max" is none).
int64_t number_in(const std::filesystem::path& path) {
  int64_t value = -1;
  std::ifstream(path) >> value;
  return value;
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

int64_t group_memory(const std::filesystem::path& root) {
  std::filesystem::path groups = root / "sys/fs/cgroup";
  int64_t limit = number_in(groups / "memory.max"), used = number_in(groups / "memory.current");
  if (limit < 0) {
    limit = number_in(groups / "memory/memory.limit_in_bytes");
    used = number_in(groups / "memory/memory.usage_in_bytes");
  }
  if (limit < 0 || used < 0) return std::numeric_limits<int64_t>::max();
  return std::max<int64_t>(limit - used, 0);
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
