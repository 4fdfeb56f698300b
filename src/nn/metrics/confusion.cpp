#include "nn/metrics/confusion.h"

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "nn/element_weights.h"
#include "nn/masks.h"
#include "nn/targets.h"

namespace stoker {

namespace {

Tensor float_row(const std::vector<double>& values) {
  return Tensor::from(std::vector<float>(values.begin(), values.end()), {int64_t(values.size())});
}

Value of_class(const Value& x, int64_t id) {
  Ints begin(size_t(x.shape().rank()), 0), size(size_t(x.shape().rank()), -1);
  begin.back() = id;
  size.back() = 1;
  return ops::slice(x, begin, size);
}

// Whether an element is among the k largest of the last axis; of equals the first ones are.
Value is_among_top(const Value& x, int64_t k) {
  int64_t classes = x.shape()[-1];
  std::vector<int32_t> numbers;
  for (int64_t at = 0; at < classes; ++at) numbers.push_back(int32_t(at));
  Value one = ops::expand_dims(x, -1), other = ops::expand_dims(x, -2);
  Value earlier = ops::less(Value(Tensor::from(numbers, {1, classes})),
                            Value(Tensor::from(numbers, {classes, 1})));
  Value ahead = either(
      ops::greater(other, one),
      both(ops::equal(other, one), ops::broadcast_to(earlier, other.shape().with(-2, classes))));
  Value before = ops::sum(cast_to(ahead, DType::float32), {.axes = {-1}});
  return ops::less(before, double(k));
}

}  // namespace

std::vector<double> even_thresholds(int64_t count) {
  if (count == 1) return {0.5};
  std::vector<double> thresholds;
  for (int64_t i = 0; i < count; ++i) thresholds.push_back(double(i) / double(count - 1));
  return thresholds;
}

ConfusionMetric::ConfusionMetric(ConfusionSetup setup, std::string who)
    : CountingMetric(std::move(who)), setup_(std::move(setup)) {
  if (!setup_.multi_label) add_cells(2 * int64_t(setup_.thresholds.size() + 1));
}

void ConfusionMetric::build(const Shape& predictions) {
  if (!setup_.multi_label) return;
  if (predictions.rank() != 2)
    throw ShapeError(fmt::format("{}: multi_label takes predictions [B, labels], got {}", who(),
                                 to_string(predictions)));
  labels_ = predictions[1];
  if (setup_.num_labels && *setup_.num_labels != labels_)
    throw ShapeError(fmt::format("{}: num_labels is {}, and the predictions are {}", who(),
                                 *setup_.num_labels, to_string(predictions)));
  add_cells(2 * int64_t(setup_.thresholds.size() + 1) * labels_);
}

Value ConfusionMetric::bucket_of(const Value& predicted) const {
  auto count = double(setup_.thresholds.size());
  if (setup_.even) {
    Value place = ops::clip(predicted, 0, 1) * (count - 1);
    Value above = -ops::floor(-place);
    return setup_.first_below_zero ? ops::maximum(above, 1.0) : above;
  }
  Value each = ops::greater(ops::expand_dims(predicted, -1), Value(float_row(setup_.thresholds)));
  return ops::sum(cast_to(each, DType::float32), {.axes = {-1}});
}

// [B, .., labels] where labels have weights, else the samples' own.
Value ConfusionMetric::weights_with_labels(const Value& sample_weight, const Shape& shape) const {
  if (setup_.label_weights.empty() || setup_.multi_label) return sample_weight;
  if (int64_t(setup_.label_weights.size()) != shape[-1])
    throw ShapeError(fmt::format("{}: {} label_weights for predictions {}", who(),
                                 setup_.label_weights.size(), to_string(shape)));
  Value labels = ops::broadcast_to(Value(float_row(setup_.label_weights)), shape);
  if (!sample_weight.defined()) return labels;
  return labels * weights_beside(who(), sample_weight, shape);
}

void ConfusionMetric::update_state(const Value& y_true, const Value& y_pred,
                                   const Value& sample_weight) {
  Value predicted = cast_to(y_pred, DType::float32);
  Value actual = as_targets(TargetKind::elementwise, who(), y_true, predicted);
  if (setup_.from_logits) predicted = ops::sigmoid(predicted);
  if (setup_.top_k || setup_.class_id)
    if (predicted.shape().rank() < 2)
      throw ShapeError(fmt::format("{}: top_k and class_id take predictions [.., classes], got {}",
                                   who(), to_string(predicted.shape())));
  constexpr double kBelowAll = -1e10;  // Keras's
  if (setup_.top_k)
    predicted = ops::where(is_among_top(predicted, *setup_.top_k), predicted, kBelowAll);
  if (setup_.class_id) {
    if (*setup_.class_id < 0 || *setup_.class_id >= predicted.shape()[-1])
      throw ValueError(fmt::format("{}: class_id {} of predictions {}", who(), *setup_.class_id,
                                   to_string(predicted.shape())));
    predicted = of_class(predicted, *setup_.class_id);
    actual = of_class(actual, *setup_.class_id);
  }
  auto buckets = double(setup_.thresholds.size() + 1);
  Value positive = cast_to(ops::not_equal(actual, 0.0), DType::float32);
  Value cell = bucket_of(predicted) + positive * buckets;
  if (setup_.multi_label) {
    std::vector<double> first;
    for (int64_t label = 0; label < labels_; ++label) first.push_back(double(label) * 2 * buckets);
    cell = cell + Value(float_row(first));
  }
  add_to_cells(cell, {}, weights_with_labels(sample_weight, predicted.shape()));
}

std::vector<Confusion> ConfusionMetric::confusions(int64_t label) const {
  std::vector<double> cells = read_cells();
  size_t thresholds = setup_.thresholds.size(), buckets = thresholds + 1;
  const double* negative = cells.data() + size_t(label) * 2 * buckets;
  const double* positive = negative + buckets;
  std::vector<Confusion> all(thresholds);
  Confusion above;  // counts of the buckets above a threshold
  for (size_t at = thresholds; at-- > 0;) {
    above.true_positives += positive[at + 1];
    above.false_positives += negative[at + 1];
    all[at] = above;
  }
  double positives = above.true_positives + positive[0];
  double negatives = above.false_positives + negative[0];
  for (Confusion& one : all) {
    one.false_negatives = positives - one.true_positives;
    one.true_negatives = negatives - one.false_positives;
  }
  return all;
}

}  // namespace stoker
