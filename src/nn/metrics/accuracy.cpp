// Accuracy and its kinds: binary, by class, among the first k.
#include <stoker/ops.h>

#include "nn/metrics/metric_kind.h"
#include "nn/targets.h"

namespace stoker {

namespace {

// int64, the class with the largest share.
Value largest(const Value& shares) { return ops::argmax(shares, -1); }

Value class_ids(const std::string& who, const Value& y_true, const Value& y_pred) {
  return cast_to(as_targets(TargetKind::class_ids, who, y_true, y_pred), DType::int64);
}

Value one_hot_ids(const std::string& who, const Value& y_true, const Value& y_pred) {
  return largest(as_targets(TargetKind::class_shares, who, y_true, y_pred));
}

// predictions: [.., C], ids: [..] → bool [..]
Value among_top(const Value& y_pred, const Value& ids, int k) {
  Value rows = ops::reshape(y_pred, {ids.shape().elements(), y_pred.shape()[-1]});
  Value flat = ops::reshape(ids, {ids.shape().elements()});
  return ops::reshape(ops::in_top_k(rows, flat, k), ids.shape());
}

struct BinaryAccuracyMetric {
  double threshold = 0.5;
  static constexpr KindNames kNames = {"BinaryAccuracy", "binary_accuracy"};
  static Fields<BinaryAccuracyMetric> fields() {
    return {{"threshold", &BinaryAccuracyMetric::threshold}};
  }
  Share operator()(const std::string& who, const Value& y_true, const Value& y_pred) const {
    Value actual = as_targets(TargetKind::elementwise, who, y_true, y_pred);
    return {ops::equal(cast_to(ops::greater(y_pred, threshold), DType::float32), actual), {}};
  }
};

struct SparseCategoricalMetric {
  static constexpr KindNames kNames = {"SparseCategoricalAccuracy", "sparse_categorical_accuracy"};
  static Fields<SparseCategoricalMetric> fields() { return {}; }
  // Class ids that are floats are compared as such: 0.5 is no class, and never a hit.
  Share operator()(const std::string& who, const Value& y_true, const Value& y_pred) const {
    if (!is_floating(y_true.dtype()))
      return {ops::equal(largest(y_pred), class_ids(who, y_true, y_pred)), {}};
    Value ids = ops::reshape(
        y_true, target_spec(TargetKind::class_ids, who, y_pred.spec(), y_true.spec()).shape);
    return {ops::equal(cast_to(largest(y_pred), DType::float32), cast_to(ids, DType::float32)), {}};
  }
};

struct CategoricalMetric {
  static constexpr KindNames kNames = {"CategoricalAccuracy", "categorical_accuracy"};
  static Fields<CategoricalMetric> fields() { return {}; }
  Share operator()(const std::string& who, const Value& y_true, const Value& y_pred) const {
    return {ops::equal(largest(y_pred), one_hot_ids(who, y_true, y_pred)), {}};
  }
};

struct AccuracyMetric {
  static constexpr KindNames kNames = {"Accuracy", "accuracy", "acc"};
  static Fields<AccuracyMetric> fields() { return {}; }
  // Keras's rule: one value per sample is binary; one target for several predicted values is a class
  // id.
  Share operator()(const std::string& who, const Value& y_true, const Value& y_pred) const {
    const Shape &targets = y_true.shape(), &predictions = y_pred.shape();
    if (predictions.rank() < 2 || predictions[-1] == 1)
      return BinaryAccuracyMetric()(who, y_true, y_pred);
    if (targets.rank() < predictions.rank() || targets[-1] == 1)
      return SparseCategoricalMetric()(who, y_true, y_pred);
    return CategoricalMetric()(who, y_true, y_pred);
  }
};

struct TopKMetric {
  int k = 5;
  static constexpr KindNames kNames = {"TopKCategoricalAccuracy", "top_k_categorical_accuracy"};
  static Fields<TopKMetric> fields() { return {{"k", &TopKMetric::k, at_least(1)}}; }
  Share operator()(const std::string& who, const Value& y_true, const Value& y_pred) const {
    return {among_top(y_pred, one_hot_ids(who, y_true, y_pred), k), {}};
  }
};

struct SparseTopKMetric {
  int k = 5;
  static constexpr KindNames kNames = {"SparseTopKCategoricalAccuracy",
                                       "sparse_top_k_categorical_accuracy"};
  static Fields<SparseTopKMetric> fields() { return {{"k", &SparseTopKMetric::k, at_least(1)}}; }
  Share operator()(const std::string& who, const Value& y_true, const Value& y_pred) const {
    return {among_top(y_pred, class_ids(who, y_true, y_pred), k), {}};
  }
};

}  // namespace

Metric Accuracy(const MetricOptions& options) { return made_metric(AccuracyMetric(), options); }
Metric SparseCategoricalAccuracy(const MetricOptions& options) {
  return made_metric(SparseCategoricalMetric(), options);
}
Metric CategoricalAccuracy(const MetricOptions& options) {
  return made_metric(CategoricalMetric(), options);
}
Metric BinaryAccuracy(double threshold, const MetricOptions& options) {
  return made_metric(BinaryAccuracyMetric{threshold}, options);
}
Metric TopKCategoricalAccuracy(int k, const MetricOptions& options) {
  return made_metric(TopKMetric{k}, options);
}
Metric SparseTopKCategoricalAccuracy(int k, const MetricOptions& options) {
  return made_metric(SparseTopKMetric{k}, options);
}

void add_accuracies(std::vector<MetricKind>& kinds) {
  kinds.push_back(metric_kind<AccuracyMetric>());
  kinds.push_back(metric_kind<SparseCategoricalMetric>());
  kinds.push_back(metric_kind<CategoricalMetric>());
  kinds.push_back(metric_kind<BinaryAccuracyMetric>());
  kinds.push_back(metric_kind<TopKMetric>());
  kinds.push_back(metric_kind<SparseTopKMetric>());
}

}  // namespace stoker
