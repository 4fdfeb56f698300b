// What every oneDNN primitive of ours needs.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/cpu/instruction.h"
#include "engine/cpu/onednn.h"

namespace stoker::cpu {

// Scratchpads are ours: they are planned into the arena, so that nothing is allocated while
// running.
dnnl::primitive_attr attr_with_scratchpad();
// oneDNN 2.6 writes behind its scratchpads: products up to 448 bytes where they were made for one
// thread, weight gradients of 1×1 convolutions up to 960 where they were made for 3, 12 or 16.
inline constexpr size_t kBeyondScratchpad = 4096;

// Moves a tensor from one layout to another at once, outside of any program.
void reorder_now(const dnnl::memory::desc& from, void* source, const dnnl::memory::desc& to,
                 void* target);

// A primitive and what it is called with. The memory objects belong to the program, which binds
// their addresses.
struct PrimitiveCall {
  dnnl::primitive primitive;
  std::vector<dnnl_exec_arg_t> arguments;
  std::vector<dnnl::memory::desc> descs;  // of the arguments
};

// A primitive for a caller that is alone (AloneScope), and the scratchpad that it wants.
struct AloneForm {
  dnnl::primitive primitive;
  dnnl::memory::desc scratchpad;
};
// Called with a team of one, before the first step that runs alone.
using MakeAlone = std::function<AloneForm()>;

// A oneDNN primitive as an instruction. A primitive divides its work among the team when it is
// made. Alone, another form runs: the same primitive where its threads never wait for each other,
// or one made for one thread. A form whose results differ in any bit from the team's on random
// numbers is not used; the team runs then.
class PrimitiveKernel final : public Kernel {
 public:
  PrimitiveKernel(PrimitiveCall call, MakeAlone make_alone, const dnnl::stream& stream);
  ~PrimitiveKernel() override;
  void run(Pointers pointers) const override;

 private:
  struct Alone;  // the form, with a scratchpad of its own

  const PrimitiveCall call_;
  const MakeAlone make_alone_;  // empty: the team only
  const dnnl_stream_t stream_;
  mutable std::unique_ptr<Alone> alone_;
  mutable bool tried_ = false;
};

}  // namespace stoker::cpu
