// From probabilities back to the logits they were computed from.
#pragma once

#include <stoker/value.h>

namespace stoker {

// The logits behind the last softmax (over the last axis) or sigmoid that made `y_pred`, in its
// shape and dtype; undefined when something else made it. Looks through casts between floats and
// through reshapes that leave the classes alone.
Value logits_behind_softmax(const Value& y_pred);
Value logits_behind_sigmoid(const Value& y_pred);

}  // namespace stoker
