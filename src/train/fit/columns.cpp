// From what the user passes to the columns that batches are cut from.
#include <fmt/format.h>

#include "train/fit/loops.h"
#include "train/model/compile.h"
#include "train/model/input_advice.h"
#include "train/step/own_step_graph.h"
#include "train/step/step_graph.h"
#include "train/step/target_values.h"

namespace stoker {

namespace {

void check_defined(std::span<const Tensor> tensors, const char* what, const char* action) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i].defined())
      throw ValueError(fmt::format("{}: {} {} is an undefined tensor", action, what, i));
}

// The device casts inputs to the dtype that the model takes; integers must come through whole.
void check_whole(const Tensor& given, DType wanted, const std::string& name, const char* action) {
  if (!is_integer(wanted) || given.dtype() == wanted ||
      (!is_floating(given.dtype()) && promoted(given.dtype(), wanted) == wanted))
    return;
  for (int64_t i = 0; i < given.elements(); ++i)
    if (!holds(wanted, given.at(i)))
      throw ValueError(
          fmt::format("{}: input \"{}\" takes {}, which cannot hold element {}, {}, of {}; cast() "
                      "it to say how",
                      action, name, stoker::name(wanted), i, given.at(i), to_string(given.spec())));
}

// The tensors of a batch have as many rows each; a sample's begin with anything.
void check_batched(std::span<const Tensor> tensors, const char* action) {
  const Shape& first = tensors[0].shape();
  for (const Tensor& tensor : tensors)
    if (first.rank() == 0 || tensor.shape().rank() == 0 || tensor.shape()[0] != first[0])
      throw ShapeError(fmt::format("{}: got {} and {}, which do not form a batch; {}", action,
                                   to_string(tensors[0].spec()), to_string(tensor.spec()),
                                   kBatchAdvice));
}

}  // namespace

void prepare(ModelBase& model, std::span<const Tensor> inputs, const char* action) {
  if (inputs.empty()) throw ValueError(fmt::format("{}: no input was given", action));
  check_defined(inputs, "input", action);
  if (!model.connected()) {
    check_batched(inputs, action);
    model.ensure_built({inputs[0].shape()});
  }
  if (model.trainer && model.trainer->compiled) finish_compile(model);
}

void prepare_batch(ModelBase& model, StepKind kind, const Batch& batch, const char* action) {
  if (has_own_step(*model.trainer, kind)) {
    finish_compile(model);
    return;
  }
  prepare(model, batch.tensors(), action);
  check_target_values(model, batch.tensors(), action);
}

int64_t checked_batch_size(const std::optional<int64_t>& batch_size, int64_t fallback,
                           const char* action) {
  int64_t size = batch_size.value_or(fallback);
  if (size < 1)
    throw ValueError(fmt::format("{}: batch_size is {}, expected at least 1", action, size));
  return size;
}

ClassWeights class_weights(ModelBase& model, const std::map<int64_t, double>& weights,
                           const char* action) {
  const Compiled& compiled = *model.trainer->compiled;
  if (compiled.judged.size() != 1)
    throw ValueError(fmt::format(
        "{}: class_weight is for models with one output that has a loss; use sample_weight",
        action));
  size_t output = compiled.judged[0];
  return {weights, compiled.losses[output], model.topology(action).outputs[output].shape(), action};
}

void weigh_classes(ModelBase& model, const std::map<int64_t, double>& weights,
                   std::vector<Tensor>& columns, const char* action) {
  if (weights.empty()) return;
  size_t unweighted = model.topology(action).inputs.size() + 1;
  ClassWeights of_classes = class_weights(model, weights, action);
  Tensor own = columns.size() > unweighted ? columns[unweighted] : Tensor();
  Tensor all = of_classes.of(columns[unweighted - 1], own);
  columns.resize(unweighted);
  columns.push_back(std::move(all));
}

namespace {

// An own step says by itself what its tensors are.
void check_given_to_own(ModelBase& model, StepKind kind, const TensorList& x, const TensorList& y,
                        const TensorList& sample_weight, const char* action) {
  if (x.empty()) throw ValueError(fmt::format("{}: no input was given", action));
  check_defined(x.list(), "input", action);
  check_defined(y.list(), "target", action);
  check_defined(sample_weight.list(), "sample_weight", action);
  finish_compile(model);
  std::vector<Tensor> all = x.list();
  all.insert(all.end(), y.list().begin(), y.list().end());
  all.insert(all.end(), sample_weight.list().begin(), sample_weight.list().end());
  check_own_step_specs(*model.trainer, kind, specs_of(all), action);
}

}  // namespace

void check_given(ModelBase& model, StepKind kind, const TensorList& x, const TensorList& y,
                 const TensorList& sample_weight, const char* action) {
  if (has_own_step(*model.trainer, kind))
    return check_given_to_own(model, kind, x, y, sample_weight, action);
  if (kind == StepKind::test && model.trainer->compiled)
    check_own_evaluation(*model.trainer, action);
  prepare(model, x.list(), action);
  check_defined(y.list(), "target", action);
  check_defined(sample_weight.list(), "sample_weight", action);
  const Topology& topology = model.topology(action);
  size_t weights = sample_weight.size();
  if (x.size() != topology.inputs.size())
    throw ValueError(
        fmt::format("{}: expected {} inputs, got {}", action, topology.inputs.size(), x.size()));
  if (kind == StepKind::predict) return;
  size_t outputs = trainer_of(model).compiled->judged.size();
  check_any_targets(action, outputs, y.size());
  if (y.size() != outputs)
    throw ValueError(fmt::format("{}: expected {} targets, got {}", action, outputs, y.size()));
  if (outputs == 0 && weights > 0)
    throw ValueError(fmt::format("{}: got sample_weight, but compile() was given no loss", action));
  if (weights > 1 && weights != outputs)
    throw ValueError(fmt::format("{}: expected 1 sample_weight, or {}, one for each output, got {}",
                                 action, outputs, weights));
}

std::vector<Tensor> make_columns(ModelBase& model, StepKind kind, const TensorList& x,
                                 const TensorList& y, const TensorList& sample_weight,
                                 const char* action) {
  check_given(model, kind, x, y, sample_weight, action);
  std::vector<Tensor> columns = x.list();
  columns.insert(columns.end(), y.list().begin(), y.list().end());
  for (const Tensor& weight : sample_weight.list()) columns.push_back(as_weights(weight));
  if (has_own_step(*model.trainer, kind)) {
    check_own_step_columns(specs_of(columns), action);
    return columns;
  }
  check_step_specs(model, trainer_of(model), kind, specs_of(columns), action);
  const Topology& topology = model.topology(action);
  for (size_t i = 0; i < topology.inputs.size(); ++i)
    check_whole(columns[i], topology.input_row(i).dtype, topology.input_names[i], action);
  if (kind != StepKind::predict) check_target_values(model, columns, action);
  return columns;
}

}  // namespace stoker
