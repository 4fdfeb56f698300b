// The inputs of one run on their way to the device, and where they lie there. Programs have one
// more than runs may be in flight, so that a batch is copied while the step before it runs. From
// one thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/cuda/memory.h"
#include "engine/cuda/step_timer.h"

namespace stoker::cuda {

class InputSlot {
 public:
  InputSlot(const std::shared_ptr<DevicePool>& pool, const Graph& graph);

  // Begins to copy on the stream of copies, once the run that used this slot before has ended, and
  // lets the compute stream wait for it. Page-locked memory is read where it lies: those tensors
  // are kept until they have been read, so that a pipeline does not write into them. Other memory
  // goes through a page-locked copy. Returns whether the host had to wait for the slot.
  bool upload(std::span<const Tensor> inputs, StepTimer& timer);
  // As a plain program would: out of any memory, in line with the kernels.
  void upload_in_line(std::span<const Tensor> inputs, StepTimer& timer);
  // The run that reads this slot has been issued. `ended`: an event behind it that stays until the
  // slot is used again; null: it needs one of its own, which costs the device a microsecond.
  void mark_used(cudaEvent_t ended);
  // Lets go of tensors that have been read. Never waits.
  void release();
  // The same when the device is known to be idle.
  void release_all() { kept_.clear(); }

  // A run has used it: its inputs lie on the device.
  bool is_filled() const { return in_use_; }

  void* data(size_t input) const { return device_inputs_[input].data(); }
  size_t bytes() const;  // on the device

 private:
  const Device& device_;
  std::vector<DeviceBlock> device_inputs_;
  std::vector<PinnedBlock> staging_;
  std::vector<Tensor> kept_;
  Event copied_, used_;
  cudaEvent_t ended_ = nullptr;  // of the run that used it last
  bool in_use_ = false;
};

}  // namespace stoker::cuda
