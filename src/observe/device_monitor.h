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

// -1: not known.
struct GpuState {
  std::string name;
  double use = -1, memory_use = -1;  // shares of the last tenths of a second
  int64_t memory_bytes = -1, memory_total = -1;
  double power_watts = -1, power_limit_watts = -1, temperature = -1;
  int clock_mhz = -1, clock_max_mhz = -1;
  int pcie_generation = 0, pcie_generation_max = 0, pcie_width = 0, pcie_width_max = 0;
  std::vector<std::string> throttle_reasons;  // without being idle or set by an application
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
  GpuState state(int index) const;
  // Since the last call for this GPU; nothing at the first.
  GpuActivity activity(int index);
  std::string driver_version() const;
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

// The GPU of a context's "cuda:N" among those of the driver, by CUDA_VISIBLE_DEVICES.
int monitored_gpu(const std::string& device);

}  // namespace stoker
