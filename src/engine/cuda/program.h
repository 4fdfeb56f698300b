// A compiled graph on the GPU. The first run issues its kernels one by one, the second captures
// them, later ones replay the capture. See engine/backend.h for what its methods promise.
#pragma once

#include <memory>
#include <vector>

#include "engine/branches.h"
#include "engine/cuda/input_slot.h"
#include "engine/cuda/instruction.h"
#include "engine/cuda/kernel_timer.h"
#include "engine/cuda/step_timer.h"
#include "engine/planned_program.h"

namespace stoker::cuda {

// "this program needs weights 12.0 MiB, …, in all 80.0 MiB"

class CudaProgram final : public PlannedProgram {
 public:
  CudaProgram(ProgramParts parts, std::shared_ptr<SharedArena> arena,
              std::shared_ptr<DevicePool> pool, const CompileOptions& options);
  ~CudaProgram() override;

  RunStatus run(std::span<const Tensor> inputs) override;
  RunStatus status() override;
  int64_t runs_behind() const override;
  DeviceCounts device_counts() const override;
  bool take_device_step(DeviceStep& step) override { return timer_.take(step); }
  void watch_device_steps() override { timer_.turn_on(); }
  std::optional<DeviceKnobs> device_knobs() const override { return knobs_; }
  void set_device_knobs(const DeviceKnobs& knobs) override { knobs_ = knobs; }
  RunStatus run_timed(std::span<const Tensor> inputs, std::vector<int64_t>& nanoseconds) override;
  std::optional<NonFinite> find_non_finite(std::span<const Tensor> inputs) override;

  size_t graph_nodes() const;  // of a captured step; 0 before

 private:
  using Segments = std::vector<std::unique_ptr<CapturedGraph>>;
  // One of the places for a run's inputs, and the program over it.
  struct Slot {
    InputSlot inputs;
    std::vector<void*> addresses;  // by buffer
    Segments segments, timed;      // one a stretch; empty: not captured yet
  };

  void read_output(size_t index, void* to, size_t bytes) const override;
  bool has_run() const override { return runs_ > 0; }
  void plan_memory();
  void fill_own();
  void bind_all();
  Slot& prepare(std::span<const Tensor> inputs);
  void upload(Slot& slot, std::span<const Tensor> inputs);
  void end_run(Slot& slot);
  void reserve_arena();
  void issue(const Slot& slot, size_t begin, size_t end, KernelTimer* timer);
  GuardCall guard_of(const Slot& slot) const;
  // Whether an instruction that makes the guard closes the gate.
  enum class Guards : uint8_t { on, off };
  void issue_one(const Slot& slot, size_t index, cudaStream_t stream, Guards guards = Guards::on);
  void issue_branches(const Slot& slot);
  static constexpr size_t kGuard = ~size_t(0);  // among the items of a branched step
  double work_of(size_t item) const;
  void put_in_order(std::vector<size_t>& items, std::vector<std::vector<int>>& dependencies) const;
  Accesses accesses_of(const Slot& slot, size_t index) const;
  void capture(const Slot& slot, Segments& segments, KernelTimer* timer);
  void capture_all(KernelTimer& timer);
  void replay(Slot& slot, KernelTimer* timer);
  void wait();
  void wait_for_outputs() const;
  RunStatus take_status();
  void issue_guard(const Slot& slot, cudaStream_t stream);
  bool has_guard() const { return parts_.guard_buffer >= 0; }
  bool gates_updates() const { return has_guard() || parts_.gate_buffer >= 0; }

  ProgramParts parts_;
  std::vector<Variable> variables_;
  std::shared_ptr<SharedArena> arena_;
  std::shared_ptr<DevicePool> pool_;
  const Device& device_;
  CompileOptions options_;
  DeviceKnobs knobs_;
  int64_t generation_ = -1;
  bool branches_ = false;         // small kernels: captured side by side
  std::vector<DeviceBlock> own_;  // outputs, constants, counters: by buffer
  std::vector<Slot> slots_;
  std::vector<std::pair<size_t, size_t>> stretches_;  // instructions between host calls
  DeviceBlock run_number_;                            // of the device: counts guards
  int64_t id_;                                        // tells the programs of an arena apart
  size_t last_slot_ = 0;
  int64_t runs_ = 0;
  StepTimer timer_;
  std::unique_ptr<KernelTimer> kernel_timer_;  // made on the first request for kernel times
  mutable DeviceCounts counts_;
};

}  // namespace stoker::cuda
