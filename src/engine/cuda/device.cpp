#include "engine/cuda/device.h"

#include <fmt/format.h>

namespace stoker::cuda {

void fail(const char* call, const std::string& reason) {
  throw CudaError(fmt::format("CUDA, {}: {}", call, reason));
}

std::vector<DeviceInfo> devices(std::string* why) {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();  // it would otherwise show up at the next launch
    if (why != nullptr)
      *why = status == cudaErrorInsufficientDriver ? "there is no NVIDIA driver, or one too old"
             : count == 0 && (status == cudaSuccess || status == cudaErrorNoDevice)
                 ? "no GPU is visible"
                 : cudaGetErrorString(status);
    return {};
  }
  std::vector<DeviceInfo> found;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "device properties");
    found.push_back({.index = index,
                     .name = properties.name,
                     .major = properties.major,
                     .minor = properties.minor,
                     .multiprocessors = properties.multiProcessorCount,
                     .memory = properties.totalGlobalMem});
  }
  return found;
}

Device::Device(int index) {
  std::string why;
  std::vector<DeviceInfo> all = devices(&why);
  if (index < 0 || size_t(index) >= all.size())
    throw ValueError(all.empty() ? fmt::format("cuda: {}", why)
                                 : fmt::format("cuda:{} does not exist; there are {} devices",
                                               index, all.size()));
  info_ = all[size_t(index)];
  use();
  compute_ = std::make_unique<Stream>();
  copies_ = std::make_unique<Stream>();
  check(cudnnCreate(&cudnn_), "a cuDNN handle");
  check(cudnnSetStream(cudnn_, stream()), "cuDNN's stream");
  check(cublasLtCreate(&cublas_), "a cuBLASLt handle");
}

Device::~Device() {
  if (cublas_ != nullptr) cublasLtDestroy(cublas_);
  if (cudnn_ != nullptr) cudnnDestroy(cudnn_);
}

std::string Device::fingerprint() const {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  return fmt::format("cuda {} sm_{}{}, driver API {}, runtime {}, cuDNN {}, cuBLASLt {}",
                     info_.name, info_.major, info_.minor, driver, runtime, cudnnGetVersion(),
                     cublasLtGetVersion());
}

}  // namespace stoker::cuda
