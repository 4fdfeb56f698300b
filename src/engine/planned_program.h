// The part of a program that does not depend on the engine: what its memory plan, its kernels and
// its outputs are. An engine is left with running instructions and reading buffers.
#pragma once

#include <vector>

#include "engine/instruction.h"

namespace stoker {

class PlannedProgram : public Program {
 public:
  Tensor output(size_t index) const override;
  double scalar(size_t index) const override;
  const MemoryReport& memory() const final { return plan_.memory; }
  const std::vector<KernelInfo>& kernels() const final { return kernels_; }

 protected:
  // The graph must outlive the program.
  explicit PlannedProgram(const Graph& graph) : planned_graph_(graph) {}

  // Once, by the engine's constructor.
  template <class Instructions>
  void plan(const Instructions& instructions, std::span<const BufferInfo> buffers,
            const PlanOptions& options = {}) {
    std::vector<KernelInfo> kernels;
    kernels.reserve(instructions.size());
    for (const Instruction& instruction : instructions) kernels.push_back(instruction.info);
    std::vector<Lifetime> lifetimes = lifetimes_of(instructions, buffers.size());
    BufferPlan plan = plan_buffers(buffers, lifetimes, kernels.size(), options);
    set_plan(std::move(plan), std::move(kernels));
  }
  // The same, for an engine that plans another way. `kernels` get their memory here.
  void set_plan(BufferPlan plan, std::vector<KernelInfo> kernels);
  size_t arena_bytes() const { return plan_.memory.arena; }
  size_t offset_of(size_t buffer) const { return plan_.offsets[buffer]; }

  // The first bytes of an output of the last run, row-major; waits for it.
  virtual void read_output(size_t index, void* to, size_t bytes) const = 0;
  virtual bool has_run() const = 0;
  // ValueError for an output that the graph does not have, Error before the first run.
  const TensorSpec& checked_output(size_t index) const;
  const TensorSpec& checked_scalar(size_t index) const;  // likewise; ShapeError for a larger one

 private:
  const Graph& planned_graph_;
  BufferPlan plan_;
  std::vector<KernelInfo> kernels_;
};

}  // namespace stoker
