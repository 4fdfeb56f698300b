#include <stoker/devices.h>

#include <fmt/format.h>
#include <stoker/context.h>
#include <stoker/error.h>

#include "base/cores.h"
#include "base/memory_info.h"
#include "engine/cuda/cuda_backend.h"

namespace stoker {

namespace {

void check_not_in_use(const char* action) {
  if (cuda_is_in_use())
    throw Error(fmt::format(
        "{}: a GPU is in use already; call it before the first model is trained there", action));
}

// The number in "cuda:N" among the GPUs of the machine.
int index_of(const std::string& name, int count) {
  for (int index = 0; index < count; ++index)
    if (name == fmt::format("cuda:{}", index)) return index;
  throw ValueError(fmt::format("set_visible_devices: there is no \"{}\"; the machine has {} GPU{}",
                               name, count, count == 1 ? "" : "s"));
}

}  // namespace

std::vector<DeviceDescription> list_devices() {
  std::vector<DeviceDescription> found = {
      {"cpu", fmt::format("CPU, {} cores", available_cores()), size_t(available_memory())}};
  std::vector<GpuDescription> gpus = cuda_devices(Visible::chosen);
  for (size_t i = 0; i < gpus.size(); ++i)
    found.push_back({fmt::format("cuda:{}", i), gpus[i].text, gpus[i].memory});
  return found;
}

void set_visible_devices(const std::vector<std::string>& names) {
  check_not_in_use("set_visible_devices");
  auto count = int(cuda_devices(Visible::all).size());
  std::vector<int> chosen;
  for (const std::string& name : names)
    if (name != "cpu") chosen.push_back(index_of(name, count));
  choose_cuda_devices(chosen);
}

void set_memory_growth(bool growth) {
  check_not_in_use("set_memory_growth");
  default_context().memory_growth = growth;
}

void set_memory_limit(size_t bytes) {
  check_not_in_use("set_memory_limit");
  default_context().memory_limit = bytes;
}

}  // namespace stoker
