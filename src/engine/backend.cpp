#include "engine/backend.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/memory_info.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/reference/reference_backend.h"

namespace stoker {

Backend& backend(std::string_view device) {
  if (device == "cpu") return cpu_backend();
  if (device == "reference") return reference_backend();
  if (device == "cuda") return cuda_backend(0);
  if (device.starts_with("cuda:") && device.size() == 6 && device[5] >= '0' && device[5] <= '9')
    return cuda_backend(device[5] - '0');
  throw ValueError(
      fmt::format("unknown device \"{}\"; there are cpu, cuda, cuda:N, reference", device));
}

size_t Backend::free_bytes(const CompileOptions& options) const {
  auto free = size_t(available_memory());
  return options.memory_limit > 0 ? std::min(free, options.memory_limit) : free;
}

size_t Backend::cache_bytes() const { return last_cache_bytes(); }

bool has_cuda(std::string* why) { return cuda_is_usable(why); }

}  // namespace stoker
