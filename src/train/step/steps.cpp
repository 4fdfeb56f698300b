#include "train/step/steps.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "engine/input_limits.h"
#include "train/model/model_base.h"
#include "train/optimizers/optimizer_impl.h"
#include "train/step/own_step_graph.h"
#include "train/step/step_graph.h"
#include "train/step/step_tap.h"

namespace stoker {

namespace {

// Sums are over the rows of all processes.
int64_t rows_counted(const Trainer& trainer, std::span<const Tensor> inputs) {
  return trainer.rows_of_all >= 0 ? trainer.rows_of_all : inputs[0].shape()[0];
}

// Of a step of several processes: the rows that all of them have, which the weight of its own depends on.
// Of an own training step: which of its programs its optimisers ask for.
int key_of(const ModelBase& model, StepKind kind, int64_t whole) {
  if (is_training(kind) && has_own_step(*model.trainer, kind))
    return program_key(StepKind::train, own_program(*model.trainer->compiled));
  bool shared = model.trainer->distribution != nullptr && kind != StepKind::predict;
  return program_key(kind, shared ? model.trainer->rows_of_all + 1 : whole);
}

// One program of all replicas of this process.
CachedProgram& make_distributed(ModelBase& model, ProgramCache& programs, StepKind kind,
                                std::vector<TensorSpec> specs, int64_t whole) {
  Trainer& trainer = trainer_of(model);
  if (whole > 0 || kind == StepKind::part)
    throw Error(
        "a batch of several replicas runs whole; where it does not fit into memory, take a "
        "smaller batch or more replicas");
  DistributedStep step{.specs = specs,
                       .whole = kind == StepKind::predict ? -1 : trainer.rows_of_all,
                       .predicts = kind == StepKind::predict,
                       .trace = [&](const Replica& replica, std::span<const TensorSpec> own) {
                         return trace_step(model, trainer, kind, own, 0, replica);
                       }};
  Distribution::Made made = trainer.distribution->compile(step, *trainer.context);
  return programs.add(key_of(model, kind, 0), std::move(specs), std::move(made.graph),
                      std::move(made.program));
}

CachedProgram& make_own_program(ModelBase& model, ProgramCache& programs, StepKind kind,
                                std::vector<TensorSpec> specs, const char* action) {
  Trainer& trainer = trainer_of(model);
  check_own_step_specs(trainer, kind, specs, action);
  std::unique_ptr<Graph> graph = trace_own_step(model, trainer, kind, specs);
  // Only now is it known which optimisers there are.
  return programs.add(key_of(model, kind, 0), std::move(specs), std::move(graph), *trainer.context);
}

CachedProgram& make_any_program(ModelBase& model, ProgramCache& programs, StepKind kind,
                                std::vector<TensorSpec> specs, const char* action, int64_t whole) {
  Trainer& trainer = trainer_of(model);
  if (has_own_step(trainer, kind))
    return make_own_program(model, programs, kind, std::move(specs), action);
  if (kind == StepKind::test) check_own_evaluation(trainer, action);
  check_step_specs(model, trainer, kind, specs, action);
  if (trainer.distribution != nullptr)
    return make_distributed(model, programs, kind, std::move(specs), whole);
  std::unique_ptr<Graph> graph = trace_step(model, trainer, kind, specs, whole);
  return programs.add(program_key(kind, whole), std::move(specs), std::move(graph),
                      *trainer.context);
}

CachedProgram& make_program(ModelBase& model, ProgramCache& programs, StepKind kind,
                            std::vector<TensorSpec> specs, const char* action, int64_t whole) {
  std::lock_guard lock(building());
  int64_t begin = steady_clock().now();
  CachedProgram& made = make_any_program(model, programs, kind, std::move(specs), action, whole);
  programs.count_making(steady_clock().now() - begin);
  return made;
}

// `begun`: the last step that cached.steps knows has begun. run() reports an earlier failure instead
// of beginning one.
[[noreturn]] void fail_non_finite(CachedProgram& cached, std::span<const Tensor> inputs,
                                  StepPlace place, const Optimizer& optimizer, bool begun = false) {
  Program& program = *cached.program;
  int64_t back = program.runs_behind() - (begun ? 1 : 0);
  if (place.epoch >= 0) place.step = cached.steps.before(std::max<int64_t>(back, 0));
  std::optional<NonFinite> found = program.find_non_finite(inputs);
  std::string first =
      found ? fmt::format("the first bad value comes out of op \"{}\" in layer \"{}\" ({})",
                          found->op, found->scope, to_string(found->spec))
            : "no single op gives a bad value";
  if (optimizer.scales_loss())
    first += fmt::format(" (loss scale {}, {} steps skipped so far)", optimizer.loss_scale(),
                         optimizer.skipped_steps());
  throw NonFiniteError(
      fmt::format("{}: the loss or a gradient is not finite: {}; the weights are those before this "
                  "step. Check the "
                  "input for NaN, lower the learning rate or clip gradients (clipnorm)",
                  to_string(place), first));
}

CachedProgram& program_in(ModelBase& model, ProgramCache& programs, StepKind kind,
                          std::span<const Tensor> inputs, const char* action, int64_t whole = 0) {
  CachedProgram* known = programs.find(key_of(model, kind, whole), inputs);
  return known ? *known : make_program(model, programs, kind, specs_of(inputs), action, whole);
}

RunStatus run(const ModelBase& model, CachedProgram& cached, std::span<const Tensor> inputs,
              const StepPlace& place) {
  cached.steps.add(place.step);
  try {
    return run_tapped({.context = *model.trainer->context,
                       .cached = cached,
                       .inputs = inputs,
                       .kind = name_of(kind_of(cached)),
                       .alone = is_training(kind_of(cached)) && place.epoch < 0});
  } catch (const ValueError& error) {
    throw ValueError(fmt::format("{}: {}", to_string(place), error.what()));
  } catch (const ShapeError& error) {
    throw ShapeError(fmt::format("{}: {}", to_string(place), error.what()));
  }
}

Program& run_prediction(ModelBase& model, ProgramCache& programs, std::span<const Tensor> inputs,
                        const StepPlace& place) {
  CachedProgram& cached = program_in(model, programs, StepKind::predict, inputs, place.action);
  std::unique_lock turn(model.trainer->drawing, std::defer_lock);
  if (!cached.graph->assignments().empty()) turn.lock();
  run(model, cached, inputs, place);
  return *cached.program;
}

}  // namespace

std::string to_string(const StepPlace& place) {
  if (place.epoch < 0)
    return place.step < 0 ? place.action : fmt::format("{}: step {}", place.action, place.step + 1);
  return fmt::format("{}: epoch {}, step {}", place.action, place.epoch + 1, place.step + 1);
}

CachedProgram& program_for(ModelBase& model, StepKind kind, std::span<const TensorSpec> specs,
                           const char* action, int64_t whole) {
  return program_for(model, trainer_of(model).programs, kind, specs, action, whole);
}

CachedProgram& program_for(ModelBase& model, ProgramCache& programs, StepKind kind,
                           std::span<const TensorSpec> specs, const char* action, int64_t whole) {
  CachedProgram* known = programs.find(key_of(model, kind, whole), specs);
  return known ? *known
               : make_program(model, programs, kind, {specs.begin(), specs.end()}, action, whole);
}

CachedProgram& program_for(ModelBase& model, StepKind kind, std::span<const Tensor> inputs,
                           const char* action) {
  return program_in(model, trainer_of(model).programs, kind, inputs, action);
}

std::string_view name_of(StepKind kind) {
  switch (kind) {
    case StepKind::train:
      return "train";
    case StepKind::accumulate:
      return "accumulate";
    case StepKind::test:
      return "test";
    case StepKind::part:
      return "part";
    case StepKind::predict:
      break;
  }
  return "predict";
}

std::vector<StepPart> parts_of(std::span<const Tensor> inputs, int64_t size) {
  int64_t rows = inputs[0].shape()[0];
  std::vector<StepPart> parts;
  for (int64_t begin = 0; begin < rows; begin += size) {
    StepPart part{.whole = rows, .last = begin + size >= rows};
    for (const Tensor& input : inputs)
      part.inputs.push_back(input.slice(begin, std::min(begin + size, rows)));
    parts.push_back(std::move(part));
  }
  return parts;
}

StepKind training_kind(const Trainer& trainer) {
  if (has_own_step(trainer, StepKind::train)) return StepKind::train;
  return updates_next(trainer.compiled->args.optimizer) ? StepKind::train : StepKind::accumulate;
}

namespace {

bool in_parts(std::span<const Tensor> inputs, int64_t size) {
  return size > 0 && inputs[0].shape()[0] > size;
}

void clear_part_sums(Trainer& trainer) {
  for (Variable& sum : trainer.part_sums)
    if (sum.defined()) sum.write(Tensor::zeros(sum.shape()));
}

// All programs are there before the first of them runs: a part that does not fit then leaves the
// model as it was.
void run_training_parts(ModelBase& model, std::span<const Tensor> inputs, const StepPlace& place) {
  Trainer& trainer = *model.trainer;
  const Optimizer& optimizer = trainer.compiled->args.optimizer;
  std::vector<StepPart> parts = parts_of(inputs, trainer.parts.training);
  auto program_of = [&](const StepPart& part) -> CachedProgram& {
    StepKind kind = part.last ? training_kind(trainer) : StepKind::part;
    return program_in(model, trainer.programs, kind, part.inputs, place.action, part.whole);
  };
  for (const StepPart& part : parts) program_of(part);
  try {
    for (const StepPart& part : parts) {
      CachedProgram& cached = program_of(part);
      RunStatus status = run(model, cached, part.inputs, place);
      if (status == RunStatus::ok && place.epoch < 0) status = cached.program->status();
      if (status == RunStatus::skipped_non_finite)
        fail_non_finite(cached, part.inputs, place, optimizer);
    }
  } catch (const std::exception&) {
    clear_part_sums(trainer);
    throw;
  }
  count_batch(optimizer);
  trainer.compiled->training->count(rows_counted(trainer, inputs));
}

}  // namespace

void run_training_step(ModelBase& model, std::span<const Tensor> inputs, const StepPlace& place) {
  Compiled& compiled = compiled_of(model, place.action);
  bool own = compiled.args.train_step.defined();
  if (!own) check_trainable(model, place.action);
  if (in_parts(inputs, model.trainer->parts.training))
    return run_training_parts(model, inputs, place);
  StepKind kind = training_kind(*model.trainer);
  CachedProgram* known = model.trainer->programs.find(key_of(model, kind, 0), inputs);
  // A new program may take the place of one that has not reported its last steps yet.
  if (known == nullptr) finish_training_steps(model, place);
  CachedProgram& cached = known ? *known : program_for(model, kind, inputs, place.action);
  Program& program = *cached.program;
  RunStatus status = run(model, cached, inputs, place);
  // Steps of their own are waited for; fit looks back when a later step or the epoch's end reports it.
  if (status == RunStatus::ok && place.epoch < 0) status = program.status();
  if (status == RunStatus::skipped_non_finite)
    fail_non_finite(cached, inputs, place, compiled.args.optimizer);
  if (own)
    count_own_batch(compiled);
  else
    count_batch(compiled.args.optimizer);
  compiled.training->count(rows_counted(*model.trainer, inputs));
}

void finish_training_steps(ModelBase& model, const StepPlace& place) {
  for (const auto& cached : model.trainer->programs.entries())
    if (is_training(kind_of(*cached)) && cached->program->status() != RunStatus::ok) {
      clear_part_sums(*model.trainer);
      fail_non_finite(*cached, {}, place, model.trainer->compiled->args.optimizer, /*begun=*/true);
    }
}

void run_test_step(ModelBase& model, std::span<const Tensor> inputs, const StepPlace& place) {
  Compiled& compiled = compiled_of(model, place.action);
  ProgramLanes::Lease lease = trainer_of(model).lanes.lease_main();
  auto run_one = [&](std::span<const Tensor> part) {
    run(model, program_for(model, StepKind::test, part, place.action), part, place);
  };
  if (int64_t size = model.trainer->parts.evaluation; in_parts(inputs, size))
    for (const StepPart& part : parts_of(inputs, size)) run_one(part.inputs);
  else
    run_one(inputs);
  compiled.evaluation->count(rows_counted(*model.trainer, inputs));
}

Prediction::Prediction(ModelBase& model, std::span<const Tensor> inputs, const StepPlace& place)
    : lease_(trainer_of(model).lanes.lease(*model.trainer->context)),
      program_(run_prediction(model, lease_.programs(), inputs, place)) {}

void check_limits(const CachedProgram& program, std::span<const Tensor> columns,
                  const char* action) {
  const std::vector<GraphInput>& inputs = program.graph->inputs();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!inputs[i].limit) continue;
    if (std::string wrong = limit_violation(*inputs[i].limit, columns[i]); !wrong.empty())
      throw ValueError(fmt::format("{}: \"{}\": {}", action, inputs[i].name, wrong));
  }
}

}  // namespace stoker
