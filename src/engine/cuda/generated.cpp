#include "engine/cuda/generated.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "base/thread_pool.h"
#include "engine/cuda/fuser/nvrtc.h"

namespace stoker::cuda {

LoadedKernel::~LoadedKernel() {
  if (library_ != nullptr) cudaLibraryUnload(library_);
}

void LoadedKernel::load(const std::string& cubin, const std::string& name) {
  check(cudaLibraryLoadData(&library_, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading a generated kernel (STOKER_NVRTC=off does without)");
  check(cudaLibraryGetKernel(&kernel_, library_, name.c_str()), "finding a generated kernel");
}

void LoadedKernel::launch(const fuser::GeneratedKernel& shape, std::vector<void*>& arguments,
                          cudaStream_t stream) const {
  check(cudaLaunchKernel(static_cast<const void*>(kernel_), dim3(shape.grid_x, shape.grid_y),
                         dim3(fuser::GeneratedKernel::kThreads), arguments.data(), 0, stream),
        "a generated kernel");
}

bool GeneratedKernels::usable() { return fuser::Nvrtc::get() != nullptr; }

std::shared_ptr<const LoadedKernel> GeneratedKernels::add(const fuser::GeneratedKernel& kernel) {
  std::lock_guard lock(mutex_);
  auto [entry, is_new] = kernels_.try_emplace(kernel.name);
  if (is_new) {
    entry->second = {kernel.source, std::make_shared<LoadedKernel>()};
    waiting_.push_back(kernel.name);
  }
  return entry->second.loaded;
}

void GeneratedKernels::compile(const DeviceInfo& device) {
  std::lock_guard lock(mutex_);
  if (waiting_.empty()) return;
  const fuser::Nvrtc* found = fuser::Nvrtc::get();
  if (found == nullptr) throw Error("the run-time compiler went while a program was built");
  const fuser::Nvrtc& compiler = *found;
  int capability = device.major * 10 + device.minor;
  std::string about = fmt::format("sm_{} nvrtc {} ", capability, compiler.version());
  for (const fuser::SourceFile& file : fuser::prelude_files()) about += file.text;
  auto code_of = [&](const std::string& source) {
    std::string key = about + source;
    if (std::optional<std::string> known = cache_.find(key)) return *known;
    std::string code = compiler.compile(source, capability);
    cache_.add(key, code);
    return code;
  };
  int threads = std::clamp(int(std::thread::hardware_concurrency()), 1, 16);
  ThreadPool pool({.threads = std::min(threads, int(waiting_.size())), .name = "compile"});
  std::vector<Future<std::string>> codes;
  for (const std::string& name : waiting_)
    codes.push_back(pool.submit([&, name] { return code_of(kernels_.at(name).source); }));
  for (size_t i = 0; i < waiting_.size(); ++i)
    kernels_.at(waiting_[i]).loaded->load(codes[i].get(), waiting_[i]);
  waiting_.clear();
}

}  // namespace stoker::cuda
