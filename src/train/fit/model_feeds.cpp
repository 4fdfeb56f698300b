#include "train/fit/model_feeds.h"

#include <algorithm>

#include "train/fit/processes.h"
#include "train/step/steps.h"

namespace stoker {

HostMemory* batch_memory(ModelBase& model) {
  const Context& context = *trainer_of(model).context;
  return context.pin ? &engine_of(context).host_memory() : nullptr;
}

int threads_ahead(ModelBase& model) {
  constexpr int kMost = 4;
  const Context& context = *trainer_of(model).context;
  if (!context.pin || !engine_of(context).host_memory().page_locked()) return 0;
  return context.threads.pipeline > 0 ? std::min(context.threads.pipeline, kMost) : kMost;
}

void check_ahead(ModelBase& model, StepKind kind, const std::vector<Tensor>& columns,
                 int64_t batch_size, const char* action) {
  std::vector<TensorSpec> specs = specs_of(columns);
  int64_t rows = std::min(batch_size, columns[0].shape()[0]);
  PartOfBatch of_all(trainer_of(model));
  if (Processes* processes = processes_of(trainer_of(model))) {
    trainer_of(model).rows_of_all = rows;
    rows = processes->slice().end(rows) - processes->slice().begin(rows);
  }
  const PartSizes& parts = trainer_of(model).parts;
  int64_t part = is_training(kind) ? parts.training : parts.evaluation;
  bool whole = part == 0 || part >= rows;
  for (TensorSpec& spec : specs) spec.shape.set(0, whole ? rows : part);
  ProgramLanes::Lease lease = trainer_of(model).lanes.lease_main();
  const CachedProgram& program = whole || !is_training(kind)
                                     ? program_for(model, kind, specs, action)
                                     : program_for(model, StepKind::part, specs, action, rows);
  check_limits(program, columns, action);
}

FeedOptions shared_feed(FeedOptions options, ModelBase& model) {
  Processes* processes = processes_of(trainer_of(model));
  if (processes == nullptr) return options;
  options.slice = processes->slice();
  options.any_rank = [processes](bool mine) { return any_of(*processes, mine); };
  return options;
}

}  // namespace stoker
