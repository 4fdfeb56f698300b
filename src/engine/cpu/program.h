// A compiled graph. See engine/backend.h for what its methods promise.
#pragma once

#include <memory>
#include <vector>

#include "engine/cpu/builder.h"
#include "engine/cpu/memory.h"

namespace stoker::cpu {

class CpuProgram final : public Program {
 public:
  // memory_limit: of the whole plan, in bytes; 0: none. OutOfMemoryError.
  CpuProgram(ProgramParts parts, std::shared_ptr<SharedArena> arena, int threads,
             size_t memory_limit);

  RunStatus run(std::span<const Tensor> inputs) override;
  Tensor output(size_t index) const override;
  double scalar(size_t index) const override;
  const MemoryReport& memory() const override { return memory_; }
  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  RunStatus run_timed(std::span<const Tensor> inputs, std::vector<int64_t>& nanoseconds) override;
  std::optional<NonFinite> find_non_finite(std::span<const Tensor> inputs) override;

 private:
  void plan(size_t memory_limit);
  void attribute_memory(std::span<const std::pair<int, int>> life);
  void report(const MemoryPlan& plan);
  void prepare(std::span<const Tensor> inputs);
  void bind_all();
  void bind(int buffer, void* data);
  bool guard_is_finite() const { return is_finite(parts_.guard_buffer) && watched_variable() < 0; }
  int watched_variable() const;      // a watched one that holds NaN or infinity, or -1
  bool is_finite(int buffer) const;  // a float32; true where there is none
  const void* output_data(size_t index) const;
  std::optional<NonFinite> non_finite_output(const Instruction& instruction) const;
  void run_instruction(size_t i) const {
    parts_.instructions[i].kernel->run(Pointers(pointers_.data() + first_pointer_[i]));
  }

  ProgramParts parts_;
  std::vector<Variable> variables_;  // handles of the graph's
  std::shared_ptr<SharedArena> arena_;
  int64_t generation_ = -1;  // of the arena when addresses were bound
  int threads_;
  std::vector<size_t> offsets_;  // by buffer, in the arena
  size_t arena_bytes_ = 0;
  std::vector<AlignedBlock> own_;                 // outputs and constants, by buffer
  std::vector<void*> addresses_;                  // by buffer
  std::vector<void*> pointers_;                   // operands of all instructions, one after another
  std::vector<size_t> first_pointer_;             // by instruction
  std::vector<std::vector<size_t>> pointers_of_;  // by buffer: places in pointers_
  std::vector<std::vector<size_t>> memories_of_;  // by buffer: memory objects
  std::vector<int> input_buffers_;                // by input, or -1 when it is not used
  MemoryReport memory_;
  std::vector<KernelInfo> kernels_;
  bool has_run_ = false;
};

}  // namespace stoker::cpu
