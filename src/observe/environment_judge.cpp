// The judgement of `stoker doctor --env`: pure functions of facts.
#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/nvidia_gpus.h"
#include "observe/environment.h"
#include "observe/thresholds.h"

namespace stoker {

namespace {

double gigabytes(int64_t bytes) { return double(bytes) * 1e-9; }

EnvironmentCheck judge_engine(const EnvironmentFacts& facts) {
  if (!facts.device.empty()) return {"GPU engine", "uses " + facts.device};
  std::string why, advice;
  for (const Absence& absence : facts.absent) {
    why += (why.empty() ? "" : "; ") + absence.why;
    if (absence.idle) advice = absence.advice;
  }
  bool idle = std::ranges::any_of(facts.absent, &Absence::idle);
  if (!idle) return {"GPU engine", "trains on the CPU: " + why};
  // A build without the engine is a choice; one that has it should find the GPU.
  CheckResult result = facts.engine.runtime > 0 ? CheckResult::wrong : CheckResult::warning;
  return {"GPU engine", "a GPU stands idle: " + why, result, advice};
}

// Within a major version newer runtimes run on older drivers, without what is new in them.
EnvironmentCheck judge_driver(const EnvironmentFacts& facts) {
  const EngineVersions& engine = facts.engine;
  std::string driver = facts.driver.empty() ? "no driver answers" : facts.driver;
  if (engine.driver > 0) driver += fmt::format(", up to CUDA {}", cuda_version(engine.driver));
  EnvironmentCheck check{"NVIDIA driver", driver};
  if (engine.runtime == 0 || engine.driver == 0) return check;
  check.found += fmt::format("; this build uses CUDA {}", cuda_version(engine.runtime));
  if (engine.driver / 1000 < engine.runtime / 1000) {
    check.result = CheckResult::wrong;
    check.advice = fmt::format("install a driver for CUDA {} or later, or build with CUDA {}",
                               cuda_version(engine.runtime), cuda_version(engine.driver));
  } else if (engine.driver < engine.runtime) {
    check.result = CheckResult::warning;
    check.advice = fmt::format(
        "it works within one major version; kernels that are compiled at the start need a driver "
        "for CUDA {}",
        cuda_version(engine.runtime));
  }
  return check;
}

std::string dnn_version(int number) {
  return number >= 90000 ? fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100)
                         : fmt::format("{}.{}.{}", number / 1000, number / 100 % 10, number % 100);
}

int dnn_major(int number) { return number >= 90000 ? number / 10000 : number / 1000; }

EnvironmentCheck judge_dnn(const EngineVersions& engine) {
  EnvironmentCheck check{"cuDNN", dnn_version(engine.dnn)};
  if (dnn_major(engine.dnn) != dnn_major(engine.dnn_built)) {
    check.result = CheckResult::wrong;
    check.advice = fmt::format("this build needs {}: put its library first on the library path",
                               dnn_version(engine.dnn_built));
  } else if (engine.dnn_runtime / 1000 != engine.runtime / 1000 && engine.dnn_runtime > 0) {
    check.found += fmt::format(", made for CUDA {}", cuda_version(engine.dnn_runtime));
    check.result = CheckResult::wrong;
    check.advice = fmt::format("install the one for CUDA {}", cuda_version(engine.runtime));
  } else if (engine.dnn < engine.dnn_built) {
    check.result = CheckResult::warning;
    check.advice = fmt::format("it is older than the {} of this build; install that one",
                               dnn_version(engine.dnn_built));
  }
  return check;
}

EnvironmentCheck judge_kernels(const GpuFacts& gpu, const EngineVersions& engine,
                               const std::string& what) {
  EnvironmentCheck check{what, gpu.state.name};
  const GpuLimits& limits = gpu.limits;
  if (gpu.state.memory_total > 0)
    check.found += fmt::format(", {:.0f} GB", gigabytes(gpu.state.memory_total));
  if (limits.compute_major == 0) return check;
  check.found +=
      fmt::format(", compute capability {}.{}", limits.compute_major, limits.compute_minor);
  if (limits.compute_prohibited) {
    check.result = CheckResult::wrong;
    check.advice = "its compute mode prohibits programs: nvidia-smi -c DEFAULT";
    return check;
  }
  if (limits.memory_errors > 0) {
    check.result = CheckResult::wrong;
    check.advice = fmt::format(
        "{} memory errors could not be corrected since the driver was loaded; results may be "
        "wrong: "
        "reset or replace it",
        limits.memory_errors);
    return check;
  }
  if (engine.architectures.empty()) return check;
  KernelFit fit = kernels_for(engine.architectures, limits.compute_major, limits.compute_minor);
  if (fit == KernelFit::machine_code) return check;
  check.found += fmt::format("; this build has kernels for {}", engine.architectures);
  bool none = fit == KernelFit::none;
  check.result = none ? CheckResult::wrong : CheckResult::warning;
  check.advice =
      fmt::format("{}; configure with -DCMAKE_CUDA_ARCHITECTURES={}{}",
                  none ? "they do not run on it" : "the driver compiles them at the first start",
                  limits.compute_major, limits.compute_minor);
  return check;
}

EnvironmentCheck judge_power(const GpuFacts& gpu, const std::string& what) {
  const double limit = gpu.state.power_limit_watts, own = gpu.limits.power_default_watts;
  EnvironmentCheck check{what, fmt::format("limit {:.0f} W", limit)};
  if (gpu.state.power_watts >= 0)
    check.found = fmt::format("{:.0f} W of {:.0f} W", gpu.state.power_watts, limit);
  if (own > 0 && limit < doctor::kSamePower * own) {
    check.found += fmt::format(", made for {:.0f} W", own);
    check.result = CheckResult::warning;
    check.advice = fmt::format("it slows down under load; nvidia-smi -pl {:.0f} raises it", own);
  }
  return check;
}

// A GPU that rests has low clocks: only what holds it back counts.
EnvironmentCheck judge_clocks(const GpuFacts& gpu, const std::string& what) {
  const GpuState& state = gpu.state;
  EnvironmentCheck check{what, fmt::format("{} of {} MHz", state.clock_mhz, state.clock_max_mhz)};
  if (state.temperature >= 0) check.found += fmt::format(", {:.0f} °C", state.temperature);
  std::vector<std::string> reasons = state.throttle_reasons;
  std::erase(reasons, "its power limit");  // has a row of its own
  if (!reasons.empty()) {
    check.found += fmt::format(", held back by {}", fmt::join(reasons, ", "));
    check.result = CheckResult::wrong;
    check.advice = "look after its cooling and power supply: it computes slower than it could";
  } else if (int ceiling = gpu.limits.application_clock_mhz;
             ceiling > 0 && ceiling < doctor::kSameClock * state.clock_max_mhz) {
    check.found += fmt::format(", applications may use {}", ceiling);
    check.result = CheckResult::warning;
    check.advice = "nvidia-smi -rac lets it run faster";
  }
  return check;
}

EnvironmentCheck judge_pcie(const GpuFacts& gpu, const std::string& what) {
  const GpuState& state = gpu.state;
  EnvironmentCheck check{
      what, fmt::format("generation {} of {}, x{} of x{}", state.pcie_generation,
                        state.pcie_generation_max, state.pcie_width, state.pcie_width_max)};
  if (state.pcie_width < state.pcie_width_max) {
    check.result = CheckResult::wrong;
    check.advice = fmt::format(
        "copies run at {:.0f} % of the link's width: use a slot with all lanes, or reseat the card",
        100.0 * state.pcie_width / state.pcie_width_max);
  } else if (state.use >= doctor::kBusyGpu && state.pcie_generation < state.pcie_generation_max) {
    check.result = CheckResult::warning;
    check.advice = "it is busy and its link is not at full speed: look at the slot and the BIOS";
  } else if (gpu.limits.pcie_generation_gpu > state.pcie_generation_max) {
    check.found += fmt::format(" (the GPU could {})", gpu.limits.pcie_generation_gpu);
    check.result = CheckResult::warning;
    check.advice = "the slot or the BIOS setting is slower than the GPU";
  } else if (state.pcie_generation < state.pcie_generation_max) {
    check.found += ", slow while it rests";
  }
  return check;
}

EnvironmentCheck judge_gpu_memory(const GpuFacts& gpu, const std::string& what) {
  int64_t others = 0;
  std::vector<std::string> names;
  for (const GpuProcess& process : gpu.processes) {
    others += std::max<int64_t>(process.bytes, 0);
    names.push_back(
        fmt::format("{} ({})", process.name.empty() ? "process" : process.name, process.pid));
  }
  EnvironmentCheck check{
      what, fmt::format("{:.1f} of {:.1f} GB in use", gigabytes(gpu.state.memory_bytes),
                        gigabytes(gpu.state.memory_total))};
  if (!names.empty()) check.found += fmt::format(", other programs: {}", fmt::join(names, ", "));
  if (double(others) > doctor::kMuchOfMemory * double(gpu.state.memory_total)) {
    check.result = CheckResult::warning;
    check.advice = "batches that would fit alone do not; end them, or choose another GPU";
  }
  return check;
}

void judge_gpus(const EnvironmentFacts& facts, std::vector<EnvironmentCheck>& checks) {
  for (size_t i = 0; i < facts.gpus.size(); ++i) {
    const GpuFacts& gpu = facts.gpus[i];
    std::string what = fmt::format("GPU {}", i);
    checks.push_back(judge_kernels(gpu, facts.engine, what));
    if (gpu.state.power_limit_watts > 0) checks.push_back(judge_power(gpu, what + " power"));
    if (gpu.state.clock_max_mhz > 0) checks.push_back(judge_clocks(gpu, what + " clocks"));
    if (gpu.state.pcie_width_max > 0) checks.push_back(judge_pcie(gpu, what + " PCIe"));
    if (gpu.state.memory_total > 0) checks.push_back(judge_gpu_memory(gpu, what + " memory"));
  }
}

EnvironmentCheck judge_vectors(const std::string& vectors) {
  if (!vectors.empty()) return {"vector instructions", vectors};
  return {
      "vector instructions", "neither AVX2 nor AVX-512", CheckResult::wrong,
      "kernels run several times slower; use a newer CPU, or let the virtual machine pass them"};
}

EnvironmentCheck judge_cores(const ProcessorFacts& cores) {
  EnvironmentCheck check{"cores", fmt::format("{} of {} may be used", cores.usable, cores.machine)};
  if (cores.quota) check.found += fmt::format(", quota {:.1f}", *cores.quota);
  if (cores.throttled_share > doctor::kThrottledMachine) {
    check.found += fmt::format(", held back for {:.0f} % of the time", 100 * cores.throttled_share);
    check.result = CheckResult::wrong;
    check.advice = "raise the container's quota (docker --cpus), or use fewer threads";
  } else if (cores.usable < 2) {
    check.result = CheckResult::warning;
    check.advice = "the pipeline and the model share one core; give the process more";
  } else if (cores.other_cores > 0.5 * cores.usable) {
    check.found += fmt::format(", {:.1f} busy with other programs", cores.other_cores);
    check.result = CheckResult::warning;
    check.advice = "training shares the cores with them; end them, or expect half the speed";
  } else if (cores.quota && *cores.quota < cores.usable) {
    check.result = CheckResult::warning;
    check.advice = "a quota of whole cores wastes less: the last one is held back";
  }
  return check;
}

EnvironmentCheck judge_threads(const EnvironmentFacts& facts) {
  const ThreadFacts& threads = facts.threads;
  int cores = facts.cores.usable;
  EnvironmentCheck check{"threads", fmt::format("{} compute, as many as cores", cores)};
  if (!threads.openmp.empty()) check.found += fmt::format("; {}", fmt::join(threads.openmp, ", "));
  int64_t left = threads.most < 0 ? doctor::kFewThreads : threads.most - threads.running;
  if (left < std::min<int64_t>(doctor::kFewThreads, 4L * cores)) {
    check.found += fmt::format("; {} of {} that may run are left", left, threads.most);
    check.result = CheckResult::wrong;
    check.advice = "raise the container's limit (docker --pids-limit)";
  } else if (threads.openmp_limit > 0 && threads.openmp_limit < cores) {
    check.result = CheckResult::warning;
    check.advice =
        fmt::format("OMP_THREAD_LIMIT leaves {} core{} unused; unset it",
                    cores - threads.openmp_limit, cores - threads.openmp_limit == 1 ? "" : "s");
  } else if (!threads.openmp.empty()) {
    check.result = CheckResult::warning;
    check.advice =
        "Context::threads (--threads) sets their number, and Stoker itself decides how they wait; "
        "unset what OpenMP is given";
  }
  return check;
}

EnvironmentCheck judge_memory(int64_t bytes) {
  EnvironmentCheck check{"memory", fmt::format("{:.1f} GB free", gigabytes(bytes))};
  if (bytes == 0) check.found = "not known";
  if (bytes > 0 && bytes < doctor::kLittleMemory) {
    check.result = CheckResult::wrong;
    check.advice = "caches and prefetched batches need room; free some";
  }
  return check;
}

// Stoker's own threads share one memory. What feeds it may not.
EnvironmentCheck judge_shared_memory(int64_t bytes) {
  if (bytes < 0)
    return {"shared memory", "no /dev/shm", CheckResult::warning,
            "Stoker does without; programs of several processes beside it do not: mount it"};
  EnvironmentCheck check{"shared memory", fmt::format("{:.1f} GB in /dev/shm", gigabytes(bytes))};
  if (bytes >= doctor::kLittleShared) return check;
  check.result = CheckResult::warning;
  check.advice =
      "Stoker does without; loaders and libraries of several processes beside it do not: docker "
      "run "
      "--shm-size=8g";
  return check;
}

EnvironmentCheck judge_disk(const DiskFacts& disk) {
  if (!disk.error.empty())
    return {"disk", disk.error, CheckResult::wrong, "choose a folder that can be written"};
  EnvironmentCheck check{"disk", fmt::format("{:.0f} MB/s written, {:.0f} MB/s read again",
                                             1e-6 * disk.write_rate, 1e-6 * disk.read_rate)};
  if (disk.free >= 0) check.found += fmt::format(", {:.1f} GB free", gigabytes(disk.free));
  if (disk.free >= 0 && disk.free < doctor::kLittleSpace) {
    check.result = CheckResult::wrong;
    check.advice = "checkpoints need room; free some, or write to another disk";
  } else if (disk.write_rate < doctor::kSlowDisk) {
    check.result = CheckResult::warning;
    check.advice = "checkpoints will be slow here; write them to a faster disk";
  }
  return check;
}

}  // namespace

std::vector<EnvironmentCheck> judge_environment(const EnvironmentFacts& facts) {
  std::vector<EnvironmentCheck> checks = {judge_engine(facts)};
  if (!facts.driver.empty() || facts.engine.driver > 0) checks.push_back(judge_driver(facts));
  if (facts.engine.dnn > 0) checks.push_back(judge_dnn(facts.engine));
  judge_gpus(facts, checks);
  for (EnvironmentCheck& check :
       std::vector{judge_vectors(facts.vectors), judge_cores(facts.cores), judge_threads(facts),
                   judge_memory(facts.memory), judge_shared_memory(facts.shared_memory),
                   judge_disk(facts.disk)})
    checks.push_back(std::move(check));
  return checks;
}

}  // namespace stoker
