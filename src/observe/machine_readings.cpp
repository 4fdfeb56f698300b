#include "observe/machine_readings.h"

#include <utility>

#include "observe/observed.h"
#include "observe/thresholds.h"
#include "train/step/program_cache.h"

namespace stoker::doctor {

void MachineReadings::read(int64_t ns, bool with_cores, const Context& context,
                           Recording& recording) {
  DeviceSample sample{.time = double(ns) * 1e-9};
  if (with_cores) read_cores(sample, recording);
  // The driver needs milliseconds for its answer: a short fit does without.
  const Backend& engine = engine_of(context);
  if (!engine.bus_id().empty() && ns >= kReadingNs) read_gpu(sample, engine);
  recording.add(sample);
}

void MachineReadings::read_cores(DeviceSample& sample, Recording& recording) {
  CpuCounters counters = read_cpu_counters();
  recording.add(counters);
  HealthFacts health;
  if (cpu_) doctor::add_to(health, *cpu_, counters);
  if (cpu_) sample.process_cores = health.process_cores, sample.other_cores = health.other_cores;
  cpu_ = std::move(counters);
}

void MachineReadings::read_gpu(DeviceSample& sample, const Backend& engine) {
  int gpu = monitored_gpu(engine);
  gpu_ = device_monitor().state(gpu);
  sample.use = gpu_.use;
  sample.memory_bytes = double(gpu_.memory_bytes);
  sample.power_watts = gpu_.power_watts;
  sample.clock_mhz = gpu_.clock_mhz;
  GpuActivity activity = device_monitor().activity(gpu);
  sample.occupancy = activity.occupancy;
  sample.tensor_use = activity.tensor_use;
  sample.memory_use = activity.memory_use;
}

void MachineReadings::add_to(Evidence& evidence) const {
  add_gpu(evidence.device, gpu_);
  evidence.health.gpu_throttle_reasons = gpu_.throttle_reasons;
  if (gpu_.at_power_limit) evidence.health.gpu_power_limit = gpu_.power_limit_watts;
  evidence.health.pcie_generation = gpu_.pcie_generation;
  evidence.health.pcie_generation_max = gpu_.pcie_generation_max;
  evidence.health.pcie_width = gpu_.pcie_width;
  evidence.health.pcie_width_max = gpu_.pcie_width_max;
}

}  // namespace stoker::doctor
