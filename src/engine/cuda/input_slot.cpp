#include "engine/cuda/input_slot.h"

#include <cstring>

namespace stoker::cuda {

InputSlot::InputSlot(const std::shared_ptr<DevicePool>& pool, const Graph& graph)
    : device_(pool->device()), copied_(Event::Timing::off), used_(Event::Timing::off) {
  device_inputs_.reserve(graph.inputs().size());
  for (const GraphInput& input : graph.inputs()) {
    const TensorSpec& spec = graph.spec(input.value);
    device_inputs_.emplace_back(pool, size_t(spec.shape.elements()) * size_of(spec.dtype),
                                "inputs");
  }
  staging_.resize(device_inputs_.size());
  kept_.reserve(device_inputs_.size());
}

bool InputSlot::upload(std::span<const Tensor> inputs, StepTimer& timer) {
  // What was copied from is about to be overwritten or let go.
  bool waits = in_use_ && !copied_.is_over();
  if (waits) copied_.wait();
  kept_.clear();
  if (in_use_ && !inputs.empty())
    check(cudaStreamWaitEvent(device_.copies(), ended_), "waiting for a slot of inputs");
  timer.begin_copies(device_.copies());
  for (size_t i = 0; i < inputs.size(); ++i) {
    size_t bytes = inputs[i].bytes();
    if (bytes == 0) continue;
    const void* from = inputs[i].raw();
    if (page_locked_memory().owns(from)) {
      kept_.push_back(inputs[i]);
    } else {
      if (staging_[i].bytes() < bytes) staging_[i] = PinnedBlock(bytes);
      std::memcpy(staging_[i].data(), from, bytes);
      from = staging_[i].data();
    }
    check(cudaMemcpyAsync(data(i), from, bytes, cudaMemcpyHostToDevice, device_.copies()),
          "copying an input");
  }
  timer.end_copies(device_.copies());
  if (inputs.empty()) return waits;
  copied_.record(device_.copies());
  check(cudaStreamWaitEvent(device_.stream(), copied_.get()), "waiting for inputs");
  return waits;
}

void InputSlot::upload_in_line(std::span<const Tensor> inputs, StepTimer& timer) {
  timer.begin_copies(device_.stream());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (size_t bytes = inputs[i].bytes(); bytes > 0)
      check(cudaMemcpyAsync(data(i), inputs[i].raw(), bytes, cudaMemcpyHostToDevice,
                            device_.stream()),
            "copying an input");
  timer.end_copies(device_.stream());
  kept_.assign(inputs.begin(), inputs.end());
  copied_.record(device_.stream());
}

void InputSlot::mark_used(cudaEvent_t ended) {
  ended_ = ended != nullptr ? ended : used_.get();
  if (ended == nullptr && !device_inputs_.empty()) used_.record(device_.stream());
  in_use_ = true;
}

void InputSlot::release() {
  if (!kept_.empty() && copied_.is_over()) kept_.clear();
}

size_t InputSlot::bytes() const {
  size_t sum = 0;
  for (const DeviceBlock& input : device_inputs_) sum += input.bytes();
  return sum;
}

}  // namespace stoker::cuda
