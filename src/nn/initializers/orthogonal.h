// The Orthogonal initialiser.
#pragma once

#include <stoker/random.h>
#include <stoker/tensor.h>

namespace stoker {

// A random matrix of [all but the last dimension, last dimension] whose shorter side is
// orthonormal, times `gain`, uniformly distributed over such matrices. ShapeError below two
// dimensions.
Tensor orthogonal(const Shape& shape, Rng rng, double gain);

}  // namespace stoker
