#include "observe/environment.h"

#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/file.h"
#include "base/memory_info.h"
#include "engine/registry.h"
#include "observe/device_monitor.h"

namespace stoker {

namespace {

constexpr size_t kProbeBytes = size_t(32) << 20;

EnvironmentCheck check_driver(const DeviceMonitor& monitor) {
  if (monitor.count() == 0)
    return {"NVIDIA driver", monitor.why_not().empty() ? "no GPU" : monitor.why_not(),
            CheckResult::note,
            "training runs on the CPU; where there is a GPU, install its driver"};
  return {"NVIDIA driver", monitor.driver_version()};
}

EnvironmentCheck check_engine() {
  if (!find_device(kAutomatic).traits().preferred)
    return {"GPU engine", "none is used", CheckResult::note,
            "to train on a GPU, build where the CUDA toolkit and cuDNN are"};
  return {"GPU engine", backend(kAutomatic).fingerprint()};
}

EnvironmentCheck check_vectors() {
  std::ifstream file("/proc/cpuinfo");
  std::string flags;
  for (std::string line; std::getline(file, line) && flags.empty();)
    if (line.starts_with("flags")) flags = line + " ";
  if (flags.find(" avx512f ") != std::string::npos) return {"vector instructions", "AVX-512"};
  if (flags.find(" avx2 ") != std::string::npos) return {"vector instructions", "AVX2"};
  return {
      "vector instructions", "neither AVX2 nor AVX-512", CheckResult::bad,
      "kernels run several times slower; use a newer CPU, or let the virtual machine pass them"};
}

EnvironmentCheck check_cores() {
  unsigned machine = std::thread::hardware_concurrency();
  int usable = available_cores();
  std::string found = fmt::format("{} of {} may be used", usable, machine);
  if (std::optional<double> quota = cgroup_cpu_quota())
    return {"cores", fmt::format("{}, quota {:.1f}", found, *quota), CheckResult::note,
            "the container's quota holds threads back when they use more"};
  if (usable < 2)
    return {"cores", found, CheckResult::bad, "the pipeline and the model share one core"};
  return {"cores", found};
}

EnvironmentCheck check_memory() {
  int64_t bytes = available_memory();
  std::string found = fmt::format("{:.1f} GB free", double(bytes) * 1e-9);
  if (bytes > 0 && bytes < int64_t(1) << 30)
    return {"memory", found, CheckResult::bad, "caches and batches ahead need room; free some"};
  return {"memory", found};
}

EnvironmentCheck check_disk(const std::string& folder) {
  std::string path = folder + "/stoker-probe" + std::string(kTemporarySuffix);
  try {
    std::vector<std::byte> bytes(kProbeBytes);
    FileSystem& files = local_files();
    int64_t begin = steady_clock().now();
    {
      auto file = files.create(path, FileSystem::Write::replace);
      file->write(bytes);
      file->sync();
    }
    int64_t written = steady_clock().now();
    read_file(path);
    int64_t read = steady_clock().now();
    files.remove(path);
    auto rate = [](int64_t from, int64_t to) { return double(kProbeBytes) / double(to - from); };
    EnvironmentCheck check{"disk",
                           fmt::format("{:.0f} MB/s written, {:.0f} MB/s read again",
                                       1e3 * rate(begin, written), 1e3 * rate(written, read))};
    if (rate(begin, written) >= 0.03) return check;
    check.result = CheckResult::note;
    check.advice = "checkpoints will be slow here; write them to a faster disk";
    return check;
  } catch (const FileError& error) {
    return {"disk", error.what(), CheckResult::bad, "choose a folder that can be written"};
  }
}

EnvironmentCheck check_gpu(const GpuState& gpu) {
  EnvironmentCheck check{
      "GPU", fmt::format("{}, {:.0f} GB, PCIe {} x{}", gpu.name, double(gpu.memory_total) * 1e-9,
                         gpu.pcie_generation_max, gpu.pcie_width)};
  if (gpu.pcie_width > 0 && gpu.pcie_width < gpu.pcie_width_max) {
    check.result = CheckResult::bad;
    check.advice = fmt::format("the slot gives x{} of x{}", gpu.pcie_width, gpu.pcie_width_max);
  }
  return check;
}

}  // namespace

std::vector<EnvironmentCheck> check_environment(const std::string& folder) {
  DeviceMonitor monitor;
  std::vector<EnvironmentCheck> checks = {check_driver(monitor), check_engine()};
  for (int i = 0; i < monitor.count(); ++i) checks.push_back(check_gpu(monitor.state(i)));
  for (EnvironmentCheck& check :
       std::vector{check_vectors(), check_cores(), check_memory(), check_disk(folder)})
    checks.push_back(std::move(check));
  return checks;
}

std::string to_text(const std::vector<EnvironmentCheck>& checks) {
  static constexpr const char* kMarks[] = {"ok  ", "note", "BAD "};
  std::string text;
  for (const EnvironmentCheck& check : checks) {
    text += fmt::format("{}  {:<20} {}\n", kMarks[size_t(check.result)], check.what, check.found);
    if (!check.advice.empty()) text += fmt::format("      {:<20} → {}\n", "", check.advice);
  }
  return text;
}

}  // namespace stoker
