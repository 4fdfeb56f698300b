// The GPU that this process uses, and the C handles around it as values: one small class each.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/forks.h"
#include "engine/cuda/check.h"

namespace stoker {
struct EngineVersions;  // registry.h
}

namespace stoker::cuda {

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "waiting for a stream"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  enum class Timing : uint8_t { off, on };
  explicit Event(Timing timing = Timing::off) {
    unsigned flags =
        timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming | cudaEventBlockingSync;
    check(cudaEventCreateWithFlags(&event_, flags), "event");
  }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "event record"); }
  bool is_over() const;  // also when it was never recorded
  // Looks for a short while, then sleeps: a core that spins decodes no image.
  void wait() const;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Captured work, ready to be launched.
class CapturedGraph {
 public:
  explicit CapturedGraph(cudaGraph_t graph);
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  void launch(cudaStream_t stream) const {
    check(cudaGraphLaunch(exec_, stream), "launching captured work");
  }
  size_t nodes() const { return nodes_; }

 private:
  cudaGraphExec_t exec_ = nullptr;
  size_t nodes_ = 0;
};

struct DeviceInfo {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  size_t memory = 0;        // bytes
  size_t cache = 0;         // bytes of the cache that all multiprocessors share
  std::string bus_id = {};  // PCI address
};

// The devices that CUDA_VISIBLE_DEVICES leaves visible and this build has kernels for; where there
// is none, why.
struct DeviceSearch {
  std::vector<DeviceInfo> found = {};
  bool old_driver = false;   // or there is none: CUDA reports both alike
  std::string problem = {};  // empty: no GPU is visible
};
DeviceSearch search_devices();

// The compute capabilities this build has kernels for: "80-real,90".
std::string architectures();
EngineVersions engine_versions();

// One device with its stream and library handles, made once. Threads take turns: whoever issues
// work or waits for it holds a Turn, so that nothing comes between the calls of a capture.
class Device {
 public:
  // The calling thread's turn on this device, which the outermost one chooses. Error in a child
  // after fork(), where CUDA does not work.
  class Turn {
   public:
    explicit Turn(const Device& device) : lock_(device.mutex_), device_(device) {
      if (device.turns_ == 0) {
        check_not_forked(device.forks_, "the GPU engine");
        device.use();
      }
      ++device.turns_;
    }
    ~Turn() { --device_.turns_; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::lock_guard<std::recursive_mutex> lock_;
    const Device& device_;
  };

  explicit Device(const DeviceInfo& info);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void use() const { check(cudaSetDevice(info_.index), "choosing the device"); }
  const DeviceInfo& info() const { return info_; }
  cudaStream_t stream() const { return compute_->get(); }
  cudaStream_t copies() const { return copies_->get(); }
  // Lanes of a capture: 0 is stream() itself.
  static constexpr int kLanes = 6;
  cudaStream_t lane(int index) const {
    return index == 0 ? stream() : lanes_[size_t(index) - 1].get();
  }
  cudnnHandle_t cudnn() const { return cudnn_; }
  cublasLtHandle_t cublas() const { return cublas_; }
  void wait() const { compute_->wait(); }
  std::string fingerprint() const;

 private:
  DeviceInfo info_;
  std::unique_ptr<Stream> compute_, copies_;
  std::vector<Stream> lanes_;
  cudnnHandle_t cudnn_ = nullptr;
  cublasLtHandle_t cublas_ = nullptr;
  const int forks_ = forks();
  mutable std::recursive_mutex mutex_;
  mutable int turns_ = 0;  // nested in the one that holds the mutex
};

}  // namespace stoker::cuda
