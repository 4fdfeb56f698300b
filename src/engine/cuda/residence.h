// A variable's contents on the device, row-major. Programs for other batch sizes share it.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include <stoker/variable.h>

#include "engine/cuda/memory.h"

namespace stoker::cuda {

class CudaResidence final : public Residence {
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

// Which variables have, or had, a buffer here. A variable that another backend took meanwhile comes
// back to the same buffer, so that all programs keep sharing it. Thread-safe.
class VariableHomes {
 public:
  std::shared_ptr<CudaResidence> make(const std::shared_ptr<DevicePool>& pool,
                                      const Variable& variable);

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, std::weak_ptr<CudaResidence>> homes_;
};

// Brings the contents to `home` if they are elsewhere. Cheap when they are not.
inline void take(Variable& variable, const std::shared_ptr<CudaResidence>& home) {
  if (variable.residence().get() == home.get()) return;
  home->write(variable.read());
  variable.move_to(home);
}

}  // namespace stoker::cuda
