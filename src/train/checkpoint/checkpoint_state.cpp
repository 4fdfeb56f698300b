#include "train/checkpoint/checkpoint_state.h"

#include "train/checkpoint/training_state.h"
#include "train/model/weight_paths.h"

namespace stoker {

namespace {

// Everything but the weights and their masks.
NamedVariables state_variables(const ModelBase& model, const NamedVariables& weights) {
  NamedVariables named = training_state(*model.trainer, weights);
  for (auto& entry : with_prefix("metrics/", model.trainer->compiled->training->variables()))
    named.push_back(std::move(entry));
  return named;
}

NamedTensors read_all(const NamedVariables& named) {
  NamedTensors tensors;
  tensors.reserve(named.size());
  for (const auto& [name, variable] : named) tensors.emplace_back(name, variable.read());
  return tensors;
}

}  // namespace

void take_state(const ModelBase& model, Checkpoint& checkpoint) {
  const Trainer& trainer = *model.trainer;
  const Optimizer& optimizer = trainer.compiled->args.optimizer;
  NamedVariables weights = named_weights(model);
  checkpoint.stop = trainer.stop;
  checkpoint.history = trainer.history;
  checkpoint.samples = trainer.compiled->training->samples();
  if (!optimizer.schedule().defined())
    checkpoint.learning_rate = optimizer.config().get<double>("learning_rate");
  checkpoint.accumulated_batches = optimizer.accumulated_batches();
  checkpoint.weights = read_all(with_prefix("weights/", weights));
  checkpoint.state = read_all(state_variables(model, weights));
  for (auto& entry : read_all(named_masks(weights))) checkpoint.state.push_back(std::move(entry));
}

void restore_state(ModelBase& model, const Checkpoint& checkpoint) {
  Trainer& trainer = *model.trainer;
  const Optimizer& optimizer = trainer.compiled->args.optimizer;
  NamedVariables weights = named_weights(model), wanted = with_prefix("weights/", weights);
  NamedVariables state = state_variables(model, weights);
  NamedVariables masks = masks_for(weights, checkpoint.state);
  state.insert(state.end(), masks.begin(), masks.end());
  check_tensors(wanted, checkpoint.weights, /*exact=*/true);
  check_tensors(state, checkpoint.state, /*exact=*/true);
  set_masks(weights, masks);
  optimizer.set_accumulated_batches(checkpoint.accumulated_batches);
  // The variable, restored below, is what counts; the configuration follows it.
  if (!optimizer.schedule().defined()) optimizer.set_learning_rate(checkpoint.learning_rate);
  write_tensors(wanted, checkpoint.weights);
  write_tensors(state, checkpoint.state);
  // Of the other optimisers of an own step only the variable is known; their configuration follows it.
  for (const OwnOptimizer& each : trainer.compiled->own.optimizers)
    if (!(each.optimizer == optimizer) && !each.optimizer.schedule().defined())
      each.optimizer.set_learning_rate(each.optimizer.learning_rate());
  trainer.compiled->training->restore(checkpoint.samples);
  History::Params params = trainer.history.params();
  trainer.history = checkpoint.history;
  trainer.history.begin(params);
}

}  // namespace stoker
