// How busy the machine is: cores, memory, disks, GPUs. For `stoker monitor`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "observe/device_monitor.h"

namespace stoker {

struct DiskState {
  std::string name;                      // "nvme0n1"
  double read_rate = 0, write_rate = 0;  // bytes per second
  double busy = 0;                       // share of the time with a request under way
};

struct FileSystemState {
  std::string folder;  // where it is mounted
  int64_t total = 0, free = 0;
};

struct WatchedGpu {
  GpuState state = {};
  GpuActivity activity = {};
  std::vector<GpuProcess> processes = {};
};

struct MachineState {
  std::vector<double> cores = {};  // use of each, a share
  int usable_cores = 0;
  int64_t memory_total = 0, memory_free = 0;  // bytes; free: what a program may still take
  std::vector<DiskState> disks = {};
  std::vector<FileSystemState> file_systems = {};
  std::vector<WatchedGpu> gpus = {};
  std::string no_gpu = {};  // why there is none to watch
};

// Sums since the machine started, for differences.
struct MachineCounters {
  int64_t at = 0;  // steady_clock()
  struct Core {
    int64_t busy = 0, all = 0;  // ticks
  };
  std::vector<Core> cores = {};
  struct Disk {
    int64_t read = 0, written = 0;  // bytes
    int64_t busy_ns = 0;
  };
  std::map<std::string, Disk> disks = {};
};

// What cannot be read stays empty. `root` is where /proc and /sys are looked for.
MachineCounters read_machine_counters(const std::filesystem::path& root = "/");
// What happened between two readings: the use of cores and disks.
MachineState difference(const MachineCounters& before, const MachineCounters& after);
// File systems that have room of their own, the root first.
std::vector<FileSystemState> read_file_systems(const std::filesystem::path& root = "/");

// Reads again and again; rates are those since the reading before, or since it was made.
class MachineWatch {
 public:
  explicit MachineWatch(std::filesystem::path root = "/");
  MachineState read();

 private:
  std::filesystem::path root_;
  MachineCounters before_;
};

}  // namespace stoker
