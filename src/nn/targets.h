// What targets must look like beside predictions, and how they become so. Shared by losses and
// metrics. `who` opens every error: "sparse_categorical_crossentropy".
#pragma once

#include <string>

#include <stoker/value.h>

namespace stoker {

enum class TargetKind : uint8_t {
  class_ids,     // predictions [.., C], targets [..] or [.., 1] of any numeric dtype → int [..]
  class_shares,  // one-hot or soft: [.., C] like the predictions → float32
  elementwise,   // the predictions' shape, give or take a last dimension of 1 → float32
  free,          // as they are: the formula knows what it takes
};

// The spec that targets of spec `given` are brought to; ShapeError, with both shapes and what to
// do, when they cannot be.
TensorSpec target_spec(TargetKind kind, const std::string& who, const TensorSpec& prediction,
                       const TensorSpec& given);
// The targets brought to that spec.
Value as_targets(TargetKind kind, const std::string& who, const Value& y_true, const Value& y_pred);

// One shape, where unknown dimensions (-1) may be anything.
bool fits(const Shape& a, const Shape& b);

// The mean over all axes but the batch: [B, ..] → [B].
Value mean_per_sample(const Value& x);

Shape without_last(const Shape& shape);

// The values themselves, or cast.
Value cast_to(const Value& x, DType dtype);

}  // namespace stoker
