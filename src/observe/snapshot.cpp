#include "observe/snapshot.h"

namespace stoker {

StateSnapshot::StateSnapshot(ModelBase& model) : model_(model) {
  Trainer& trainer = *model.trainer;
  const Optimizer& optimizer = trainer.compiled->args.optimizer;
  optimizer.build(trainer.compiled->trainable);
  std::vector<Variable> all = model.weights();
  for (const Variable& variable : optimizer.variables()) all.push_back(variable);
  if (trainer.random_state.defined()) all.push_back(trainer.random_state);
  values_.reserve(all.size());
  for (const Variable& variable : all) values_.emplace_back(variable, variable.read());
  accumulated_ = optimizer.accumulated_batches();
  history_ = trainer.history;
  stop_ = trainer.stop;
  batch_size_ = trainer.batch_size;
  diagnosis_ = trainer.diagnosis;
}

void StateSnapshot::restore() {
  Trainer& trainer = *model_.trainer;
  for (auto& [variable, value] : values_) variable.write(value);
  trainer.compiled->args.optimizer.set_accumulated_batches(accumulated_);
  trainer.compiled->training->reset();
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
