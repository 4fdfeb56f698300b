// The same training steps in libtorch. This header is all that the rest of the benchmark sees of
// it: libtorch 1.13 needs C++17 and its own flags.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stoker::bench {

class TorchStep {
 public:
  virtual ~TorchStep() = default;
  virtual float run() = 0;  // the loss
};

// One parameter as Stoker has it: kernels [kh, kw, C, filters], matrices [in, units], vectors.
struct PlainParameter {
  std::vector<int64_t> shape;
  const float* data;
};

// What both sides start from. x is NHWC.
struct PlainStep {
  bool tower = false;
  int64_t first = 64, second = 128;  // filters of the CNN
  std::vector<int64_t> x_shape;
  const float* x = nullptr;
  const int64_t* y = nullptr;
  std::vector<PlainParameter> parameters;
};

// channels_last: tensors and kernels in NHWC, which libtorch's convolutions prefer at times.
std::unique_ptr<TorchStep> make_torch_step(const PlainStep& plain, bool channels_last, int threads);
std::string torch_version();

}  // namespace stoker::bench
