// What a program of the GPU is made of.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/cuda/residence.h"
#include "engine/instruction.h"

namespace stoker::cuda {

struct GuardCall;  // kernels/update.h

// What an instruction finds when it runs. Its addresses are those of the operands it was emitted
// with, reads first.
struct Launch {
  const Device& device;
  cudaStream_t stream;
  std::span<void* const> at;
  // On the device: whether updates happen, and whether those happen that a closed gate of the graph
  // does not keep; null: both do.
  const int* enabled;
  // Of the instruction that makes the guard itself: what it then does. May be null: no guard.
  const GuardCall* guard = nullptr;

  template <class T = void>
  T* get(size_t operand) const {
    return static_cast<T*>(at[operand]);
  }
};
using Kernel = std::function<void(const Launch&)>;

struct Instruction : stoker::Instruction {
  Kernel run;
  bool once = false;     // depends on constants alone
  bool on_host = false;  // synchronises and splits the captured graph
};

struct ProgramParts : PlannedParts {
  std::vector<Instruction> instructions;
  std::vector<std::shared_ptr<CudaResidence>> homes;  // by variable
  std::optional<size_t> guards;                       // the instruction that closes the gate itself
};

}  // namespace stoker::cuda
