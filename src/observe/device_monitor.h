// The machine's NVIDIA GPUs as their driver sees them, through NVML, which is loaded at run time:
// without a driver there are none. Any thread; one query takes some microseconds to milliseconds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace stoker {

class Backend;

// -1: not known.
struct GpuState {
  std::string name = {};
  double use = -1, memory_use = -1;  // shares of the last tenths of a second
  int64_t memory_bytes = -1, memory_total = -1;
  double power_watts = -1, power_limit_watts = -1, temperature = -1;
  // It lowers its clocks to stay within the power that it was built for: that is how a GPU works
  // hard, and nothing is wrong.
  bool at_power_limit = false;
  int clock_mhz = -1, clock_max_mhz = -1;
  int pcie_generation = 0, pcie_generation_max = 0, pcie_width = 0, pcie_width_max = 0;
  std::vector<std::string> throttle_reasons = {};  // without being idle or set by an application
};

// What the bits of NVML's reasons for low clocks mean. A power limit is one of them only where
// it was set below the GPU's own (watts; -1: not known).
void add_throttle_reasons(GpuState& state, uint64_t bits, double own_limit_watts);

// What seldom changes. -1 and 0: not known.
struct GpuLimits {
  int compute_major = 0, compute_minor = 0;
  double power_default_watts = -1;  // as it was built
  int application_clock_mhz = -1;   // a ceiling that an administrator has set, or the default
  int pcie_generation_gpu = 0;      // what the GPU could, whatever its slot
  int64_t memory_errors = -1;       // that ECC could not correct, since the driver was loaded
  bool compute_prohibited = false;
};

struct GpuProcess {
  int pid = 0;
  std::string name = {};  // empty: in another container
  int64_t bytes = -1;     // of the GPU's memory
};

// What a GPU did between two readings: shares; -1: its driver does not count them.
struct GpuActivity {
  double occupancy = -1, tensor_use = -1, memory_use = -1;
};

class DeviceMonitor {
 public:
  DeviceMonitor();
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  int count() const;
  std::string name(int index) const;  // empty: unknown
  GpuState state(int index) const;    // takes the driver milliseconds
  GpuLimits limits(int index) const;
  std::vector<GpuProcess> processes(int index) const;  // that compute, the largest first
  int find(const std::string& bus_id) const;           // the index of a PCI address; -1: none
  // Since the last call for this GPU; nothing at the first.
  GpuActivity activity(int index);
  std::string driver_version() const;
  int cuda_version() const;  // the newest that the driver supports: 12040 is 12.4; 0: unknown
  const std::string& why_not() const;  // why there is no GPU to look at

 private:
  class Nvml;
  class Counters;
  std::string why_not_;  // before what fills it
  std::unique_ptr<Nvml> nvml_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Counters>> counters_;  // behind what they came from
};

// The process's own: making one takes tens of milliseconds.
DeviceMonitor& device_monitor();

// An engine's GPU among those of the driver; -1: it has none.
int monitored_gpu(const Backend& engine);

}  // namespace stoker
