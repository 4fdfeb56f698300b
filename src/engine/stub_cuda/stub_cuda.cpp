// What is linked where the CUDA engine is not built.
#include <stoker/error.h>

#include "engine/cuda/cuda_backend.h"

namespace stoker {

namespace {
constexpr const char* kWhy =
    "this build of Stoker has no GPU engine (configure with STOKER_CUDA=ON)";
}

Backend& cuda_backend(int) { throw ValueError(std::string("cuda: ") + kWhy); }

bool cuda_is_usable(std::string* why) {
  if (why != nullptr) *why = kWhy;
  return false;
}

bool cuda_is_in_use() { return false; }
std::vector<GpuDescription> cuda_devices(Visible) { return {}; }
void choose_cuda_devices(const std::vector<int>&) {}

}  // namespace stoker
