// The statistics of a pipeline of batches, and which of its settings can be changed while it
// runs. Plain numbers, so that whoever consumes batches need not know the pipeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stoker {

// A function of elements; sums over its sampled calls since the walk began.
struct PipelineStage {
  std::string name;  // map("decode")
  // It draws random numbers, or something before it in any branch does: its elements differ from
  // epoch to epoch.
  bool random = false;
  int64_t calls = 0, ns = 0, bytes = 0;  // bytes: written
  // Of some of these calls also the time on a core: the rest of their time they waited.
  int64_t cpu_calls = 0, cpu_calls_ns = 0, cpu_ns = 0;
  int64_t longest_ns = 0;
};

// Where elements are worth keeping; bytes 0: nowhere. They are the same in every epoch: nothing
// before this place draws their contents.
struct CacheAdvice {
  std::string after = {};  // the stage it would stand behind
  double bytes = 0, saved_ns = 0;
  double elements = 0;
  bool fits = true;            // into the memory that the pipeline may use
  std::string shuffle = {};    // stands before it, and has to move behind it; empty: none does
  bool random_behind = false;  // a step behind it draws by its place in the chain
  bool tunable = false;        // PipelineKnobs::cache keeps the same elements
};

struct PipelineStatistics {
  int64_t delivered = 0;            // batches
  int64_t items = 0;                // rows or elements made for them
  int64_t busy_ns = 0, cpu_ns = 0;  // of workers; cpu_ns: of these, on a core
  int64_t waited = 0, wait_ns = 0;  // of the consumer: how often and how long
  double workers = 0;               // 0: the consumer makes every batch itself
  double depth = 0;                 // batches that may lie ready
  bool as_written = false, tunes_workers = false, tunes_depth = false, page_locked = false;
  int64_t memory = 0, memory_limit = 0;  // bytes
  std::vector<PipelineStage> stages;     // from the source to the end
  CacheAdvice cache;
};

// Settings of a running pipeline that change when batches are ready and never what is in them.
struct PipelineKnobs {
  // Fused, made ahead by workers whose number is measured, whatever the chain says.
  bool repaired = false;
  std::optional<int64_t> workers = {}, depth = {};  // instead of measured ones
  bool cache = false;                               // where CacheAdvice says, if anywhere
  bool hold_cache = false;  // what such a cache holds stays, for a later retuning that has it again
  bool page_locked = false;  // batches lie in memory that a GPU can copy from by itself
  friend bool operator==(const PipelineKnobs&, const PipelineKnobs&) = default;
};

}  // namespace stoker
