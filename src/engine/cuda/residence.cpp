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
  changed();
  if (value.bytes() == 0) return;
  Device::Turn turn(pool_->device());
  cudaStream_t stream = pool_->device().stream();
  check(cudaMemcpyAsync(data(), value.raw(), value.bytes(), cudaMemcpyHostToDevice, stream),
        "writing a variable");
  check(cudaStreamSynchronize(stream), "writing a variable");
}

}  // namespace stoker::cuda
