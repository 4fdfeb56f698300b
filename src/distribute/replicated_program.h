// One program out of a program per replica. It takes the batch of the process, or the whole one, and
// gives each replica its rows. See engine/backend.h for what its methods promise.
#pragma once

#include <memory>
#include <vector>

#include "distribute/replicated.h"

namespace stoker::distribute {

class ReplicatedProgram final : public Program {
 public:
  struct Piece {
    std::unique_ptr<Program> program;
    RowRange rows = {};                 // of the batch that run() gets
    std::vector<Tensor> stand_in = {};  // inputs of a replica without rows
  };
  struct Parts {
    std::vector<Piece> pieces = {};        // by replica of this process
    std::vector<Variable> variables = {};  // those that the pieces have copies of
    std::vector<bool> joined = {};  // by output: the rows of all pieces; else the first one's
    bool trains = false;
  };
  ReplicatedProgram(std::shared_ptr<Replicated::Shared> shared, Parts parts);

  RunStatus run(std::span<const Tensor> inputs) override;
  RunStatus status() override;
  int64_t runs_behind() const override { return first().runs_behind(); }
  Tensor output(size_t index) const override;
  double scalar(size_t index) const override { return first().scalar(index); }
  const MemoryReport& memory() const override { return first().memory(); }
  DeviceCounts device_counts() const override { return first().device_counts(); }
  bool take_device_step(DeviceStep& step) override { return first().take_device_step(step); }
  void watch_device_steps() override { first().watch_device_steps(); }
  std::optional<DeviceKnobs> device_knobs() const override { return first().device_knobs(); }
  void set_device_knobs(const DeviceKnobs& knobs) override;
  const std::vector<KernelInfo>& kernels() const override { return first().kernels(); }
  RunStatus run_timed(std::span<const Tensor> inputs, std::vector<int64_t>& nanoseconds) override;
  std::optional<NonFinite> find_non_finite(std::span<const Tensor> inputs) override;

 private:
  Program& first() const { return *parts_.pieces[0].program; }
  template <class Body>
  void on_replicas(const Body& body);
  template <class Run>
  RunStatus run_all(std::span<const Tensor> inputs, const Run& run);
  std::vector<Tensor> inputs_of(const Piece& piece, std::span<const Tensor> inputs) const;

  std::shared_ptr<Replicated::Shared> shared_;
  Parts parts_;
};

}  // namespace stoker::distribute
