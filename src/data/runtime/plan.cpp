#include "data/runtime/plan.h"

#include <fmt/format.h>
#include <stoker/context.h>

#include "base/cores.h"
#include "base/memory_info.h"
#include "data/runtime/cache_place.h"
#include "data/runtime/positions.h"
#include "data/runtime/slicing.h"

namespace stoker::data {

namespace {

constexpr int64_t kDefaultDepth = 4;
constexpr double kShareOfMemory = 0.25;  // without a budget
constexpr int64_t kFallbackBudget = int64_t(1) << 30;

int64_t byte_limit(const Budget& budget, int64_t ranks_of_host) {
  if (budget.bytes > 0) return budget.bytes;
  int64_t available = available_memory();
  return (available > 0 ? int64_t(double(available) * kShareOfMemory) : kFallbackBudget) /
         ranks_of_host;
}

int64_t core_limit(const Settings& settings, int64_t ranks_of_host) {
  return settings.budget.cores > 0 ? settings.budget.cores : cores_of_rank(ranks_of_host);
}

int64_t ranks_of(const std::optional<BatchSlice>& slice) {
  return slice ? slice->ranks_of_host : 1;
}

// Run::batches_of.
std::string batches_of(const PlanContext& context) {
  if (context.policy == AutoShardPolicy::file)
    return fmt::format("{} ranks that share files", context.slice->size);
  if (context.policy == AutoShardPolicy::off)
    return fmt::format("{} ranks that share nothing", context.slice->size);
  return context.gaps ? "ranks that leave bad elements out where they stand" : "";
}

// The rows of the slice, as the policy has it.
Planned shared_out(Planned planned, const Node& node, PlanContext& context) {
  switch (context.policy) {
    case AutoShardPolicy::automatic:
    case AutoShardPolicy::data:
      return sliced(std::move(planned), node, context);
    case AutoShardPolicy::off:
      context.note(fmt::format("rank {} of {}: walks the whole dataset (auto_shard_policy = off)",
                               context.slice->rank, context.slice->size));
      break;
    case AutoShardPolicy::file:
      if (!context.files_shared || !context.batch_seen)
        throw ValueError(
            fmt::format("auto_shard_policy = file: the dataset {}; use AutoShardPolicy::data",
                        context.files_shared ? "has no batch() whose rows could be shared"
                                             : "reads no files that could be shared among ranks"));
      context.note(fmt::format(
          "rank {} of {}: reads its share of {} files; whole batches depend on the number of ranks "
          "(auto_shard_policy = file)",
          context.slice->rank, context.slice->size, context.source_files));
  }
  planned.limits.ordered = true;
  return planned;
}

// The elements of a plan that `order` names, in that order.
Planned replayed(Planned planned, const std::vector<int64_t>& order) {
  if (!planned.length)
    throw ValueError("iterate: an order can only be replayed with random access");
  for (int64_t index : order)
    if (index < 0 || index >= *planned.length)
      throw ValueError(fmt::format("iterate: the order names element {}, but there are {}", index,
                                   *planned.length));
  planned.limits.ordered = true;
  return placed(std::move(planned), int64_t(order.size()),
                [order](int64_t&, int64_t& index) { index = order[size_t(index)]; });
}

// Fills in what the nodes behind have left open.
void join(Budget& budget, const Budget& earlier) {
  if (budget.cores == 0) budget.cores = earlier.cores;
  if (budget.bytes == 0) budget.bytes = earlier.bytes;
}

void join(DatasetOptions& options, const DatasetOptions& earlier) {
  if (options.name.empty()) options.name = earlier.name;
  if (!options.seed) options.seed = earlier.seed;
  if (options.tuned.empty()) options.tuned = earlier.tuned;
  if (!options.auto_shard_policy) options.auto_shard_policy = earlier.auto_shard_policy;
  options.as_written |= earlier.as_written;
}

}  // namespace

void check_slice(const BatchSlice& slice) {
  bool fits = slice.size >= 1 && slice.rank >= 0 && slice.rank < slice.size &&
              slice.ranks_of_host >= 1 && slice.ranks_of_host <= slice.size;
  if (!fits)
    throw ValueError(fmt::format(
        "iterate: the slice is rank {} of {}, {} of them on this host; expected a rank below the "
        "number of ranks",
        slice.rank, slice.size, slice.ranks_of_host));
}

Settings settings_of(const Node& root) {
  Settings settings;
  bool at_end = true;
  for (const Node* node = &root;; node = node->input().get()) {
    if (const ChainSettings* stated = node->settings()) {
      if (stated->prefetch && at_end && !settings.prefetch) settings.prefetch = stated->prefetch;
      if (stated->budget) join(settings.budget, *stated->budget);
      if (stated->options) join(settings.options, *stated->options);
    } else {
      at_end = false;
    }
    if (node->inputs().empty()) return settings;
  }
}

int threads_for(const Settings& settings, const Context& context,
                const std::optional<BatchSlice>& slice) {
  if (context.threads.pipeline > 0)
    return settings.budget.cores > 0 ? settings.budget.cores : context.threads.pipeline;
  return int(std::max<int64_t>(core_limit(settings, ranks_of(slice)), kWaitingThreads));
}

Plan make_plan(const NodeRef& root, const PlanOptions& plan_options) {
  const PipelineKnobs& knobs = plan_options.knobs;
  ThreadPool* pool = plan_options.pool;
  Plan plan;
  plan.run = std::make_shared<Run>();
  Run& run = *plan.run;
  run.root = root;
  run.settings = settings_of(*root);
  const std::optional<BatchSlice>& slice = plan_options.slice;
  int64_t ranks = ranks_of(slice);
  run.budget = std::make_shared<MemoryBudget>(byte_limit(run.settings.budget, ranks));
  if (knobs.repaired) run.settings.options.as_written = false;
  bool as_written = run.settings.options.as_written;
  run.slice = slice;
  AutoShardPolicy policy =
      run.settings.options.auto_shard_policy.value_or(AutoShardPolicy::automatic);
  bool own_files = slice && policy == AutoShardPolicy::file;
  // Ranks number the elements of their files alike, and are to draw differently.
  uint64_t seed = own_files ? mixed(plan_options.seed, uint64_t(slice->rank)) : plan_options.seed;
  PlanContext context(seed, as_written, pool, run.budget, run.statistics);
  context.slice = slice;
  context.policy = policy;
  context.cores = cores_of_rank(ranks);
  context.retuned = knobs.repaired;
  context.seed_drawn = plan_options.seed_drawn;
  if (knobs.cache) context.cache_after = place_for_cache(root.get());
  if (knobs.cache || knobs.hold_cache) context.kept = plan_options.kept;

  // Settings that end the chain are obeyed here; the node below them is what runs.
  const Node* last = root.get();
  while (last->settings() != nullptr) last = last->input().get();
  Planned planned = last->plan(context);
  if (!plan_options.order.empty()) planned = replayed(std::move(planned), plan_options.order);
  bool keeps_dropped = slice && planned.may_drop;
  if (slice) planned = shared_out(std::move(planned), *last, context);
  if (slice) run.batches_of = batches_of(context);
  run.random_access = planned.length.has_value();
  run.replay = planned.replay;
  run.ordered = planned.limits.ordered;

  const WorkLimits& limits = planned.limits;
  int64_t cores = core_limit(run.settings, ranks);
  if (run.settings.budget.cores == 0) cores = cores_for_workers(cores, plan_options.feeds_gpu);
  if (pool != nullptr) cores = std::min<int64_t>(cores, plan_options.threads);
  std::optional<int64_t> depth = run.settings.prefetch;
  if (knobs.repaired) depth = AUTOTUNE;
  if (knobs.depth) depth = knobs.depth;
  if (!depth && !as_written) {
    depth = AUTOTUNE;
    context.note(
        "prefetch(AUTOTUNE) was added at the end: the consumer need not wait for a batch "
        "to be made");
  }
  bool background = depth.value_or(0) != 0;
  run.tunes_depth = background && depth == AUTOTUNE && !as_written;
  bool tuned = (limits.tuned() || knobs.repaired) && !as_written;
  run.tunes_workers = background && tuned && !knobs.workers;
  plan.start.depth = depth.value_or(0) > 0 ? *depth : as_written ? 2 : kDefaultDepth;
  plan.start.workers = knobs.workers ? *knobs.workers : tuned ? cores : limits.workers;
  if (!background) plan.start.workers = 0;
  plan.limits = {.cores = cores,
                 .most_workers = std::max<int64_t>(plan_options.threads, 1),
                 .most_depth = kMostDepth,
                 .workers = run.tunes_workers,
                 .depth = run.tunes_depth};

  run.kept = context.kept;
  bool pin = (plan_options.pin && !as_written) || knobs.page_locked;
  HostMemory& memory =
      pin && plan_options.memory != nullptr ? *plan_options.memory : ordinary_memory();
  run.page_locked = memory.page_locked();
  std::string name = run.settings.options.name;
  Runner::Options options{.title = name.empty() ? "dataset" : fmt::format("dataset \"{}\"", name),
                          .workers = plan.start.workers,
                          .depth = plan.start.depth,
                          .ordered = limits.ordered,
                          .helps = false,
                          .keeps_dropped = keeps_dropped};
  run.stats = &run.statistics.runner("batches");
  run.notes = std::move(context.notes);
  run.notices = context.notices;
  run.quarantines = std::move(context.quarantines);
  plan.runner =
      std::make_unique<Runner>(std::move(planned), slice ? sliced_spec(last->spec()) : last->spec(),
                               options, pool, run.budget, memory, *run.stats);
  return plan;
}

}  // namespace stoker::data
