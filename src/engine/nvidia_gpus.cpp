#include "engine/nvidia_gpus.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace stoker {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    entries.push_back(entry.path());
  return entries;
}

// Vendor 0x10de; class 03: display, VGA, 3D. Their sound devices are of another class.
bool is_nvidia_gpu(const fs::path& device) {
  return first_line(device / "vendor").starts_with("0x10de") &&
         first_line(device / "class").starts_with("0x03");
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue …": the first word that looks
// like a version.
std::string driver_version_in(const std::string& line) {
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (std::isdigit(uint8_t(word[0])) != 0 && word.find('.') != std::string::npos) return word;
  return "";
}

std::string model_in(const fs::path& information) {
  std::ifstream file(information);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Model:")) continue;
    size_t begin = line.find_first_not_of(" \t", 6);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

bool is_gpu_node(const fs::path& path) {
  std::string name = path.filename();
  constexpr std::string_view kPrefix = "nvidia";
  return name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
         std::all_of(name.begin() + kPrefix.size(), name.end(),
                     [](char c) { return std::isdigit(uint8_t(c)) != 0; });
}

constexpr const char* kInstallDriver =
    "install the NVIDIA driver, or start the container with its GPUs (docker run --gpus all); "
    "`nvidia-smi` lists them then";

Absence explain_idle(const GpuSearch& search) {
  const GpuTraces& traces = search.traces;
  bool driver = !traces.driver.empty() || traces.nodes > 0;
  if (!search.built)
    return {true, "this build of Stoker has no GPU engine",
            fmt::format("build it where the CUDA toolkit and cuDNN are: make build PRESET=cuda{}",
                        driver ? "" : "; and install the NVIDIA driver: none is loaded")};
  if (search.hidden)
    return {true, "set_visible_devices left no GPU", "name one there: \"cuda:0\" is the first"};
  if (search.visible && search.problem.empty())
    return {true, fmt::format("CUDA_VISIBLE_DEVICES=\"{}\" hides every GPU", *search.visible),
            "unset it, or let it list the GPU's number"};
  if (!driver) return {true, "no NVIDIA driver is loaded", kInstallDriver};
  if (search.old_driver)
    return {true,
            fmt::format("the NVIDIA driver {} is too old for CUDA {}, which this build uses",
                        traces.driver, cuda_version(search.runtime)),
            "install a newer driver, or build Stoker with an older CUDA toolkit"};
  if (!search.problem.empty())
    return {true, search.problem, "`stoker doctor --env` shows what does not fit"};
  return {true, "the driver shows no GPU to this process", kInstallDriver};
}

struct Architecture {
  int major = 0, minor = 0;
  bool own = false;  // "90a", "100f": for this one alone
  bool code = true, ptx = true;
};

// "80", "90a-real", "90-virtual"; nothing for "native", "all" and "all-major".
std::optional<Architecture> parse_architecture(std::string_view text) {
  Architecture found;
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view rest = text.substr(size_t(end - text.data()));
  found.major = number / 10, found.minor = number % 10;
  found.own = rest.starts_with("a") || rest.starts_with("f");
  found.ptx = !rest.ends_with("-real");
  found.code = !rest.ends_with("-virtual");
  return found;
}

}  // namespace

GpuTraces find_gpus(const fs::path& root) {
  GpuTraces found;
  std::vector<fs::path> bus = entries_of(root / "sys/bus/pci/devices");
  found.on_bus = int(std::ranges::count_if(bus, is_nvidia_gpu));
  found.driver = driver_version_in(first_line(root / "proc/driver/nvidia/version"));
  for (const fs::path& gpu : entries_of(root / "proc/driver/nvidia/gpus")) {
    ++found.driven;
    if (std::string model = model_in(gpu / "information"); !model.empty())
      found.models.push_back(std::move(model));
  }
  std::vector<fs::path> nodes = entries_of(root / "dev");
  found.nodes = int(std::ranges::count_if(nodes, is_gpu_node));
  // Windows Subsystem for Linux has neither a bus nor nodes of its GPUs.
  if (fs::exists(root / "dev/dxg") && fs::exists(root / "usr/lib/wsl/lib/libcuda.so.1"))
    found.nodes = std::max(found.nodes, 1);
  return found;
}

Absence explain_absence(const GpuSearch& search) {
  if (search.traces.any()) return explain_idle(search);
  std::string why = "this machine has no NVIDIA GPU";
  if (!search.built) why += ", and this build of Stoker has no GPU engine";
  return {false, why, ""};
}

KernelFit kernels_for(std::string_view architectures, int major, int minor) {
  KernelFit best = KernelFit::none;
  while (!architectures.empty()) {
    size_t comma = std::min(architectures.find(','), architectures.size());
    std::optional<Architecture> each = parse_architecture(architectures.substr(0, comma));
    architectures.remove_prefix(std::min(comma + 1, architectures.size()));
    if (!each) return KernelFit::machine_code;  // "native", "all": as the toolkit decided
    bool same = each->major == major && each->minor == minor;
    if (each->code && (same || (!each->own && each->major == major && each->minor < minor)))
      return KernelFit::machine_code;
    bool newer = std::pair(major, minor) > std::pair(each->major, each->minor);
    if (each->ptx && (same || (!each->own && newer))) best = KernelFit::compiled_at_start;
  }
  return best;
}

std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

}  // namespace stoker
