// A compiled graph. See engine/backend.h for what its methods promise.
#pragma once

#include <memory>
#include <vector>

#include "engine/cpu/bindings.h"
#include "engine/cpu/builder.h"
#include "engine/cpu/memory.h"
#include "engine/cpu/team_use.h"
#include "engine/planned_program.h"

namespace stoker::cpu {

class CpuProgram final : public PlannedProgram {
 public:
  // memory_limit: of the whole plan, in bytes; 0: none. OutOfMemoryError.
  CpuProgram(ProgramParts parts, std::shared_ptr<SharedArena> arena, int threads,
             size_t memory_limit);

  RunStatus run(std::span<const Tensor> inputs) override;
  RunStatus run_timed(std::span<const Tensor> inputs, std::vector<int64_t>& nanoseconds) override;
  std::optional<NonFinite> find_non_finite(std::span<const Tensor> inputs) override;

 private:
  void read_output(size_t index, void* to, size_t bytes) const override;
  bool has_run() const override { return has_run_; }
  void fill_own();
  TeamChooser chooser() const;
  void prepare(std::span<const Tensor> inputs);
  void bind_all();
  void bind(int buffer, void* data) { bound_.bind(parts_, buffer, data); }
  bool guard_is_finite() const { return is_finite(parts_.guard_buffer) && watched_variable() < 0; }
  int watched_variable() const;      // a watched one that holds NaN or infinity, or -1
  bool is_finite(int buffer) const;  // a float32; true where there is none
  std::optional<NonFinite> non_finite_output(const Instruction& instruction) const;
  void run_instruction(size_t i) const { parts_.instructions[i].kernel->run(bound_.of(i)); }

  ProgramParts parts_;
  std::vector<Variable> variables_;  // handles of the graph's
  std::shared_ptr<SharedArena> arena_;
  int64_t generation_ = -1;  // of the arena when addresses were bound
  int threads_;
  TeamChooser team_use_ = chooser();
  int64_t step_began_ = 0;
  std::vector<AlignedBlock> own_;  // outputs and constants, by buffer
  Bindings bound_{parts_};
  std::vector<int> input_buffers_;  // by input, or -1 when it is not used
  bool has_run_ = false;
};

}  // namespace stoker::cpu
