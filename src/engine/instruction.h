// What a planned program is made of, whatever engine runs it: instructions over buffers. Engines
// derive from both structs and add what runs an instruction.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend.h"
#include "engine/buffers.h"

namespace stoker {

struct Instruction {
  std::vector<int> operands;                 // buffers: what it reads, then what it writes
  size_t reads = 0;                          // how many of them it only reads
  std::vector<std::pair<int, int>> results;  // (value, buffer) that it makes
  KernelInfo info;
};

// How a builder names one: the kernel sees the addresses of its operands in this order.
struct InstructionCall {
  std::string kernel;
  std::vector<int> reads;
  std::vector<int> writes;
  std::string op = {};  // empty: the node's
  int node = -1;        // whose work it is; -1: the one that is built
  double bytes = -1;    // that it moves, workspace aside; -1: what lies in its buffers
};

struct PlannedParts {
  std::unique_ptr<Graph> graph;
  std::vector<BufferInfo> buffers;
  size_t first_update = 0;          // instructions from here on write variables
  std::vector<int> output_buffers;  // by output, row-major
  int guard_buffer = -1, gate_buffer = -1;
};

// By buffer. Instructions: a range of what derives from Instruction, in the order they run.
template <class Instructions>
std::vector<Lifetime> lifetimes_of(const Instructions& instructions, size_t buffers) {
  std::vector<Lifetime> lifetimes(buffers);
  int at = 0;
  for (const Instruction& instruction : instructions) {
    for (int buffer : instruction.operands) lifetimes[size_t(buffer)].use(at);
    ++at;
  }
  return lifetimes;
}

}  // namespace stoker
