#include "engine/backend.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/memory_info.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/reference/reference_backend.h"

namespace stoker {

namespace {

// The number in "cuda:N", 0 in "cuda"; nothing for the engines of the CPU. ValueError for any other
// name.
std::optional<int> gpu_number(std::string_view device) {
  constexpr int kMostGpus = 1024;
  if (device == "cpu" || device == "reference") return std::nullopt;
  if (device == "cuda") return 0;
  int number = 0;
  std::string_view digits = device.starts_with("cuda:") ? device.substr(5) : "";
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc() && number >= 0 && number < kMostGpus &&
      device == fmt::format("cuda:{}", number))
    return number;
  throw ValueError(
      fmt::format("unknown device \"{}\"; there are cpu, cuda, cuda:N, reference{}", device,
                  device.find(',') != std::string_view::npos
                      ? "; a model trains on one device, so name one of them"
                      : "; cuda is the first GPU, and list_devices() names those of this machine"));
}

}  // namespace

Backend& backend(std::string_view device) {
  if (device == "reference") return reference_backend();
  std::optional<int> gpu = gpu_number(device);
  return gpu ? cuda_backend(*gpu) : cpu_backend();
}

void check_device(std::string_view device) {
  std::optional<int> gpu = gpu_number(device);
  if (!gpu || *gpu == 0) return;
  size_t count = cuda_devices(Visible::chosen).size();
  if (size_t(*gpu) < count) return;
  std::string why;
  throw ValueError(fmt::format("there is no device \"{}\": {}", device,
                               has_cuda(&why) ? fmt::format("the last GPU is cuda:{}", count - 1)
                                              : why + "; the device \"cpu\" is always there"));
}

size_t Backend::free_bytes(const CompileOptions& options) const {
  auto free = size_t(available_memory());
  return options.memory_limit > 0 ? std::min(free, options.memory_limit) : free;
}

size_t Backend::cache_bytes() const { return last_cache_bytes(); }

bool has_cuda(std::string* why) { return cuda_is_usable(why); }

}  // namespace stoker
