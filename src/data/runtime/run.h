// One iteration of a dataset as it was planned and measured: what explain() shows, while it runs
// and afterwards.
#pragma once

#include "base/pipeline_statistics.h"
#include "data/node.h"
#include "data/runtime/budget.h"
#include "data/runtime/notices.h"
#include "data/runtime/quarantine.h"
#include "data/runtime/statistics.h"
#include "data/runtime/tuner.h"

namespace stoker::data {

// What the settings nodes of a chain say; of each setting the outermost that states it wins.
struct Settings {
  std::optional<int64_t> prefetch;  // only where it ends the chain
  Budget budget;
  DatasetOptions options;
};

struct Run {
  NodeRef root;
  Settings settings;
  Statistics statistics;
  std::shared_ptr<MemoryBudget> budget;
  std::vector<std::shared_ptr<Quarantine>> quarantines;
  std::vector<std::string> notes;    // what was repaired, fused or added
  std::shared_ptr<Notices> notices;  // said while it runs; null: only described
  std::string replay;                // why a restore makes elements again
  bool random_access = false, ordered = true, page_locked = false;
  bool tunes_workers = false, tunes_depth = false;
  std::optional<BatchSlice> slice;  // none: not one of several ranks
  // What a state of this walk needs beside the chain: empty, or why its batches are not those of one
  // process.
  std::string batches_of;
  std::shared_ptr<void> kept;    // elements of a cache that was not asked for
  RunnerStats* stats = nullptr;  // of the last stage; none: it has not run
  int64_t begin_ns = 0;
  std::atomic<int64_t> elapsed_ns = 0;  // up to the latest batch
};

std::string explain_text(const Run& run);
std::string explain_as_json(const Run& run);
PipelineStatistics statistics_of(const Run& run);

}  // namespace stoker::data
