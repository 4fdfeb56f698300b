#include "engine/cuda/residence.h"

namespace stoker::cuda {

CudaResidence::CudaResidence(std::shared_ptr<DevicePool> pool, const TensorSpec& spec)
    : pool_(std::move(pool)),
      spec_(spec),
      block_(pool_, size_t(spec.shape.elements()) * size_of(spec.dtype), "variables") {}

Tensor CudaResidence::read() const {
  Tensor value(spec_.dtype, spec_.shape);
  if (value.bytes() == 0) return value;
  Device::Turn turn(pool_->device());
  cudaStream_t stream = pool_->device().stream();
  check(cudaMemcpyAsync(value.raw_mut(), data(), value.bytes(), cudaMemcpyDeviceToHost, stream),
        "reading a variable");
  check(cudaStreamSynchronize(stream), "reading a variable");
  return value;
}

void CudaResidence::write(const Tensor& value) {
  if (value.bytes() == 0) return;
  Device::Turn turn(pool_->device());
  cudaStream_t stream = pool_->device().stream();
  check(cudaMemcpyAsync(data(), value.raw(), value.bytes(), cudaMemcpyHostToDevice, stream),
        "writing a variable");
  check(cudaStreamSynchronize(stream), "writing a variable");
}

std::shared_ptr<CudaResidence> VariableHomes::make(const std::shared_ptr<DevicePool>& pool,
                                                   const Variable& variable) {
  std::lock_guard lock(mutex_);
  std::erase_if(homes_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<CudaResidence>& entry = homes_[variable.id()];
  std::shared_ptr<CudaResidence> home = entry.lock();
  if (home == nullptr) entry = home = std::make_shared<CudaResidence>(pool, variable.spec());
  return home;
}

}  // namespace stoker::cuda
