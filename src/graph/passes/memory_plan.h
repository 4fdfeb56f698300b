// Places buffers with known lifetimes in one arena and returns the exact peak, by category.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace stoker {

// A buffer that is live from the step `begin` to the step `end`, both included.
struct Buffer {
  size_t bytes = 0;
  int begin = 0;
  int end = 0;
  MemoryCategory category = MemoryCategory::activations;
};

inline constexpr size_t kBufferAlignment = 64;
inline constexpr int kMemoryCategories = 7;

struct MemoryPlan {
  std::vector<size_t> offsets;  // one a buffer, multiples of kBufferAlignment
  size_t peak = 0;              // size of the arena
  int peak_step = 0;            // the first step at which live bytes are highest
  // Live bytes by category at that step; the rest of the arena is fragmentation.
  std::array<size_t, kMemoryCategories> at_peak{};
};

// Greedy by size: the largest buffer first, each at the lowest offset that is free all its life.
MemoryPlan plan_memory(std::span<const Buffer> buffers);

// What one step of a plan takes: bytes of the buffers that begin with it, and of all that are live.
struct StepMemory {
  size_t begun = 0, live = 0;
};
std::vector<StepMemory> memory_of_steps(std::span<const Buffer> buffers, size_t steps);

// Bytes a program holds, by category, all known before the first step. Sums to total.
struct MemoryReport {
  std::array<size_t, kMemoryCategories> bytes{};
  size_t arena = 0;  // the shared arena (activations, gradients, workspace, fragmentation)
  size_t total = 0;
};

}  // namespace stoker
