// A user's own C++ on host memory as an op ("host_call"). It runs between kernels, is timed, and is
// reported as what it is.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <stoker/tensor.h>

namespace stoker {

struct HostFunction {
  std::string name;
  // Specs of the outputs for given inputs.
  std::function<std::vector<TensorSpec>(std::span<const TensorSpec> inputs)> infer;
  // Fills the outputs, which are allocated and uninitialised.
  std::function<void(std::span<const Tensor> inputs, std::span<Tensor> outputs)> run;
  // Its gradient: inputs, outputs, then output gradients → input gradients. Null: there is none.
  std::shared_ptr<const HostFunction> gradient;
};

}  // namespace stoker
