// What each metric counts, as a share: Σ part / Σ whole over the elements of all steps.
#pragma once

#include <stoker/attrs.h>
#include <stoker/value.h>

namespace stoker {

struct Share {
  Value part;   // bool or float32 [B, ..]
  Value whole;  // bool, part's shape; undefined: every element counts
};

// The kind and configuration that a metric's name stands for ("acc", "mse", …); ValueError lists
// the names.
std::string metric_kind(const std::string& name);

struct MetricCall {
  const std::string& kind;
  const Attrs& config;
  const std::string& who;    // the metric's name, for errors
  bool per_element = false;  // a loss as metric: [B, ..] instead of one value per sample
};
Share metric_share(const MetricCall& call, const Value& y_true, const Value& y_pred);

}  // namespace stoker
