// What is read of cores and GPU about once a second during a fit.
#pragma once

#include <cstdint>
#include <optional>

#include "observe/cpu_counters.h"
#include "observe/device_monitor.h"
#include "observe/recording.h"

namespace stoker::doctor {

// On the thread of the fit.
class MachineReadings {
 public:
  // Adds what is seen after `ns` of the fit to the recording. with_cores: the operating system's counters too.
  void read(int64_t ns, bool with_cores, const Context& context, Recording& recording);
  bool has_counters() const { return cpu_.has_value(); }
  // What the last reading says about the GPU and its health.
  void add_to(Evidence& evidence) const;

 private:
  void read_cores(DeviceSample& sample, Recording& recording);
  void read_gpu(DeviceSample& sample, const Backend& engine);

  std::optional<CpuCounters> cpu_;
  GpuState gpu_;
};

}  // namespace stoker::doctor
