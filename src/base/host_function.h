// A user's own C++ on host memory as an op ("host_call"). It runs between kernels, is timed, and is
// reported as what it is.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <stoker/tensor.h>

namespace stoker {

// Row-major, in the memory of a device beside the host.
struct DeviceArray {
  void* data = nullptr;
  TensorSpec spec;
};

struct HostFunction {
  std::string name;
  // Specs of the outputs for given inputs.
  std::function<std::vector<TensorSpec>(std::span<const TensorSpec> inputs)> infer;
  // Fills the outputs, which are allocated and uninitialised.
  std::function<void(std::span<const Tensor> inputs, std::span<Tensor> outputs)> run;
  // The same on a device that has it, in place of `run`: launches on `stream` (a cudaStream_t) and
  // returns. Null: `run` is for all engines.
  std::function<void(void* stream, std::span<const DeviceArray> inputs,
                     std::span<const DeviceArray> outputs)>
      launch;
  // Its gradient: inputs, outputs, then output gradients → input gradients. Null: there is none.
  std::shared_ptr<const HostFunction> gradient;
};

}  // namespace stoker
