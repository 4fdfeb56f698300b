#include "engine/cuda/device.h"

#include <array>
#include <chrono>

#include <fmt/format.h>

#include "base/tracing.h"
#include "engine/nvidia_gpus.h"

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

namespace {

DeviceInfo info_of(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "device properties");
  std::array<char, 32> bus_id{};
  check(cudaDeviceGetPCIBusId(bus_id.data(), int(bus_id.size()), index), "a device's PCI address");
  return {.index = index,
          .name = properties.name,
          .major = properties.major,
          .minor = properties.minor,
          .multiprocessors = properties.multiProcessorCount,
          .memory = properties.totalGlobalMem,
          .cache = size_t(properties.l2CacheSize),
          .bus_id = bus_id.data()};
}

}  // namespace

DeviceSearch search_devices() {
  TraceScope trace("CUDA: looking for devices");
  DeviceSearch search;
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();  // it would otherwise show up at the next launch
    search.old_driver = status == cudaErrorInsufficientDriver;
    if (status != cudaErrorNoDevice) search.problem = cudaGetErrorString(status);
    return search;
  }
  for (int index = 0; index < count; ++index) {
    DeviceInfo info = info_of(index);
    if (kernels_for(architectures(), info.major, info.minor) == KernelFit::none)
      search.problem = fmt::format(
          "{} has compute capability {}.{}, and this build has kernels for {} "
          "(configure with -DCMAKE_CUDA_ARCHITECTURES={}{})",
          info.name, info.major, info.minor, architectures(), info.major, info.minor);
    else
      search.found.push_back(std::move(info));
  }
  return search;
}

std::string architectures() { return STOKER_CUDA_ARCHITECTURES; }

EngineVersions engine_versions() {
  EngineVersions found{.dnn = int(cudnnGetVersion()),
                       .dnn_built = CUDNN_VERSION,
                       .dnn_runtime = int(cudnnGetCudartVersion()),
                       .architectures = architectures()};
  cudaDriverGetVersion(&found.driver);
  cudaRuntimeGetVersion(&found.runtime);
  return found;
}

Device::Device(const DeviceInfo& info) : info_(info) {
  TraceScope trace("CUDA: device and libraries");
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
  EngineVersions versions = engine_versions();
  return fmt::format("cuda {} sm_{}{}, driver API {}, runtime {}, cuDNN {}, cuBLASLt {}",
                     info_.name, info_.major, info_.minor, versions.driver, versions.runtime,
                     versions.dnn, cublasLtGetVersion());
}

}  // namespace stoker::cuda
