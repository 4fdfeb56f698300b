// What losses on probabilities share.
#pragma once

#include <stoker/value.h>

namespace stoker {

inline constexpr double kEpsilon = 1e-7;  // Keras's: probabilities are kept this far from 0 and 1

// Rows that sum to one, inside (0, 1). y_pred: [.., C]
Value class_probabilities(const Value& y_pred);
// Elementwise crossentropy of a probability.
Value binary_log_loss(const Value& share, const Value& probability);
// Keras's label smoothing.
Value smoothed(const Value& shares, double smoothing, double classes);
// A class id beyond the classes is the host's to refuse, before the step.
void limit_class_ids(const Value& y_true, int64_t classes);

}  // namespace stoker
