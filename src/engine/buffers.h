// The buffers of a planned program: what each is for, when it is alive, where it lies and what all
// of them take. The same for every engine. Pure: nothing is allocated here.
#pragma once

#include <span>
#include <vector>

#include "graph/passes/memory_plan.h"

namespace stoker {

// Where a buffer's memory comes from.
enum class BufferKind : uint8_t {
  arena,     // planned: shared with buffers that live at other times
  input,     // where a run's inputs arrive, or the caller's tensor itself; index: which
  output,    // of its own: results stay until the next run, the arena's contents do not
  constant,  // of its own, filled when the program is made; index: which
  variable,  // a variable's residence; index: which
  fixed,     // of its own, made by the first run from constants
  zeroed,    // of its own, zeroed once: counters that every kernel leaves as it found them
  part,      // of another buffer, which is in the arena; index: which
};
// Whether the program allocates it for itself alone.
bool is_own(BufferKind kind);
// Whether it lies in the arena.
inline bool is_planned(BufferKind kind) {
  return kind == BufferKind::arena || kind == BufferKind::part;
}

struct BufferInfo {
  BufferKind kind = BufferKind::arena;
  size_t bytes = 0;
  MemoryCategory category = MemoryCategory::activations;
  int index = -1;
  size_t offset = 0;  // of a part
};

// By value, what the memory of a computed value counts as; docs/guide/memory.md states the rule.
std::vector<MemoryCategory> memory_categories(const Graph& graph);

// The first and the last instruction that use a buffer; -1: none does.
struct Lifetime {
  int begin = -1, end = -1;
  void use(int instruction) {
    if (begin < 0) begin = instruction;
    end = instruction;
  }
};

struct PlanOptions {
  size_t unit = 1;         // sizes in the arena are rounded up to it
  bool share = true;       // false: every buffer of the arena has memory of its own
  size_t input_bytes = 0;  // held for inputs
};

struct BufferPlan {
  std::vector<size_t> offsets;      // by buffer, in the arena
  MemoryReport memory;              // memory.arena: its size
  std::vector<StepMemory> at_work;  // by instruction
};

// `lifetimes` are by buffer. Outputs count as held from their first use to the end of the run.
BufferPlan plan_buffers(std::span<const BufferInfo> buffers, std::span<const Lifetime> lifetimes,
                        size_t instructions, const PlanOptions& options = {});

// Bytes that buffers of the arena would take if no two shared memory.
size_t bytes_without_sharing(std::span<const BufferInfo> buffers, size_t unit);

}  // namespace stoker
