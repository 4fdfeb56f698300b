// What a program is made of: buffers, and instructions over them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/cuda/residence.h"

namespace stoker::cuda {

struct GuardCall;  // kernels/update.h

enum class BufferKind : uint8_t {
  arena,     // planned, shared with other buffers that live at other times
  input,     // where a run's inputs arrive; index: which
  output,    // of its own, kept until the next run
  constant,  // of its own; index: which
  variable,  // index: which
  fixed,     // of its own, made by the first run from constants
  zeroed,    // of its own, zeroed once: counters that every kernel leaves as it found them
};

struct BufferInfo {
  BufferKind kind = BufferKind::arena;
  size_t bytes = 0;
  MemoryCategory category = MemoryCategory::activations;
  int index = -1;
};

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

struct Instruction {
  Kernel run;
  std::vector<int> operands;                 // buffers: what it reads, then what it writes
  size_t reads = 0;                          // how many of them it only reads
  std::vector<std::pair<int, int>> results;  // (value, buffer) that it makes
  KernelInfo info;
  bool once = false;     // depends on constants alone
  bool on_host = false;  // synchronises and splits the captured graph
};

struct ProgramParts {
  std::unique_ptr<Graph> graph;
  std::vector<Instruction> instructions;
  size_t first_update = 0;  // instructions from here on write variables
  std::vector<BufferInfo> buffers;
  std::vector<std::shared_ptr<CudaResidence>> homes;  // by variable
  std::vector<int> output_buffers;                    // by output
  int guard_buffer = -1, gate_buffer = -1;
  std::optional<size_t> guards;  // the instruction that closes the gate itself
};

}  // namespace stoker::cuda
