// A convolution described to cuDNN: descriptors of its backend API, and the graph of one call.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/cuda/conv_plan.h"

namespace stoker::cuda {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t made = nullptr;
    check(cudnnBackendCreateDescriptor(type, &made), "a cuDNN descriptor");
    handle_.reset(made);
  }
  cudnnBackendDescriptor_t get() const { return handle_.get(); }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values) {
    check(cudnnBackendSetAttribute(get(), name, type, count, values), "a cuDNN attribute");
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    cudnnBackendDescriptor_t handle = other.get();
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle);
  }
  void set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    set(name, CUDNN_TYPE_INT64, int64_t(values.size()), values.data());
  }
  // False when cuDNN does not support what was described.
  bool finalize() { return cudnnBackendFinalize(get()) == CUDNN_STATUS_SUCCESS; }

 private:
  struct Destroy {
    void operator()(void* handle) const { cudnnBackendDestroyDescriptor(handle); }
  };
  std::unique_ptr<void, Destroy> handle_;
};

// How tensors are named in a call.
enum Operand : int64_t { kX = 1, kW, kY, kBias, kConvolved, kBiased };

// The graph of one call, and everything it points to.
struct Operations {
  std::vector<Descriptor> parts;
  Descriptor graph;
};

// Nothing where cuDNN does not support it.
std::optional<Operations> describe(const ConvKey& key, cudnnHandle_t handle);

// Engine configurations that cuDNN's heuristic proposes, in its order; empty where it has none.
std::vector<Descriptor> proposed_configs(const Operations& operations, cudnnBackendHeurMode_t mode);

}  // namespace stoker::cuda
