// Precision and Recall: predictions above a threshold against what is true.
#include <stoker/ops.h>

#include "nn/metrics/metric_kind.h"
#include "nn/targets.h"

namespace stoker {

namespace {

struct Decisions {
  Value predicted, actual;  // bool, the predictions' shape
  Value both() const { return ops::where(predicted, actual, 0.0); }
};
Decisions decisions(double threshold, const std::string& who, const Value& y_true,
                    const Value& y_pred) {
  Value actual = as_targets(TargetKind::elementwise, who, y_true, y_pred);
  return {ops::greater(y_pred, threshold), ops::not_equal(actual, 0.0)};
}

struct PrecisionMetric {
  double threshold = 0.5;
  static constexpr KindNames kNames = {"Precision", "precision"};
  static Fields<PrecisionMetric> fields() { return {{"threshold", &PrecisionMetric::threshold}}; }
  Share operator()(const std::string& who, const Value& y_true, const Value& y_pred) const {
    Decisions made = decisions(threshold, who, y_true, y_pred);
    return {made.both(), made.predicted};
  }
};

struct RecallMetric {
  double threshold = 0.5;
  static constexpr KindNames kNames = {"Recall", "recall"};
  static Fields<RecallMetric> fields() { return {{"threshold", &RecallMetric::threshold}}; }
  Share operator()(const std::string& who, const Value& y_true, const Value& y_pred) const {
    Decisions made = decisions(threshold, who, y_true, y_pred);
    return {made.both(), made.actual};
  }
};

}  // namespace

Metric Precision(double threshold, const MetricOptions& options) {
  return made_metric(PrecisionMetric{threshold}, options);
}
Metric Recall(double threshold, const MetricOptions& options) {
  return made_metric(RecallMetric{threshold}, options);
}

void add_decision_metrics(std::vector<MetricKind>& kinds) {
  kinds.push_back(metric_kind<PrecisionMetric>());
  kinds.push_back(metric_kind<RecallMetric>());
}

}  // namespace stoker
