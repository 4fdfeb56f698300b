#include "train/model/state_snapshot.h"

namespace stoker {

StateSnapshot::StateSnapshot(ModelBase& model) : model_(model) {
  Trainer& trainer = *model.trainer;
  const Compiled& compiled = *trainer.compiled;
  const Optimizer& optimizer = compiled.args.optimizer;
  if (!compiled.args.train_step.defined()) optimizer.build(compiled.trainable);
  for (const OwnOptimizer& each : compiled.own.optimizers)
    for (const Variable& variable : each.optimizer.variables()) keep(variable);
  for (const Variable& variable : compiled.own.others) keep(variable);
  for (const Variable& variable : model.weights()) keep(variable);
  for (const Variable& variable : optimizer.variables()) keep(variable);
  for (const auto& [name, variable] : compiled.training->variables()) keep(variable);
  if (trainer.random_state.defined()) keep(trainer.random_state);
  accumulated_ = optimizer.accumulated_batches();
  samples_ = compiled.training->samples();
  history_ = trainer.history;
  stop_ = trainer.stop;
  batch_size_ = trainer.batch_size;
  diagnosis_ = trainer.diagnosis;
}

void StateSnapshot::keep(const Variable& variable) {
  if (known_.insert(variable.id()).second) values_.emplace_back(variable, variable.read());
}

void StateSnapshot::cover(const Graph& step) {
  for (const Assignment& assignment : step.assignments())
    keep(step.variables()[size_t(assignment.variable)].variable);
}

void StateSnapshot::restore() {
  Trainer& trainer = *model_.trainer;
  for (auto& [variable, value] : values_) variable.write(value);
  trainer.compiled->args.optimizer.set_accumulated_batches(accumulated_);
  trainer.compiled->training->restore(samples_);
  trainer.history = history_;
  trainer.stop = stop_;
  trainer.batch_size = batch_size_;
  trainer.diagnosis = diagnosis_;
}

StateSnapshot::~StateSnapshot() {
  try {
    restore();
  } catch (const std::exception&) {
    return;  // the device has failed; whoever asked has been told by what it threw
  }
}

}  // namespace stoker
