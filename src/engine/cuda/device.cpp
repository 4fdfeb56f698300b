#include "engine/cuda/device.h"

#include <chrono>

#include <fmt/format.h>

namespace stoker::cuda {

void fail(const char* call, const std::string& reason) {
  throw CudaError(fmt::format("CUDA, {}: {}", call, reason));
}

bool Event::is_over() const {
  cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // it would otherwise show up at the next launch
    return false;
  }
  check(status, "looking at an event");
  return true;
}

void Event::wait() const {
  constexpr auto kLook = std::chrono::microseconds(100);
  auto until = std::chrono::steady_clock::now() + kLook;
  while (std::chrono::steady_clock::now() < until)
    if (is_over()) return;
  check(cudaEventSynchronize(event_), "waiting for an event");
}

CapturedGraph::CapturedGraph(cudaGraph_t graph) {
  cudaGraphGetNodes(graph, nullptr, &nodes_);
  cudaError_t status = cudaGraphInstantiate(&exec_, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "instantiating captured work");
}

CapturedGraph::~CapturedGraph() { cudaGraphExecDestroy(exec_); }

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
                     .memory = properties.totalGlobalMem,
                     .cache = size_t(properties.l2CacheSize)});
  }
  return found;
}

Device::Device(const DeviceInfo& info) : info_(info) {
  use();
  compute_ = std::make_unique<Stream>();
  copies_ = std::make_unique<Stream>();
  lanes_.resize(kLanes - 1);
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
