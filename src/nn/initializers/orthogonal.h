// The Orthogonal initialiser.
#pragma once

#include <stoker/tensor.h>

#include "nn/initializers/draw.h"

namespace stoker {

// A random matrix of [all but the last dimension, last dimension] whose shorter side is
// orthonormal, times `gain`, uniformly distributed over such matrices. ShapeError below two
// dimensions.
Tensor orthogonal(const Shape& shape, const RandomSequence& sequence, double gain);

}  // namespace stoker
