#include "graph/passes/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace stoker {

namespace {

size_t aligned(size_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

bool live_together(const Buffer& a, const Buffer& b) {
  return a.begin <= b.end && b.begin <= a.end;
}

// Indices of the buffers, the largest first; among equals the one that lives first.
std::vector<size_t> by_size(std::span<const Buffer> buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes
                                                : buffers[a].begin < buffers[b].begin;
  });
  return order;
}

// The lowest offset at which `buffer` fits between those placed (ascending by offset) that live
// when it does.
size_t lowest_free(const Buffer& buffer, std::span<const Buffer> buffers,
                   std::span<const size_t> offsets, const std::vector<size_t>& placed) {
  size_t offset = 0;
  for (size_t other : placed) {
    if (!live_together(buffer, buffers[other])) continue;
    if (offset + aligned(buffer.bytes) <= offsets[other]) break;
    offset = std::max(offset, offsets[other] + aligned(buffers[other].bytes));
  }
  return offset;
}

// Fills peak_step and at_peak: buffers arrive at `begin` and leave after `end`.
void find_peak(std::span<const Buffer> buffers, MemoryPlan& plan) {
  std::map<int, int64_t> changes;
  for (const Buffer& buffer : buffers) {
    changes[buffer.begin] += int64_t(buffer.bytes);
    changes[buffer.end + 1] -= int64_t(buffer.bytes);
  }
  int64_t live = 0, most = 0;
  for (auto [step, change] : changes) {
    live += change;
    if (live <= most) continue;
    most = live;
    plan.peak_step = step;
  }
  for (const Buffer& buffer : buffers)
    if (buffer.begin <= plan.peak_step && plan.peak_step <= buffer.end)
      plan.at_peak[size_t(buffer.category)] += buffer.bytes;
}

}  // namespace

MemoryPlan plan_memory(std::span<const Buffer> buffers) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size());
  std::vector<size_t> placed;  // ascending by offset
  for (size_t index : by_size(buffers)) {
    if (buffers[index].bytes == 0) continue;
    size_t offset = lowest_free(buffers[index], buffers, plan.offsets, placed);
    plan.offsets[index] = offset;
    plan.peak = std::max(plan.peak, offset + aligned(buffers[index].bytes));
    auto after = std::ranges::upper_bound(placed, offset, {},
                                          [&](size_t other) { return plan.offsets[other]; });
    placed.insert(after, index);
  }
  find_peak(buffers, plan);
  return plan;
}

std::vector<StepMemory> memory_of_steps(std::span<const Buffer> buffers, size_t steps) {
  std::vector<StepMemory> memory(steps);
  std::vector<size_t> left(steps + 1);  // bytes that end before a step
  for (const Buffer& buffer : buffers) {
    memory[size_t(buffer.begin)].begun += buffer.bytes;
    left[std::min(size_t(buffer.end) + 1, steps)] += buffer.bytes;
  }
  size_t live = 0;
  for (size_t i = 0; i < steps; ++i) memory[i].live = live += memory[i].begun - left[i];
  return memory;
}

}  // namespace stoker
