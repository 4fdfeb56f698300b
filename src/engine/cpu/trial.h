// Whether one thread gives a primitive's results to the last bit: tried on random numbers, where
// sums in another order differ.
#pragma once

#include <vector>

#include "engine/cpu/memory.h"
#include "engine/cpu/runtime.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

// While it lives, parallel regions that the calling thread begins have one thread, also those that
// ask for more: primitives remember the size of the team that they were made for.
class OneThreadScope {
 public:
  OneThreadScope() : levels_(omp_get_max_active_levels()) { omp_set_max_active_levels(0); }
  ~OneThreadScope() { omp_set_max_active_levels(levels_); }
  OneThreadScope(const OneThreadScope&) = delete;
  OneThreadScope& operator=(const OneThreadScope&) = delete;

 private:
  TeamScope one_{1};
  int levels_;
};

// Error with oneDNN's status. A CPU stream runs a primitive before the call returns.
void execute(const dnnl::primitive& primitive, const std::vector<dnnl_exec_arg_t>& arguments,
             dnnl_stream_t stream);

// A block of random numbers between -1 and 1, always the same; those of bfloat16 are of many sizes,
// so that sums of their short products are rounded too.
AlignedBlock random_block(size_t bytes,
                          dnnl::memory::data_type type = dnnl::memory::data_type::f32);

// Memory of its own for a call, filled with random numbers.
class TrialMemory {
 public:
  TrialMemory(const std::vector<dnnl_exec_arg_t>& arguments,
              const std::vector<dnnl::memory::desc>& descs);
  const std::vector<dnnl_exec_arg_t>& arguments() const { return arguments_; }
  // Of everything but scratchpads.
  bool equals(const TrialMemory& other) const;

  // Only float32 and bfloat16 are tried, and only what a short step can hold.
  static bool takes(const PrimitiveCall& call);

 private:
  std::vector<AlignedBlock> blocks_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace stoker::cpu
