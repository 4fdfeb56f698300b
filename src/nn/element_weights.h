// Sample weights beside what they weigh: one weight per sample, or one per element of it. Values of
// shape [B, d1, .., dn] take weights whose first extents are theirs or 1: [B], [B, d1], [B, 1, d2],
// …; a last dimension of 1 more than that is dropped.
#pragma once

#include <string>

#include <stoker/value.h>

namespace stoker {

// Whether there is one weight per sample: [B], [B, 1], [B, 1, 1], …
bool weighs_samples(const Shape& weight);

// The shape of the values' rank that weights are brought to: [B, 1, ..] for one per sample.
// ShapeError, opening with `who`, for weights that do not fit.
Shape weight_shape_beside(const std::string& who, const Shape& weight, const Shape& values);

// The weights in that shape, as float32.
Value weights_beside(const std::string& who, const Value& weight, const Shape& values);

}  // namespace stoker
