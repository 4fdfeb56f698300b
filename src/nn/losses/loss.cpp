#include <stoker/losses.h>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "graph/replica.h"
#include "nn/element_weights.h"
#include "nn/losses/loss_kind.h"
#include "nn/masks.h"
#include "nn/own_function.h"

namespace stoker {

const std::vector<LossKind>& loss_kinds() {
  static const std::vector<LossKind> kinds = [] {
    std::vector<LossKind> all;
    add_crossentropies(all);
    add_regression_losses(all);
    add_focal_losses(all);
    add_probability_losses(all);
    add_margin_losses(all);
    add_overlap_losses(all);
    add_circle_loss(all);
    add_ctc_loss(all);
    return all;
  }();
  return kinds;
}

namespace {

const LossKind& known_loss(const std::string& name) {
  if (const LossKind* found = find_kind(loss_kinds(), name)) return *found;
  std::vector<std::string_view> names;
  add_names(names, loss_kinds());
  throw ValueError(fmt::format("unknown loss \"{}\"; there are {}", name, list_of(names)));
}

std::string loss_title(const std::string& kind) { return fmt::format("loss \"{}\"", kind); }

}  // namespace

Loss::Loss(const std::string& name) : kind_(known_loss(name).names.kind) {}

Loss::Loss(const std::string& kind, Attrs config)
    : kind_(known_loss(kind).names.kind), config_(std::move(config)) {
  known_loss(kind).check(config_);
}

Loss::Loss(std::string name, Function function, const LossOptions& options)
    : kind_(std::move(name)), function_(std::move(function)) {
  if (!kReductions.word(options.reduction))
    fail_value(loss_title(kind_), "reduction", kReductions.expected(), options.reduction);
  if (options.reduction != kMeanReduction) config_.set("reduction", options.reduction);
}

std::string Loss::reduction() const {
  return config_.get_or("reduction", std::string(kMeanReduction));
}

LossPair with_axis_last(std::string_view who, int64_t axis, const Value& y_true,
                        const Value& y_pred) {
  int64_t rank = y_pred.shape().rank(), wanted = axis < 0 ? axis + rank : axis;
  if (wanted == rank - 1) return {y_true, y_pred};
  if (wanted < 1 || wanted >= rank)
    throw ValueError(
        fmt::format("{}: axis {} of predictions {}: expected one of theirs, but not the batch's",
                    who, axis, to_string(y_pred.shape())));
  Ints order;
  for (int64_t at = 0; at < rank; ++at)
    if (at != wanted) order.push_back(at);
  order.push_back(wanted);
  bool has_axis = y_true.shape().rank() == rank;
  return {has_axis ? ops::transpose(y_true, order) : y_true, ops::transpose(y_pred, order)};
}

Value Loss::values(const Value& y_true, const Value& predictions) const {
  if (!defined()) throw Error("an empty Loss was called; give it a name, such as \"mse\"");
  bool is_short = is_floating(predictions.dtype()) && predictions.dtype() != DType::float32;
  Value y_pred = is_short ? ops::cast(predictions, DType::float32) : predictions;
  if (y_pred.shape().rank() == 0)
    throw ShapeError(fmt::format("loss \"{}\": expected predictions [B, ..], got a scalar", kind_));
  if (function_) return call_own(loss_title(kind_), function_, y_true, y_pred);
  return known_loss(kind_).values(config_, y_true, y_pred);
}

Value Loss::averaged_last(const Value& values) const {
  bool averages = !custom() && known_loss(kind_).averages;
  return averages && values.shape().rank() > 1 ? ops::mean(values, {.axes = {-1}}) : values;
}

Value Loss::per_sample(const Value& y_true, const Value& y_pred) const {
  return own_per_sample(values(y_true, y_pred), y_pred.shape()[0]);
}

Value Loss::per_element(const Value& y_true, const Value& y_pred) const {
  return averaged_last(values(y_true, y_pred));
}

namespace {

// Keras's weight of a step: elements / elements that count where the mask is true, else 0, so that
// the mean over all elements is that of those that count. 0 where none counts.
Value mask_weights(const Value& mask) {
  Value counts = cast_to(mask, DType::float32);
  Value valid = ops::sum(counts);
  valid = divisor_over_replicas(valid);
  return counts * (double(mask.shape().elements()) / ops::maximum(valid, 1.0));
}

}  // namespace

Value Loss::masked(const Value& losses, const Value& mask, const Value& sample_weight) const {
  std::string who = loss_title(kind_);
  if (mask.shape().rank() > losses.shape().rank())
    throw ShapeError(fmt::format(
        "{}: the predictions carry a mask {}, which does not fit the loss's values {}; return one "
        "per step",
        who, to_string(mask.shape()), to_string(losses.shape())));
  Value weights = weights_beside(who, mask_weights(mask), losses.shape());
  if (sample_weight.defined())
    weights = weights * weights_beside(who, sample_weight, losses.shape());
  return ops::mean(losses * weights);
}

namespace {

// What the predictions' mask and that of the losses leave.
Value joined_masks(const Value& predictions, const Value& losses) {
  if (!predictions.defined() || !losses.defined())
    return predictions.defined() ? predictions : losses;
  return both(ops::broadcast_to(predictions, losses.shape()), losses);
}

// sum / whole, 0 where nothing counts.
Value share_of_sum(const Value& sum, const Value& whole) {
  Value nothing = ops::equal(whole, 0.0);
  return ops::where(nothing, 0.0, sum / ops::where(nothing, 1.0, whole));
}

}  // namespace

Value Loss::reduced(const Value& losses, const Value& mask, const Value& sample_weight) const {
  std::string who = loss_title(kind_), how = reduction();
  Value weights;
  if (sample_weight.defined()) weights = weights_beside(who, sample_weight, losses.shape());
  if (mask.defined()) {
    Value counts = weights_beside(who, mask, losses.shape());
    weights = weights.defined() ? weights * counts : counts;
  }
  Value weighted = weights.defined() ? losses * weights : losses;
  if (how == "none") return weighted;
  if (how == "sum") return sum_as_share(ops::sum(weighted));
  return weights.defined()
             ? share_of_sum(ops::sum(weighted), divisor_over_replicas(ops::sum(weights)))
             : ops::mean(weighted);
}

// A loss of the whole batch, as Dice without axes, that Keras multiplies with every weight before the
// reduction.
Value Loss::weighted_whole(const Value& loss, const Value& sample_weight) const {
  Value weights = cast_to(sample_weight, DType::float32);
  std::string how = reduction();
  if (how == "none") return loss * weights;
  if (how == "sum") return sum_as_share(loss * ops::sum(weights));
  if (how == "mean_with_sample_weight") {
    Value whole = divisor_over_replicas(ops::sum(weights));
    return share_of_sum(loss * ops::sum(weights), whole);
  }
  return loss * ops::mean(weights);
}

Value Loss::operator()(const Value& y_true, const Value& y_pred, const Value& sample_weight) const {
  Value losses = values(y_true, y_pred);
  Value mask = joined_masks(mask_of(y_pred), mask_of(losses));
  if (sample_weight.defined() && !custom() && losses.shape().rank() == 0)
    return weighted_whole(losses, sample_weight);
  if (sample_weight.defined()) check_weighable(loss_title(kind_), losses);
  std::string how = reduction();
  bool averages = how == kMeanReduction || how == "mean";
  if (mask.defined() || !averages) {
    if (losses.shape().rank() == 0) return losses;  // a loss of the whole batch
    losses = averaged_last(losses);
    return averages ? masked(losses, mask, sample_weight) : reduced(losses, mask, sample_weight);
  }
  if (!sample_weight.defined()) return ops::mean(own_per_sample(losses, y_pred.shape()[0]));
  // The mean of means is that of the elements, and what programs with weights per sample have
  // always computed, to the last bit.
  losses = weighs_samples(sample_weight.shape()) ? mean_per_sample(losses) : averaged_last(losses);
  return ops::mean(losses * weights_beside(loss_title(kind_), sample_weight, losses.shape()));
}

TensorSpec Loss::target_spec(const TensorSpec& prediction, const TensorSpec& given) const {
  if (!defined() || custom() || config_.get_or<int64_t>("axis", -1) != -1) return given;
  const LossKind& loss = known_loss(kind_);
  return stoker::target_spec(loss.target, std::string(loss.names.name), prediction, given);
}

}  // namespace stoker
