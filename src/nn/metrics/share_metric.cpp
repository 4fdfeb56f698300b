#include "nn/metrics/share_metric.h"

#include <fmt/format.h>
#include <stoker/ops.h>

#include "nn/element_weights.h"
#include "nn/masks.h"
#include "nn/own_function.h"
#include "nn/targets.h"

namespace stoker {

namespace {

Value total(const Value& x, DType dtype) { return ops::sum(cast_to(x, dtype)); }

// Bools in place of weights: elements that count, and others.
bool is_mask(const Value& weights) { return weights.defined() && weights.dtype() == DType::bool_; }

}  // namespace

ShareMetric::ShareMetric(std::string kind, Attrs config, std::string name,
                         Metric::Function function)
    : kind_(std::move(kind)),
      config_(std::move(config)),
      name_(std::move(name)),
      function_(std::move(function)),
      part_count_(add_variable("part_count", {}, {.dtype = DType::int64})),
      whole_count_(add_variable("whole_count", {}, {.dtype = DType::int64})),
      part_sum_(add_variable("part_sum")),
      whole_sum_(add_variable("whole_sum")) {}

Share ShareMetric::share(const Value& y_true, const Value& y_pred,
                         const Value& sample_weight) const {
  bool per_element = sample_weight.defined() && !weighs_samples(sample_weight.shape());
  if (!function_) return metric_share({kind_, config_, name_, per_element}, y_true, y_pred);
  Value values = call_own(name_, function_, y_true, y_pred);
  if (is_mask(sample_weight) && values.shape().rank() == 0)
    return {own_per_sample(values, y_pred.shape()[0]), {}};
  if (sample_weight.defined()) check_weighable(name_, values);
  return {per_element ? values : own_per_sample(values, y_pred.shape()[0]), {}};
}

void ShareMetric::add_counts(const Share& share) const {
  bool real = is_floating(share.part.dtype());
  assign_add(real ? part_sum_ : part_count_,
             total(share.part, real ? DType::float32 : DType::int64));
  assign_add(whole_count_, share.whole.defined() ? total(share.whole, DType::int64)
                                                 : Value(double(share.part.shape().elements())));
}

Share ShareMetric::masked(const Share& share, const Value& mask) const {
  if (share.part.shape().rank() < mask.shape().rank()) return share;  // of an own function
  const Shape& shape = share.part.shape();
  Shape beside = weight_shape_beside(name_, mask.shape(), shape);
  Value counts = ops::broadcast_to(ops::reshape(mask, beside), shape);
  bool real = is_floating(share.part.dtype());
  return {real ? ops::where(counts, share.part, 0.0) : both(counts, share.part),
          share.whole.defined() ? both(counts, share.whole) : counts};
}

void ShareMetric::add_weighted(const Share& share, const Value& sample_weight) const {
  Value weight = weights_beside(name_, sample_weight, share.part.shape());
  assign_add(part_sum_, ops::sum(cast_to(share.part, DType::float32) * weight));
  Value whole = share.whole.defined() ? cast_to(share.whole, DType::float32) * weight
                                      : ops::broadcast_to(weight, share.part.shape());
  assign_add(whole_sum_, ops::sum(whole));
}

void ShareMetric::update_state(const Value& y_true, const Value& y_pred,
                               const Value& sample_weight) {
  Share counted = share(y_true, y_pred, sample_weight);
  if (is_mask(sample_weight))
    add_counts(masked(counted, sample_weight));
  else if (sample_weight.defined())
    add_weighted(counted, sample_weight);
  else
    add_counts(counted);
}

double ShareMetric::result() const {
  double whole = whole_count_.read().item() + whole_sum_.read().item();
  double part = part_count_.read().item() + part_sum_.read().item();
  return whole == 0 ? 0 : part / whole;
}

}  // namespace stoker
