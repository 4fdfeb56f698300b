// Kernels that the fuser writes (fuser/codegen.h): compiled when a program is built, several at
// once, loaded into the device and kept on disk. The same kernel of two programs is one.
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/cuda/device.h"
#include "engine/cuda/fuser/code_cache.h"
#include "engine/cuda/fuser/codegen.h"

namespace stoker::cuda {

// A compiled kernel; nothing until GeneratedKernels::compile() has run.
class LoadedKernel {
 public:
  LoadedKernel() = default;
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  void load(const std::string& cubin, const std::string& name);
  bool is_loaded() const { return kernel_ != nullptr; }
  // `arguments`: addresses of the kernel's parameters.
  void launch(const fuser::GeneratedKernel& shape, std::vector<void*>& arguments,
              cudaStream_t stream) const;

 private:
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
};

class GeneratedKernels {
 public:
  // Whether there is a compiler; without one nothing may be added.
  static bool usable();

  std::shared_ptr<const LoadedKernel> add(const fuser::GeneratedKernel& kernel);
  // All that were added and are not compiled yet, for this device.
  void compile(const DeviceInfo& device);

 private:
  struct Entry {
    std::string source;
    std::shared_ptr<LoadedKernel> loaded;
  };
  std::mutex mutex_;
  std::map<std::string, Entry> kernels_;  // by name
  std::vector<std::string> waiting_;      // names
  fuser::CodeCache cache_{{.folder = fuser::CodeCache::default_folder()}};
};

}  // namespace stoker::cuda
