// What every oneDNN primitive of ours needs.
#pragma once

#include <vector>

#include "engine/cpu/instruction.h"
#include "engine/cpu/onednn.h"

namespace stoker::cpu {

// Scratchpads are ours: they are planned into the arena, so that nothing is allocated while
// running.
dnnl::primitive_attr attr_with_scratchpad();

// Moves a tensor from one layout to another at once, outside of any program.
void reorder_now(const dnnl::memory::desc& from, void* source, const dnnl::memory::desc& to,
                 void* target);

// A oneDNN primitive with its arguments. The memory objects belong to the program, which binds
// their addresses.
class PrimitiveKernel final : public Kernel {
 public:
  PrimitiveKernel(dnnl::primitive primitive, const dnnl::stream& stream,
                  std::vector<dnnl_exec_arg_t> arguments)
      : primitive_(std::move(primitive)), stream_(stream.get()), arguments_(std::move(arguments)) {}
  void run(Pointers pointers) const override;

 private:
  dnnl::primitive primitive_;
  dnnl_stream_t stream_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace stoker::cpu
