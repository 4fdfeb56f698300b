// Checks of a batch before it becomes a step: whatever is wrong is said by name, before anything
// runs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "nn/element_weights.h"
#include "nn/targets.h"
#include "train/model/input_advice.h"
#include "train/model/model_base.h"
#include "train/step/step_graph.h"

namespace stoker {

namespace {

void check_count(const std::string& action, const char* what, size_t expected, size_t got,
                 const std::vector<std::string>& names) {
  if (got == expected) return;
  std::string list;
  for (const std::string& name : names)
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
  throw ValueError(
      fmt::format("{}: expected {} {} ({}), got {}", action, expected, what, list, got));
}

// `names`: of the outputs that have a loss.
void check_targets_given(const std::string& action, size_t given,
                         const std::vector<std::string>& names) {
  size_t expected = names.size();
  check_any_targets(action, expected, given);
  if (expected == 0) return;
  if (given == 0)
    throw ValueError(
        fmt::format("{}: expected {} targets ({}), got 0; give x and y, and batches of (x, y), in "
                    "this order",
                    action, expected, fmt::join(names, ", ")));
  if (given != expected && given != expected + 1 && given != 2 * expected)
    check_count(action, "targets", expected, given, names);
}

void check_rows(const std::string& action, const std::string& name, const TensorSpec& spec,
                int64_t rows) {
  if (spec.shape.rank() == 0)
    throw ShapeError(
        fmt::format("{}: {} is a scalar, {}; {}", action, name, to_string(spec), kBatchAdvice));
  int64_t got = spec.shape[0];
  if (got != rows)
    throw ShapeError(fmt::format("{}: {} has {} rows, the inputs have {}; got {}", action, name,
                                 got, rows, to_string(spec)));
}

void check_target(const std::string& action, const std::string& output, const Loss& loss,
                  const TensorSpec& prediction, const TensorSpec& given) {
  try {
    loss.target_spec(prediction, given);
  } catch (const ShapeError& error) {
    throw ShapeError(fmt::format("{}: target of output \"{}\": {}", action, output, error.what()));
  }
}

// What the weights of own losses meet is known once they are traced.
void check_weight(const std::string& action, const std::string& output, const Loss& loss,
                  const Shape& prediction, const TensorSpec& spec) {
  std::string who = fmt::format("{}: output \"{}\"", action, output);
  if (spec.dtype == DType::bytes)
    throw ShapeError(
        fmt::format("{}: sample_weight: expected numbers, got {}", who, to_string(spec)));
  if (!loss.custom())
    weight_shape_beside(who, spec.shape,
                        prediction.rank() > 1 ? without_last(prediction) : prediction);
}

}  // namespace

void check_any_targets(const std::string& action, size_t expected, size_t given) {
  if (expected == 0 && given > 0)
    throw ValueError(
        fmt::format("{}: got {} targets, and compile() was given no loss; give it one, .loss = "
                    "\"mse\", or leave them out where layers add the loss (CallContext::add_loss)",
                    action, given));
}

std::vector<TensorSpec> prediction_specs(const ModelBase& model, int64_t batch_size) {
  std::vector<TensorSpec> specs;
  for (const Value& output : model.topology("predict").outputs) {
    specs.push_back(output.spec());
    if (specs.back().shape.rank() > 0) specs.back().shape.set(0, batch_size);
  }
  return specs;
}

void check_step_specs(ModelBase& model, const Trainer& trainer, StepKind kind,
                      std::span<const TensorSpec> specs, const std::string& action) {
  const Topology& topology = model.topology(action.c_str());
  size_t inputs = topology.inputs.size();
  if (specs.size() < inputs || kind == StepKind::predict)
    check_count(action, "inputs", inputs, specs.size(), topology.input_names);
  for (size_t i = 0; i < inputs; ++i)
    check_input(specs[i], topology.input_row(i), action, topology.input_names[i]);
  int64_t rows = specs[0].shape[0];
  bool has_part =
      trainer.distribution != nullptr && kind != StepKind::predict && trainer.rows_of_all > 0;
  if (rows == 0 && has_part) return;  // other processes have rows of this batch
  if (rows == 0)
    throw ValueError(fmt::format("{}: the data is empty: input \"{}\" has no rows", action,
                                 topology.input_names[0]));
  for (size_t i = 1; i < inputs; ++i)
    check_rows(action, fmt::format("input \"{}\"", topology.input_names[i]), specs[i], rows);
  if (kind == StepKind::predict) return;

  const std::vector<size_t>& judged = trainer.compiled->judged;
  std::vector<std::string> names;
  for (size_t output : judged) names.push_back(topology.output_names[output]);
  check_targets_given(action, specs.size() - inputs, names);
  std::vector<TensorSpec> predictions = prediction_specs(model, rows);
  for (size_t i = 0; i < judged.size(); ++i) {
    const TensorSpec& target = specs[inputs + i];
    check_rows(action, fmt::format("the target of output \"{}\"", names[i]), target, rows);
    check_target(action, names[i], trainer.compiled->losses[judged[i]], predictions[judged[i]],
                 target);
  }
  std::span<const TensorSpec> weights = specs.subspan(inputs + judged.size());
  if (weights.empty()) return;
  for (const TensorSpec& weight : weights) check_rows(action, "sample_weight", weight, rows);
  for (size_t i = 0; i < judged.size(); ++i)
    check_weight(action, names[i], trainer.compiled->losses[judged[i]],
                 predictions[judged[i]].shape, weights[weights.size() == 1 ? 0 : i]);
}

}  // namespace stoker
