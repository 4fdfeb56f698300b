// What thresholds make of predictions: how many are true and false, positive and negative. Kept as
// two histograms, of positive and of negative elements: cell i counts those above the first i
// thresholds and no more.
#pragma once

#include "nn/metrics/counting_metric.h"
#include "nn/metrics/metric_kind.h"

namespace stoker {

// At one threshold.
struct Confusion {
  double true_positives = 0, false_positives = 0, true_negatives = 0, false_negatives = 0;

  double precision() const { return share_of(true_positives, true_positives + false_positives); }
  double recall() const { return share_of(true_positives, true_positives + false_negatives); }
  double specificity() const { return share_of(true_negatives, true_negatives + false_positives); }
};

struct ConfusionSetup {
  std::vector<double> thresholds;  // ascending
  // Thresholds i / (n - 1): elements are counted by their bucket, with Keras's roundings.
  bool even = false;
  bool first_below_zero = false;  // even: the first threshold is one that all are above
  std::optional<int64_t> top_k = {}, class_id = {};
  bool from_logits = false;
  std::vector<double> label_weights = {};  // of the last axis
  bool multi_label = false;                // a confusion per label of predictions [B, labels]
  std::optional<int64_t> num_labels = {};
};

class ConfusionMetric : public CountingMetric {
 public:
  ConfusionMetric(ConfusionSetup setup, std::string who);
  void build(const Shape& predictions) override;
  void update_state(const Value& y_true, const Value& y_pred, const Value& sample_weight) override;

 protected:
  int64_t labels() const { return labels_; }
  // One per threshold, in ascending order.
  std::vector<Confusion> confusions(int64_t label = 0) const;

 private:
  Value bucket_of(const Value& predicted) const;
  Value weights_with_labels(const Value& sample_weight, const Shape& shape) const;

  ConfusionSetup setup_;
  int64_t labels_ = 1;
};

// n thresholds i / (n - 1); one: 0.5.
std::vector<double> even_thresholds(int64_t count);

// A metric with one result per threshold, or one of all of them: Options have kNames, fields(),
// setup() and scores(confusions).
template <class Options>
class ConfusionMetricOf : public ConfusionMetric {
 public:
  ConfusionMetricOf(const Options& options, const std::string& who)
      : ConfusionMetric(options.setup(), who), options_(options) {}
  std::string kind() const override { return std::string(Options::kNames.kind); }
  Attrs config() const override { return Options::fields().write(options_); }
  double result() const override { return mean_of(results()); }
  std::vector<double> results() const override { return options_.scores(confusions()); }

 protected:
  Options options_;
};

}  // namespace stoker
