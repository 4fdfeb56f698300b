// Vectors scaled to length 1, as keras.utils.normalize does it.
#pragma once

#include <stoker/ops.h>

namespace stoker {

// x · min(1 / |x|, 10⁷) over `axis`: a vector of zeros stays one.
inline Value unit_length(const Value& x, int64_t axis) {
  constexpr double kLeastSquare = 1e-14;
  Value squares = ops::sum(ops::square(x), {.axes = {axis}, .keepdims = true});
  return x * ops::rsqrt(ops::maximum(squares, kLeastSquare));
}

}  // namespace stoker
