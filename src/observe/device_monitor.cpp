#include "observe/device_monitor.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "engine/backend.h"

namespace stoker {

// Named, because DeviceMonitor::Counters has a member of such a type: in a unity build GCC 13 fails on
// one of an anonymous namespace.
namespace nvml {

struct GpmMetric {
  unsigned id;
  int result;
  double value;
  const char *short_name, *long_name, *unit;
};
struct GpmMetrics {
  unsigned version, count;
  void *before, *after;
  std::array<GpmMetric, 333> metrics;  // as many as any driver's structure has
};

}  // namespace nvml

namespace {

// What of NVML's interface is used, as its manual states it; results are 0 when all is well.
using Device = void*;
struct Utilization {
  unsigned gpu, memory;  // percent
};
struct Memory {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long bytes;  // all ones: not known
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned kTemperatureOfGpu = 0, kClockOfGraphics = 0, kClockOfSm = 1;

struct Reason {
  unsigned long long bit;
  const char* text;
};
constexpr unsigned long long kPowerLimit = 0x4;
constexpr double kSameLimit = 0.98;
constexpr std::array kReasons = {Reason{0x8, "hardware slowdown"}, Reason{0x20, "its temperature"},
                                 Reason{0x40, "its temperature (hardware)"},
                                 Reason{0x80, "the power supply's brake"}};

// GPM: counters of Hopper and later, as differences of two samples; values are percentages.
using Sample = void*;
struct GpmSupport {
  unsigned version, supported;
};
constexpr unsigned kGpmVersion = 1, kOccupancy = 3, kAnyTensor = 5, kMemoryBandwidth = 10;

}  // namespace

class DeviceMonitor::Nvml {
 public:
  // Null, and why, where there is no driver.
  static std::unique_ptr<Nvml> load(std::string& why_not) {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      why_not = "no NVIDIA driver is installed (libnvidia-ml.so.1 is not there)";
      return nullptr;
    }
    auto nvml = std::make_unique<Nvml>(library);
    auto init = nvml->find<int()>("nvmlInit_v2");
    int result = init != nullptr ? init() : -1;
    nvml->initialised_ = result == 0;
    if (result == 0) return nvml;
    why_not = fmt::format("the NVIDIA driver does not answer (nvmlInit_v2 gave {})", result);
    return nullptr;
  }

  explicit Nvml(void* library) : library_(library) {}
  ~Nvml() {
    if (auto shutdown = find<int()>("nvmlShutdown"); shutdown != nullptr && initialised_)
      shutdown();
    dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  template <class F>
  F* find(const char* name) const {
    return reinterpret_cast<F*>(dlsym(library_, name));
  }

  // One number of a device, or `fallback` where the driver cannot tell.
  template <class T>
  T get(const char* name, Device device, T fallback) const {
    auto function = find<int(Device, T*)>(name);
    T value = fallback;
    return function != nullptr && function(device, &value) == 0 ? value : fallback;
  }
  unsigned get_of(const char* name, Device device, unsigned which) const {
    auto function = find<int(Device, unsigned, unsigned*)>(name);
    unsigned value = 0;
    return function != nullptr && function(device, which, &value) == 0 ? value : 0;
  }

  // Errors since the driver was loaded that ECC saw and could not correct; -1: it has no ECC.
  int64_t uncorrected_errors(Device device) const {
    constexpr int kUncorrected = 1, kVolatile = 0;
    auto function = find<int(Device, int, int, unsigned long long*)>("nvmlDeviceGetTotalEccErrors");
    unsigned long long count = 0;
    bool known = function != nullptr && function(device, kUncorrected, kVolatile, &count) == 0;
    return known ? int64_t(count) : -1;
  }
  std::vector<ProcessInfo> processes(Device device) const {
    constexpr unsigned kMost = 256;
    auto function =
        find<int(Device, unsigned*, ProcessInfo*)>("nvmlDeviceGetComputeRunningProcesses_v3");
    std::vector<ProcessInfo> list(kMost);
    unsigned count = kMost;
    bool known = function != nullptr && function(device, &count, list.data()) == 0;
    list.resize(known ? std::min(count, kMost) : 0);
    return list;
  }

  Device device(int index) const {
    auto function = find<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2");
    Device device = nullptr;
    if (index < 0) return nullptr;
    return function != nullptr && function(unsigned(index), &device) == 0 ? device : nullptr;
  }

 private:
  void* library_;
  bool initialised_ = false;
};

// Two samples of one GPU, in turn.
class DeviceMonitor::Counters {
 public:
  Counters(const Nvml& nvml, Device device)
      : device_(device),
        get_(nvml.find<int(Device, Sample)>("nvmlGpmSampleGet")),
        metrics_(nvml.find<int(nvml::GpmMetrics*)>("nvmlGpmMetricsGet")),
        free_(nvml.find<int(Sample)>("nvmlGpmSampleFree")) {
    auto query = nvml.find<int(Device, GpmSupport*)>("nvmlGpmQueryDeviceSupport");
    auto make = nvml.find<int(Sample*)>("nvmlGpmSampleAlloc");
    GpmSupport support{kGpmVersion, 0};
    if (query == nullptr || make == nullptr || query(device, &support) != 0) return;
    known_ = get_ != nullptr && metrics_ != nullptr && free_ != nullptr && support.supported != 0;
    for (Sample& sample : samples_) known_ = known_ && make(&sample) == 0;
  }
  ~Counters() {
    for (Sample sample : samples_)
      if (sample != nullptr) free_(sample);
  }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  GpuActivity read() {
    GpuActivity activity;
    if (!known_ || get_(device_, samples_[1]) != 0) return activity;
    nvml::GpmMetrics asked{.version = kGpmVersion,
                           .count = 3,
                           .before = samples_[0],
                           .after = samples_[1],
                           .metrics = {}};
    asked.metrics[0].id = kOccupancy;
    asked.metrics[1].id = kAnyTensor;
    asked.metrics[2].id = kMemoryBandwidth;
    if (begun_ && metrics_(&asked) == 0) {
      auto share = [](const nvml::GpmMetric& metric) {
        return metric.result == 0 ? metric.value * 0.01 : -1;
      };
      activity = {share(asked.metrics[0]), share(asked.metrics[1]), share(asked.metrics[2])};
    }
    std::swap(samples_[0], samples_[1]);
    begun_ = true;
    return activity;
  }

 private:
  Device device_;
  int (*get_)(Device, Sample);
  int (*metrics_)(nvml::GpmMetrics*);
  int (*free_)(Sample);
  std::array<Sample, 2> samples_{};
  bool known_ = false, begun_ = false;
};

DeviceMonitor::DeviceMonitor() : nvml_(Nvml::load(why_not_)) {}
DeviceMonitor::~DeviceMonitor() = default;

const std::string& DeviceMonitor::why_not() const { return why_not_; }

int DeviceMonitor::count() const {
  if (nvml_ == nullptr) return 0;
  auto function = nvml_->find<int(unsigned*)>("nvmlDeviceGetCount_v2");
  unsigned count = 0;
  return function != nullptr && function(&count) == 0 ? int(count) : 0;
}

std::string DeviceMonitor::driver_version() const {
  std::array<char, 96> text{};
  auto function = nvml_ ? nvml_->find<int(char*, unsigned)>("nvmlSystemGetDriverVersion") : nullptr;
  bool known = function != nullptr && function(text.data(), unsigned(text.size())) == 0;
  return known ? text.data() : "";
}

int DeviceMonitor::cuda_version() const {
  auto function = nvml_ ? nvml_->find<int(int*)>("nvmlSystemGetCudaDriverVersion_v2") : nullptr;
  int version = 0;
  return function != nullptr && function(&version) == 0 ? version : 0;
}

std::string DeviceMonitor::name(int index) const {
  Device device = nvml_ != nullptr ? nvml_->device(index) : nullptr;
  if (device == nullptr) return {};
  std::array<char, 96> text{};
  auto get_name = nvml_->find<int(Device, char*, unsigned)>("nvmlDeviceGetName");
  bool known = get_name != nullptr && get_name(device, text.data(), unsigned(text.size())) == 0;
  return known ? text.data() : std::string();
}

GpuState DeviceMonitor::state(int index) const {
  GpuState state;
  Device device = nvml_ != nullptr ? nvml_->device(index) : nullptr;
  if (device == nullptr) return state;
  state.name = name(index);
  constexpr unsigned kUnknown = ~0U;
  auto use = nvml_->get<Utilization>("nvmlDeviceGetUtilizationRates", device, {kUnknown, kUnknown});
  if (use.gpu != kUnknown) state.use = use.gpu * 0.01, state.memory_use = use.memory * 0.01;
  auto memory = nvml_->get<Memory>("nvmlDeviceGetMemoryInfo", device, {0, 0, 0});
  if (memory.total > 0)
    state.memory_bytes = int64_t(memory.used), state.memory_total = int64_t(memory.total);
  auto watts = [&](const char* which) {
    auto milliwatts = nvml_->get<unsigned>(which, device, kUnknown);
    return milliwatts == kUnknown ? -1.0 : milliwatts * 1e-3;
  };
  state.power_watts = watts("nvmlDeviceGetPowerUsage");
  state.power_limit_watts = watts("nvmlDeviceGetEnforcedPowerLimit");
  if (unsigned degrees = nvml_->get_of("nvmlDeviceGetTemperature", device, kTemperatureOfGpu))
    state.temperature = degrees;
  if (unsigned clock = nvml_->get_of("nvmlDeviceGetClockInfo", device, kClockOfSm))
    state.clock_mhz = int(clock);
  if (unsigned clock = nvml_->get_of("nvmlDeviceGetMaxClockInfo", device, kClockOfSm))
    state.clock_max_mhz = int(clock);
  auto number = [&](const char* which) { return int(nvml_->get<unsigned>(which, device, 0)); };
  state.pcie_generation = number("nvmlDeviceGetCurrPcieLinkGeneration");
  state.pcie_generation_max = number("nvmlDeviceGetMaxPcieLinkGeneration");
  state.pcie_width = number("nvmlDeviceGetCurrPcieLinkWidth");
  state.pcie_width_max = number("nvmlDeviceGetMaxPcieLinkWidth");
  auto reasons =
      nvml_->get<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device, 0);
  add_throttle_reasons(state, reasons, watts("nvmlDeviceGetPowerManagementDefaultLimit"));
  return state;
}

GpuLimits DeviceMonitor::limits(int index) const {
  GpuLimits limits;
  Device device = nvml_ != nullptr ? nvml_->device(index) : nullptr;
  if (device == nullptr) return limits;
  constexpr unsigned kProhibited = 2;
  int major = 0, minor = 0;
  auto capability = nvml_->find<int(Device, int*, int*)>("nvmlDeviceGetCudaComputeCapability");
  if (capability != nullptr && capability(device, &major, &minor) == 0)
    limits.compute_major = major, limits.compute_minor = minor;
  if (auto power = nvml_->get<unsigned>("nvmlDeviceGetPowerManagementDefaultLimit", device, 0))
    limits.power_default_watts = power * 1e-3;
  if (unsigned clock = nvml_->get_of("nvmlDeviceGetApplicationsClock", device, kClockOfGraphics))
    limits.application_clock_mhz = int(clock);
  limits.pcie_generation_gpu =
      int(nvml_->get<unsigned>("nvmlDeviceGetGpuMaxPcieLinkGeneration", device, 0));
  limits.memory_errors = nvml_->uncorrected_errors(device);
  limits.compute_prohibited =
      nvml_->get<unsigned>("nvmlDeviceGetComputeMode", device, 0) == kProhibited;
  return limits;
}

std::vector<GpuProcess> DeviceMonitor::processes(int index) const {
  Device device = nvml_ != nullptr ? nvml_->device(index) : nullptr;
  if (device == nullptr) return {};
  std::vector<GpuProcess> list;
  for (const ProcessInfo& each : nvml_->processes(device)) {
    std::string name;
    std::ifstream file(fmt::format("/proc/{}/comm", each.pid));
    std::getline(file, name);
    constexpr auto kUnknown = ~0ULL;
    list.push_back({int(each.pid), name, each.bytes == kUnknown ? -1 : int64_t(each.bytes)});
  }
  std::ranges::sort(list, std::greater(), &GpuProcess::bytes);
  return list;
}

int DeviceMonitor::find(const std::string& bus_id) const {
  if (nvml_ == nullptr) return -1;
  auto by_address = nvml_->find<int(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
  auto get_index = nvml_->find<int(Device, unsigned*)>("nvmlDeviceGetIndex");
  Device device = nullptr;
  unsigned index = 0;
  bool found = by_address != nullptr && get_index != nullptr &&
               by_address(bus_id.c_str(), &device) == 0 && get_index(device, &index) == 0;
  return found ? int(index) : -1;
}

void add_throttle_reasons(GpuState& state, uint64_t bits, double own_limit_watts) {
  if ((bits & kPowerLimit) != 0) {
    bool lowered = state.power_limit_watts < 0 || own_limit_watts < 0 ||
                   state.power_limit_watts < kSameLimit * own_limit_watts;
    state.at_power_limit = !lowered;
    if (lowered) state.throttle_reasons.emplace_back("its power limit");
  }
  for (const Reason& reason : kReasons)
    if ((bits & reason.bit) != 0) state.throttle_reasons.emplace_back(reason.text);
}

GpuActivity DeviceMonitor::activity(int index) {
  Device device = nvml_ != nullptr ? nvml_->device(index) : nullptr;
  if (device == nullptr) return {};
  std::lock_guard lock(mutex_);
  std::unique_ptr<Counters>& counters = counters_[index];
  if (counters == nullptr) counters = std::make_unique<Counters>(*nvml_, device);
  return counters->read();
}

DeviceMonitor& device_monitor() {
  static DeviceMonitor monitor;
  return monitor;
}

int monitored_gpu(const Backend& engine) {
  std::string bus_id = engine.bus_id();
  return bus_id.empty() ? -1 : device_monitor().find(bus_id);
}

}  // namespace stoker
