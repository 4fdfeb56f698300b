// From what the user passes to the columns that batches are cut from.
#include <fmt/format.h>

#include "train/compile.h"
#include "train/loops.h"
#include "train/step_graph.h"

namespace stoker {

namespace {

int64_t class_count(const ModelBase& model) {
  const Shape& prediction = model.topology("class_weight").outputs[0].shape();
  return prediction.rank() > 1 && prediction[-1] > 1 ? prediction[-1] : 2;
}

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

// Class ids given as floats become integers here, so that one out of range is found.
void ids_as_integers(ModelBase& model, size_t inputs, std::vector<Tensor>& columns) {
  std::vector<TensorSpec> predictions = prediction_specs(model, columns[0].shape()[0]);
  for (size_t i = 0; i < predictions.size(); ++i) {
    Tensor& target = columns[inputs + i];
    TensorSpec wanted =
        model.trainer->compiled->losses[i].target_spec(predictions[i], target.spec());
    if (is_floating(target.dtype()) && is_integer(wanted.dtype)) target = target.cast(wanted.dtype);
  }
}

}  // namespace

void prepare(ModelBase& model, std::span<const Tensor> inputs, const char* action) {
  if (inputs.empty()) throw ValueError(fmt::format("{}: no input was given", action));
  check_defined(inputs, "input", action);
  if (!model.connected()) model.ensure_built({inputs[0].shape()});
  if (model.trainer && model.trainer->compiled) finish_compile(model);
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
  if (model.topology(action).outputs.size() > 1)
    throw ValueError(
        fmt::format("{}: class_weight is for models of one output; use sample_weight", action));
  return {weights, class_count(model), action};
}

std::vector<Tensor> make_columns(ModelBase& model, StepKind kind, const TensorList& x,
                                 const TensorList& y, const TensorList& sample_weight,
                                 const std::map<int64_t, double>& class_weight,
                                 const char* action) {
  prepare(model, x.list(), action);
  check_defined(y.list(), "target", action);
  check_defined(sample_weight.list(), "sample_weight", action);
  const Topology& topology = model.topology(action);
  if (x.size() != topology.inputs.size())
    throw ValueError(
        fmt::format("{}: expected {} inputs, got {}", action, topology.inputs.size(), x.size()));
  if (kind != StepKind::predict && y.size() != topology.outputs.size())
    throw ValueError(
        fmt::format("{}: expected {} targets, got {}", action, topology.outputs.size(), y.size()));

  std::vector<Tensor> columns = x.list();
  columns.insert(columns.end(), y.list().begin(), y.list().end());
  size_t unweighted = columns.size();
  columns.insert(columns.end(), sample_weight.list().begin(), sample_weight.list().end());
  check_step_specs(model, trainer_of(model), kind, specs_of(columns), action);
  for (size_t i = 0; i < topology.inputs.size(); ++i)
    check_whole(columns[i], topology.input_row(i).dtype, topology.input_names[i], action);
  if (kind != StepKind::predict) ids_as_integers(model, x.size(), columns);
  for (size_t i = unweighted; i < columns.size(); ++i) columns[i] = as_row_weights(columns[i]);
  if (!class_weight.empty()) {
    Tensor own = columns.size() > unweighted ? columns[unweighted] : Tensor();
    columns.resize(unweighted);
    columns.push_back(class_weights(model, class_weight, action).of(y[0], own));
  }
  return columns;
}

}  // namespace stoker
