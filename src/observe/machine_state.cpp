#include "observe/machine_state.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "base/cores.h"
#include "base/memory_info.h"
#include "engine/nvidia_gpus.h"

namespace stoker {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kSectorBytes = 512;  // of /proc/diskstats, whatever the disk has

// "cpu3 user nice system idle iowait irq softirq steal …"
std::vector<MachineCounters::Core> read_cores(const fs::path& root) {
  std::vector<MachineCounters::Core> cores;
  std::ifstream file(root / "proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] == ' ') continue;
    std::istringstream words(line);
    std::string name;
    int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    words >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
    int64_t busy = user + nice + system + irq + softirq + steal;
    cores.push_back({busy, busy + idle + iowait});
  }
  return cores;
}

// Disks that are things: no loops, memory disks, or layers over others, which count twice.
bool is_disk(const fs::path& root, const std::string& name) {
  for (const char* layer : {"loop", "ram", "zram", "dm-", "md", "sr", "fd"})
    if (name.starts_with(layer)) return false;
  return fs::exists(root / "sys/block" / name);
}

// "259 0 nvme0n1 reads merged sectors ms writes merged sectors ms now ms …"
std::map<std::string, MachineCounters::Disk> read_disks(const fs::path& root) {
  std::map<std::string, MachineCounters::Disk> disks;
  std::ifstream file(root / "proc/diskstats");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t skipped = 0, read = 0, written = 0, busy_ms = 0;
    words >> skipped >> skipped >> name >> skipped >> skipped >> read >> skipped >> skipped >>
        skipped >> written >> skipped >> skipped >> busy_ms;
    if (words && is_disk(root, name))
      disks[name] = {read * kSectorBytes, written * kSectorBytes, busy_ms * 1'000'000};
  }
  return disks;
}

int64_t total_memory(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string word;
  int64_t kilobytes = 0;
  return file >> word >> kilobytes && word == "MemTotal:" ? kilobytes * 1024 : 0;
}

// Spaces in paths are written \040.
std::string unescaped(const std::string& path) {
  std::string text;
  for (size_t i = 0; i < path.size(); ++i)
    if (path[i] == '\\' && i + 3 < path.size()) {
      text += char(std::stoi(path.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      text += path[i];
    }
  return text;
}

bool add_space(const fs::path& root, const std::string& folder, std::set<unsigned long>& seen,
               std::vector<FileSystemState>& list) {
  struct statvfs space {};
  fs::path path = root / fs::path(folder).relative_path();
  if (::statvfs(path.c_str(), &space) != 0 || space.f_blocks == 0) return false;
  if (space.f_fsid != 0 && !seen.insert(space.f_fsid).second) return false;
  auto block = int64_t(space.f_frsize);
  list.push_back({folder, int64_t(space.f_blocks) * block, int64_t(space.f_bavail) * block});
  return true;
}

}  // namespace

MachineCounters read_machine_counters(const fs::path& root) {
  return {.at = steady_clock().now(), .cores = read_cores(root), .disks = read_disks(root)};
}

MachineState difference(const MachineCounters& before, const MachineCounters& after) {
  MachineState state;
  for (size_t i = 0; i < after.cores.size(); ++i) {
    MachineCounters::Core earlier = i < before.cores.size() ? before.cores[i] : after.cores[i];
    auto all = double(after.cores[i].all - earlier.all);
    double busy = double(after.cores[i].busy - earlier.busy);
    state.cores.push_back(all > 0 ? std::clamp(busy / all, 0.0, 1.0) : 0);
  }
  double seconds = std::max(double(after.at - before.at) * 1e-9, 1e-9);
  for (const auto& [name, now] : after.disks) {
    auto found = before.disks.find(name);
    MachineCounters::Disk earlier = found == before.disks.end() ? now : found->second;
    double busy = double(now.busy_ns - earlier.busy_ns) * 1e-9 / seconds;
    state.disks.push_back({.name = name,
                           .read_rate = double(now.read - earlier.read) / seconds,
                           .write_rate = double(now.written - earlier.written) / seconds,
                           .busy = std::clamp(busy, 0.0, 1.0)});
  }
  return state;
}

std::vector<FileSystemState> read_file_systems(const fs::path& root) {
  std::vector<FileSystemState> list;
  std::set<unsigned long> seen;
  add_space(root, "/", seen, list);
  std::ifstream file(root / "proc/self/mounts");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string device, folder, kind;
    words >> device >> folder >> kind;
    folder = unescaped(folder);
    bool network = kind.starts_with("nfs") || kind == "cifs" || kind == "lustre" || kind == "ceph";
    bool own = device.starts_with("/dev/") && kind != "squashfs";
    bool small = folder.starts_with("/boot") || folder.starts_with("/etc") || folder == "/";
    // A file of the host that a container sees is no file system of its own.
    if ((own || network) && !small && fs::is_directory(root / fs::path(folder).relative_path()))
      add_space(root, folder, seen, list);
  }
  return list;
}

MachineWatch::MachineWatch(fs::path root)
    : root_(std::move(root)), before_(read_machine_counters(root_)) {}

MachineState MachineWatch::read() {
  MachineCounters now = read_machine_counters(root_);
  MachineState state = difference(before_, now);
  before_ = std::move(now);
  state.usable_cores = available_cores();
  state.memory_total = total_memory(root_);
  state.memory_free = available_memory(root_);
  state.file_systems = read_file_systems(root_);
  DeviceMonitor& monitor = device_monitor();
  for (int i = 0; i < monitor.count(); ++i)
    state.gpus.push_back({monitor.state(i), monitor.activity(i), monitor.processes(i)});
  if (!state.gpus.empty()) return state;
  state.no_gpu = monitor.why_not().empty() ? "the driver lists none" : monitor.why_not();
  if (!find_gpus(root_).any()) state.no_gpu = "this machine has no NVIDIA GPU";
  return state;
}

}  // namespace stoker
