// A variable's contents on the device, row-major. Programs for other batch sizes share it.
#pragma once

#include <memory>

#include "engine/cuda/memory.h"
#include "engine/variable_homes.h"

namespace stoker::cuda {

class CudaResidence final : public CountedResidence {
 public:
  CudaResidence(std::shared_ptr<DevicePool> pool, const TensorSpec& spec);

  Tensor read() const override;  // waits for the device
  void write(const Tensor& value) override;

  void* data() const { return block_.data(); }
  size_t bytes() const { return block_.bytes(); }

 private:
  std::shared_ptr<DevicePool> pool_;
  TensorSpec spec_;
  DeviceBlock block_;
};

using VariableHomes = stoker::VariableHomes<CudaResidence>;

}  // namespace stoker::cuda
