// The metric behind every name and every own function: Σ part / Σ whole over the elements of all
// steps (metric_kind.h).
#pragma once

#include <stoker/metrics.h>

#include "nn/metrics/metric_kind.h"

namespace stoker {

class ShareMetric : public MetricBase {
 public:
  // `name` opens errors. With a function, `kind` is the user's word.
  ShareMetric(std::string kind, Attrs config, std::string name, Metric::Function function);

  std::string kind() const override { return kind_; }
  Attrs config() const override { return config_; }
  void update_state(const Value& y_true, const Value& y_pred, const Value& sample_weight) override;
  double result() const override;

 private:
  Share share(const Value& y_true, const Value& y_pred, const Value& sample_weight) const;
  Share masked(const Share& share, const Value& mask) const;
  void add_counts(const Share& share) const;
  void add_weighted(const Share& share, const Value& sample_weight) const;

  std::string kind_;
  Attrs config_;
  std::string name_;
  Metric::Function function_;
  // What is counted is counted in int64: a float32 stops counting one by one at 2^24, which an
  // epoch of segmented images passes within its first steps. Weighted samples and real values go
  // into the float32 sums beside them; a step adds to one side or the other, and the result is of
  // both together.
  Variable part_count_, whole_count_, part_sum_, whole_sum_;
};

}  // namespace stoker
