// Model: one step at a time.
#include <fmt/format.h>
#include <stoker/model.h>

#include "train/fit/loops.h"
#include "train/model/claimed_weights.h"
#include "train/step/own_step_graph.h"
#include "train/step/steps.h"
#include "train/step/target_values.h"

namespace stoker {

namespace {

// The step's inputs, put together in the model's scratch list.
std::span<const Tensor> gather_inputs(ModelBase& model, StepKind kind, const TensorList& x,
                                      const TensorList& y, const BatchArgs& args,
                                      const char* action) {
  compiled_of(model, action);
  check_given(model, kind, x, y, args.sample_weight, action);
  std::vector<Tensor>& inputs = model.trainer->scratch;
  inputs.assign(x.list().begin(), x.list().end());
  inputs.insert(inputs.end(), y.list().begin(), y.list().end());
  bool own = has_own_step(*model.trainer, kind);
  if (own && !args.class_weight.empty())
    throw ValueError(fmt::format(
        "{}: class_weight is not for own steps; weigh the samples in the step", action));
  if (!args.class_weight.empty())
    inputs.push_back(class_weights(model, args.class_weight, action)
                         .of(y[0], args.sample_weight.empty() ? Tensor() : args.sample_weight[0]));
  else
    inputs.insert(inputs.end(), args.sample_weight.list().begin(), args.sample_weight.list().end());
  if (!own) check_target_values(model, inputs, action);
  return inputs;
}

}  // namespace

Logs Model::train_on_batch(const TensorList& x, const TensorList& y, const BatchArgs& args) const {
  ModelBase& model = impl();
  Use use(model.trainer->gate, "train_on_batch", UseMode::alone);
  check_unclaimed(model, "train_on_batch");
  run_training_step(model, gather_inputs(model, StepKind::train, x, y, args, "train_on_batch"),
                    {.action = "train_on_batch"});
  return Logs(model.trainer->compiled->training);
}

Logs Model::train_on_batch(const Batch& batch) const {
  ModelBase& model = impl();
  Use use(model.trainer->gate, "train_on_batch", UseMode::alone);
  check_unclaimed(model, "train_on_batch");
  compiled_of(model, "train_on_batch");
  prepare_batch(model, StepKind::train, batch, "train_on_batch");
  run_training_step(model, batch.tensors(), {.action = "train_on_batch"});
  return Logs(model.trainer->compiled->training);
}

Logs Model::test_on_batch(const TensorList& x, const TensorList& y, const BatchArgs& args) const {
  ModelBase& model = impl();
  Use use(model.trainer->gate, "test_on_batch", UseMode::alone);
  run_test_step(model, gather_inputs(model, StepKind::test, x, y, args, "test_on_batch"),
                {.action = "test_on_batch"});
  return Logs(model.trainer->compiled->evaluation);
}

void Model::reset_metrics() const {
  Use use(impl().trainer->gate, "reset_metrics", UseMode::alone);
  Compiled& compiled = compiled_of(impl(), "reset_metrics");
  if (compiled.training) compiled.training->reset();
  if (compiled.evaluation) compiled.evaluation->reset();
}

}  // namespace stoker
