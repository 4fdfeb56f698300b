#include "train/step/steps.h"

#include <fmt/format.h>

#include "engine/input_limits.h"
#include "train/model/model_base.h"
#include "train/optimizers/optimizer_impl.h"
#include "train/step/step_graph.h"
#include "train/step/step_tap.h"

namespace stoker {

namespace {

CachedProgram& make_program(ModelBase& model, ProgramCache& programs, StepKind kind,
                            std::vector<TensorSpec> specs, const char* action) {
  std::lock_guard lock(building());
  Trainer& trainer = trainer_of(model);
  check_step_specs(model, trainer, kind, specs, action);
  std::unique_ptr<Graph> graph = trace_step(model, trainer, kind, specs);
  return programs.add(int(kind), std::move(specs), std::move(graph), *trainer.context);
}

[[noreturn]] void fail_non_finite(Program& program, std::span<const Tensor> inputs, StepPlace place,
                                  const Optimizer& optimizer) {
  if (place.epoch >= 0) place.step -= program.runs_behind();
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
                          std::span<const Tensor> inputs, const char* action) {
  CachedProgram* known = programs.find(int(kind), inputs);
  return known ? *known : make_program(model, programs, kind, specs_of(inputs), action);
}

RunStatus run(const ModelBase& model, CachedProgram& cached, std::span<const Tensor> inputs,
              const StepPlace& place) {
  try {
    if (std::shared_ptr<StepTap> tap = active_step_tap().get())
      return tap->run({*model.trainer->context, cached, inputs});
    return cached.program->run(inputs);
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
                           const char* action) {
  ProgramCache& programs = trainer_of(model).programs;
  CachedProgram* known = programs.find(int(kind), specs);
  return known ? *known : make_program(model, programs, kind, {specs.begin(), specs.end()}, action);
}

CachedProgram& program_for(ModelBase& model, StepKind kind, std::span<const Tensor> inputs,
                           const char* action) {
  return program_in(model, trainer_of(model).programs, kind, inputs, action);
}

StepKind training_kind(const Trainer& trainer) {
  return updates_next(trainer.compiled->args.optimizer) ? StepKind::train : StepKind::accumulate;
}

void run_training_step(ModelBase& model, std::span<const Tensor> inputs, const StepPlace& place) {
  Compiled& compiled = compiled_of(model, place.action);
  check_trainable(model, place.action);
  StepKind kind = training_kind(*model.trainer);
  CachedProgram& cached = program_for(model, kind, inputs, place.action);
  Program& program = *cached.program;
  RunStatus status = run(model, cached, inputs, place);
  // Steps of their own are waited for; fit looks back when a later step or the epoch's end reports it.
  if (status == RunStatus::ok && place.epoch < 0) status = program.status();
  if (status == RunStatus::skipped_non_finite)
    fail_non_finite(program, inputs, place, compiled.args.optimizer);
  count_batch(compiled.args.optimizer);
  compiled.training->count(inputs[0].shape()[0]);
}

void finish_training_steps(ModelBase& model, const StepPlace& place) {
  for (StepKind kind : {StepKind::train, StepKind::accumulate}) {
    const CachedProgram* cached = model.trainer->programs.latest(int(kind));
    if (cached != nullptr && cached->program->status() == RunStatus::skipped_non_finite)
      fail_non_finite(*cached->program, {}, place, model.trainer->compiled->args.optimizer);
  }
}

void run_test_step(ModelBase& model, std::span<const Tensor> inputs, const StepPlace& place) {
  Compiled& compiled = compiled_of(model, place.action);
  ProgramLanes::Lease lease = trainer_of(model).lanes.lease_main();
  run(model, program_for(model, StepKind::test, inputs, place.action), inputs, place);
  compiled.evaluation->count(inputs[0].shape()[0]);
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
