// Division by a number that a launch fixes, without dividing.
#pragma once

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

// Exact while dividend · divisor < 2^32.
struct Divisor {
  unsigned by, reciprocal;
  explicit Divisor(int divisor)
      : by(unsigned(divisor)), reciprocal(unsigned(((uint64_t(1) << 32) + by - 1) / by)) {}
  __device__ unsigned divide(unsigned dividend) const {
    return by == 1 ? dividend : __umulhi(dividend, reciprocal);
  }
};

}  // namespace stoker::cuda
