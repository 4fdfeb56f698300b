#include "data/runtime/plan.h"

#include <fmt/format.h>
#include <stoker/context.h>

#include "base/cores.h"
#include "base/memory_info.h"
#include "data/runtime/cache_place.h"
#include "data/runtime/positions.h"

namespace stoker::data {

namespace {

constexpr int64_t kDefaultDepth = 4;
constexpr double kShareOfMemory = 0.25;  // without a budget
constexpr int64_t kFallbackBudget = int64_t(1) << 30;

int64_t byte_limit(const Budget& budget) {
  if (budget.bytes > 0) return budget.bytes;
  int64_t available = available_memory();
  return available > 0 ? int64_t(double(available) * kShareOfMemory) : kFallbackBudget;
}

int64_t core_limit(const Settings& settings) {
  return settings.budget.cores > 0 ? settings.budget.cores : available_cores();
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
  options.as_written |= earlier.as_written;
}

}  // namespace

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

int threads_for(const Settings& settings, const Context& context) {
  if (context.threads.pipeline > 0)
    return settings.budget.cores > 0 ? settings.budget.cores : context.threads.pipeline;
  return int(std::max<int64_t>(core_limit(settings), kWaitingThreads));
}

Plan make_plan(const NodeRef& root, const PlanOptions& plan_options) {
  const PipelineKnobs& knobs = plan_options.knobs;
  ThreadPool* pool = plan_options.pool;
  Plan plan;
  plan.run = std::make_shared<Run>();
  Run& run = *plan.run;
  run.root = root;
  run.settings = settings_of(*root);
  run.budget = std::make_shared<MemoryBudget>(byte_limit(run.settings.budget));
  if (knobs.repaired) run.settings.options.as_written = false;
  bool as_written = run.settings.options.as_written;
  PlanContext context(plan_options.seed, as_written, pool, run.budget, run.statistics);
  context.retuned = knobs.repaired;
  context.seed_drawn = plan_options.seed_drawn;
  if (knobs.cache) context.cache_after = place_for_cache(root.get());
  if (knobs.cache || knobs.hold_cache) context.kept = plan_options.kept;

  // Settings that end the chain are obeyed here; the node below them is what runs.
  const Node* last = root.get();
  while (last->settings() != nullptr) last = last->input().get();
  Planned planned = last->plan(context);
  if (!plan_options.order.empty()) planned = replayed(std::move(planned), plan_options.order);
  run.random_access = planned.length.has_value();
  run.replay = planned.replay;
  run.ordered = planned.limits.ordered;

  const WorkLimits& limits = planned.limits;
  int64_t cores = core_limit(run.settings);
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
                          .helps = false};
  run.stats = &run.statistics.runner("batches");
  run.notes = std::move(context.notes);
  run.notices = context.notices;
  run.quarantines = std::move(context.quarantines);
  plan.runner = std::make_unique<Runner>(std::move(planned), last->spec(), options, pool,
                                         run.budget, memory, *run.stats);
  return plan;
}

}  // namespace stoker::data
