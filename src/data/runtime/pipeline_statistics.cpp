#include "base/pipeline_statistics.h"

#include "data/runtime/cache_place.h"

namespace stoker::data {

namespace {

PipelineStage stage_of(const StageStats& stats) {
  return {.name = stats.name,
          .random = stats.random || draws_elements(*stats.node),
          .calls = stats.sampled.value(),
          .ns = stats.sampled_ns.value(),
          .bytes = stats.bytes.value(),
          .cpu_calls = stats.cpu_sampled.value(),
          .cpu_calls_ns = stats.cpu_sampled_ns.value(),
          .cpu_ns = stats.cpu_ns.value(),
          .longest_ns = stats.longest_ns.load()};
}

}  // namespace

PipelineStatistics statistics_of(const Run& run) {
  PipelineStatistics result;
  const RunnerStats& stats = *run.stats;
  result.delivered = stats.delivered.value();
  result.items = stats.items.value();
  for (const RunnerStats& runner : run.statistics.runners()) {
    result.busy_ns += runner.busy_ns.value();
    result.cpu_ns += runner.cpu_ns.value();
  }
  result.waited = stats.waited.value();
  result.wait_ns = stats.wait_ns.value();
  result.workers = stats.workers.value();
  result.depth = stats.depth.value();
  result.as_written = run.settings.options.as_written;
  result.tunes_workers = run.tunes_workers;
  result.tunes_depth = run.tunes_depth;
  result.page_locked = run.page_locked;
  result.memory = run.budget->used();
  result.memory_limit = run.budget->limit();
  result.stages.reserve(run.statistics.stages().size());
  for (const StageStats& stage : run.statistics.stages()) result.stages.push_back(stage_of(stage));
  result.cache = cache_advice(run);
  return result;
}

}  // namespace stoker::data
