// CosineSimilarity, PearsonCorrelation, ConcordanceCorrelation: how far two vectors agree.
#include <stoker/losses.h>
#include <stoker/ops.h>

#include "nn/metrics/metric_kind.h"
#include "nn/targets.h"

namespace stoker {

namespace {

struct AxisRule {
  int64_t axis = -1;
};

// A vector and what is left of it without its mean, along an axis.
struct Centered {
  Value mean, rest;
  Ints axes;
  Centered(const Value& x, int64_t axis)
      : mean(ops::mean(x, {.axes = {axis}, .keepdims = true})), rest(x - mean), axes{axis} {}
  Value variance() const { return ops::mean(ops::square(rest), {.axes = axes, .keepdims = true}); }
};

struct CosineMetric : AxisRule {
  static constexpr KindNames kNames = {"CosineSimilarity", "cosine_similarity"};
  static Fields<CosineMetric> fields() { return {{"axis", &CosineMetric::axis}}; }
  Share operator()(const std::string&, const Value& y_true, const Value& y_pred) const {
    return {-CosineSimilarity({.axis = axis}).per_element(y_true, y_pred), {}};
  }
};

struct PearsonMetric : AxisRule {
  static constexpr KindNames kNames = {"PearsonCorrelation", "pearson_correlation"};
  static Fields<PearsonMetric> fields() { return {{"axis", &PearsonMetric::axis}}; }
  Share operator()(const std::string& who, const Value& y_true, const Value& y_pred) const {
    Value predicted = cast_to(y_pred, DType::float32);
    Centered a(as_targets(TargetKind::elementwise, who, y_true, predicted), axis);
    Centered b(predicted, axis);
    Value both_scaled = a.rest / ops::sqrt(a.variance()) * (b.rest / ops::sqrt(b.variance()));
    return {ops::mean(both_scaled, {.axes = {axis}}), {}};
  }
};

struct ConcordanceMetric : AxisRule {
  static constexpr KindNames kNames = {"ConcordanceCorrelation", "concordance_correlation"};
  static Fields<ConcordanceMetric> fields() { return {{"axis", &ConcordanceMetric::axis}}; }
  Share operator()(const std::string& who, const Value& y_true, const Value& y_pred) const {
    constexpr double kTiny = 1e-7;
    Value predicted = cast_to(y_pred, DType::float32);
    Value actual = as_targets(TargetKind::elementwise, who, y_true, predicted);
    Centered a(actual, axis), b(predicted, axis);
    Value covariance = (actual - b.mean) * b.rest;  // Keras's: both without the predictions' mean
    Value norm = a.variance() + b.variance() + ops::square(a.mean - b.mean);
    return {ops::mean(covariance * 2.0 / (norm + kTiny), {.axes = {axis}}), {}};
  }
};

}  // namespace

Metric CosineSimilarityMetric(const AxisMetricOptions& options) {
  return made_metric(CosineMetric{{options.axis}}, {options.name, options.output});
}
Metric PearsonCorrelation(const AxisMetricOptions& options) {
  return made_metric(PearsonMetric{{options.axis}}, {options.name, options.output});
}
Metric ConcordanceCorrelation(const AxisMetricOptions& options) {
  return made_metric(ConcordanceMetric{{options.axis}}, {options.name, options.output});
}

void add_correlations(std::vector<MetricKind>& kinds) {
  kinds.push_back(metric_kind<CosineMetric>());
  kinds.push_back(metric_kind<PearsonMetric>());
  kinds.push_back(metric_kind<ConcordanceMetric>());
}

}  // namespace stoker
