// The plan of one iteration: how many workers make batches, how many are prefetched, in which memory,
// and the runner that does it. Each node plans its own part (data/runtime/planning.h); what holds for
// the whole chain is decided here.
#pragma once

#include "base/pipeline_statistics.h"
#include "data/runtime/run.h"
#include "data/runtime/runner.h"

namespace stoker::data {

inline constexpr int64_t kMostDepth = 64;  // prefetched batches that tuning may choose

struct Plan {
  std::shared_ptr<Run> run;
  std::unique_ptr<Runner> runner;
  TunerSettings start;
  Tuner::Limits limits;
};
struct PlanOptions {
  uint64_t seed = 0;
  bool seed_drawn = false;  // it was never set
  ThreadPool* pool = nullptr;
  int threads = 1;
  bool pin = false;                 // whether `memory` is used
  HostMemory* memory = nullptr;     // that the consumer's device copies from; null: ordinary
  bool feeds_gpu = false;           // whoever takes the batches launches a GPU's work
  std::vector<int64_t> order = {};  // the elements to make, instead of all in their order
  PipelineKnobs knobs = {};
  std::shared_ptr<void> kept = {};  // Run::kept of a walk of the same chain
  std::optional<BatchSlice> slice = {};
};
// `pool` null: only to be described.
Plan make_plan(const NodeRef& root, const PlanOptions& options);
// ValueError for a slice that cannot be.
void check_slice(const BatchSlice& slice);
// Of each setting the outermost that states it.
Settings settings_of(const Node& root);
// Most threads that workers of this chain could use.
int threads_for(const Settings& settings, const Context& context,
                const std::optional<BatchSlice>& slice = {});

}  // namespace stoker::data
