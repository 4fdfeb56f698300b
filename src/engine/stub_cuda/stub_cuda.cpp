// What is linked where the CUDA engine is not built.
#include <stoker/error.h>

#include "engine/cuda/cuda_backend.h"
#include "engine/nvidia_gpus.h"

namespace stoker {

namespace {

class NoCuda final : public DeviceFamily {
 public:
  const BackendTraits& traits() const override { return kCudaTraits; }
  std::vector<DeviceDescription> devices(Visible) const override { return {}; }
  int count() const override { return 0; }
  Backend& open(int) override { throw ValueError(absence().why); }
  Absence absence() const override { return explain_absence({.traces = find_gpus()}); }
};

}  // namespace

DeviceFamily& cuda_family() {
  static NoCuda family;
  return family;
}

}  // namespace stoker
