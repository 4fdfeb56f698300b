// What each metric counts, as a share: Σ part / Σ whole over the elements of all steps.
#pragma once

#include <stoker/attrs.h>
#include <stoker/value.h>

namespace stoker {

struct Share {
  Value part;   // bool [B, ..], or float32 [B]
  Value whole;  // bool, part's shape; undefined: every element counts
};

// The kind and configuration that a metric's name stands for ("acc", "mse", …); ValueError lists
// the names.
std::string metric_kind(const std::string& name);
// `who` is the metric's name, for errors.
Share metric_share(const std::string& kind, const Attrs& config, const std::string& who,
                   const Value& y_true, const Value& y_pred);

}  // namespace stoker
