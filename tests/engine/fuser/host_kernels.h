// Generated kernels compiled by the host's compiler, and run block by block.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <stoker/tensor.h>

#include "engine/cuda/fuser/codegen.h"
#include "support/temp_dir.h"

namespace stoker::test {

class HostKernels {
 public:
  // Whether there is a compiler.
  static bool usable();

  void add(const fuser::GeneratedKernel& kernel) { kernels_.emplace(kernel.name, kernel); }
  size_t size() const { return kernels_.size(); }
  std::string compile();  // what the compiler said; empty: nothing
  // The region's result from its operands. Error where a kernel writes past the end of it or leaves
  // a counter behind.
  Tensor run(const fuser::GeneratedKernel& kernel, const std::vector<Tensor>& operands,
             const TensorSpec& result) const;

 private:
  TempDir folder_;
  std::map<std::string, fuser::GeneratedKernel> kernels_;
  void* library_ = nullptr;
};

}  // namespace stoker::test
