// The last block to arrive does what is left: sums over blocks without a second launch.
#pragma once

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

// Whether this block is the last of `blocks`; then it sees what all of them have written before.
// The counter is zero before and after.
__device__ inline bool is_last_block(unsigned* counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(counter, 1U) == blocks - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

}  // namespace stoker::cuda
