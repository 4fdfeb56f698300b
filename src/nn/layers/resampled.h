// Resizing as two products with constant matrices: every engine runs it, and gradients follow.
#pragma once

#include <array>

#include <stoker/value.h>

#include "base/resample.h"

namespace stoker {

// x: floats [B, H, W, C] → [B, size[0], size[1], C]
Value resampled(const Value& x, std::array<int64_t, 2> size, const Resample& how);

}  // namespace stoker
