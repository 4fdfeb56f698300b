#include <stoker/losses.h>

#include <array>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "nn/config.h"
#include "nn/element_weights.h"
#include "nn/loss_functions.h"
#include "nn/names.h"
#include "nn/own_function.h"
#include "nn/targets.h"

namespace stoker {

namespace {

struct NamedLoss {
  std::string_view kind, name, shorthand;
  TargetKind target;
};
constexpr auto kLosses = std::to_array<NamedLoss>({
    {"SparseCategoricalCrossentropy", "sparse_categorical_crossentropy", "", TargetKind::class_ids},
    {"CategoricalCrossentropy", "categorical_crossentropy", "", TargetKind::class_shares},
    {"BinaryCrossentropy", "binary_crossentropy", "bce", TargetKind::elementwise},
    {"MeanSquaredError", "mean_squared_error", "mse", TargetKind::elementwise},
    {"MeanAbsoluteError", "mean_absolute_error", "mae", TargetKind::elementwise},
    {"Huber", "huber", "", TargetKind::elementwise},
});

const NamedLoss& find(const std::string& name) {
  std::vector<std::string_view> names;
  for (const NamedLoss& known : kLosses) {
    if (name == known.kind || name == known.name || (!name.empty() && name == known.shorthand))
      return known;
    names.push_back(known.name);
    if (!known.shorthand.empty()) names.push_back(known.shorthand);
  }
  throw ValueError(fmt::format("unknown loss \"{}\"; there are {}", name, list_of(names)));
}

CrossentropyOptions crossentropy_options(const Attrs& attrs) {
  return {.from_logits = attrs.get_or("from_logits", false),
          .label_smoothing = config::number(attrs, "label_smoothing", 0)};
}

void check(const CrossentropyOptions& options, const char* kind) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ValueError(fmt::format("{}: label_smoothing is between 0 and 1, got {}", kind,
                                 options.label_smoothing));
}

std::string loss_title(const std::string& kind) { return fmt::format("loss \"{}\"", kind); }

Attrs config_of(const CrossentropyOptions& options) {
  return {{"from_logits", options.from_logits}, {"label_smoothing", options.label_smoothing}};
}

}  // namespace

Loss::Loss(const std::string& name) : kind_(find(name).kind) {}

Value Loss::values(const Value& y_true, const Value& predictions) const {
  if (!defined()) throw Error("an empty Loss was called; give it a name, such as \"mse\"");
  bool is_short = is_floating(predictions.dtype()) && predictions.dtype() != DType::float32;
  Value y_pred = is_short ? ops::cast(predictions, DType::float32) : predictions;
  if (y_pred.shape().rank() == 0)
    throw ShapeError(fmt::format("loss \"{}\": expected predictions [B, ..], got a scalar", kind_));
  if (function_) return call_own(loss_title(kind_), function_, y_true, y_pred);
  std::string_view kind = find(kind_).kind;
  CrossentropyOptions options = crossentropy_options(config_);
  if (kind == "SparseCategoricalCrossentropy")
    return sparse_categorical_loss(y_true, y_pred, options.from_logits);
  if (kind == "CategoricalCrossentropy") return categorical_loss(y_true, y_pred, options);
  if (kind == "BinaryCrossentropy") return binary_loss(y_true, y_pred, options);
  if (kind == "MeanSquaredError") return squared_loss(y_true, y_pred);
  if (kind == "MeanAbsoluteError") return absolute_loss(y_true, y_pred);
  return huber_loss(y_true, y_pred, config::number(config_, "delta", 1));
}

Value Loss::averaged_last(const Value& values) const {
  bool averages = !custom() && find(kind_).target == TargetKind::elementwise;
  return averages && values.shape().rank() > 1 ? ops::mean(values, {.axes = {-1}}) : values;
}

Value Loss::per_sample(const Value& y_true, const Value& y_pred) const {
  return own_per_sample(values(y_true, y_pred), y_pred.shape()[0]);
}

Value Loss::per_element(const Value& y_true, const Value& y_pred) const {
  return averaged_last(values(y_true, y_pred));
}

Value Loss::operator()(const Value& y_true, const Value& y_pred, const Value& sample_weight) const {
  if (!sample_weight.defined()) return ops::mean(per_sample(y_true, y_pred));
  Value losses = values(y_true, y_pred);
  check_weighable(loss_title(kind_), losses);
  // The mean of means is that of the elements, and what programs with weights per sample have
  // always computed, to the last bit.
  losses = weighs_samples(sample_weight.shape()) ? mean_per_sample(losses) : averaged_last(losses);
  return ops::mean(losses * weights_beside(loss_title(kind_), sample_weight, losses.shape()));
}

TensorSpec Loss::target_spec(const TensorSpec& prediction, const TensorSpec& given) const {
  if (!defined() || custom()) return given;
  const NamedLoss& loss = find(kind_);
  return stoker::target_spec(loss.target, std::string(loss.name), prediction, given);
}

Loss SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options) {
  return {"SparseCategoricalCrossentropy", Attrs{{"from_logits", options.from_logits}}};
}
Loss CategoricalCrossentropy(const CrossentropyOptions& options) {
  check(options, "CategoricalCrossentropy");
  return {"CategoricalCrossentropy", config_of(options)};
}
Loss BinaryCrossentropy(const CrossentropyOptions& options) {
  check(options, "BinaryCrossentropy");
  return {"BinaryCrossentropy", config_of(options)};
}
Loss MeanSquaredError() { return {"MeanSquaredError", Attrs()}; }
Loss MeanAbsoluteError() { return {"MeanAbsoluteError", Attrs()}; }
Loss Huber(double delta) {
  if (!(delta > 0)) throw ValueError(fmt::format("Huber: delta is above 0, got {}", delta));
  return {"Huber", Attrs{{"delta", delta}}};
}

Value sparse_categorical_crossentropy(const Value& y_true, const Value& y_pred,
                                      const SparseCrossentropyOptions& options) {
  return SparseCategoricalCrossentropy(options)(y_true, y_pred);
}
Value categorical_crossentropy(const Value& y_true, const Value& y_pred,
                               const CrossentropyOptions& options) {
  return CategoricalCrossentropy(options)(y_true, y_pred);
}
Value binary_crossentropy(const Value& y_true, const Value& y_pred,
                          const CrossentropyOptions& options) {
  return BinaryCrossentropy(options)(y_true, y_pred);
}
Value mean_squared_error(const Value& y_true, const Value& y_pred) {
  return MeanSquaredError()(y_true, y_pred);
}
Value mean_absolute_error(const Value& y_true, const Value& y_pred) {
  return MeanAbsoluteError()(y_true, y_pred);
}
Value huber(const Value& y_true, const Value& y_pred, double delta) {
  return Huber(delta)(y_true, y_pred);
}

}  // namespace stoker
