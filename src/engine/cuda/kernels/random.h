// Draws from distributions, the same to the last bit as the CPU's.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include "base/draws.h"

namespace stoker::cuda {

// state: {seed, step} on the device; parameters: [elements] each, null where there is none
struct RandomCall {
  draws::Draw draw;
  const int64_t* state = nullptr;
  int64_t stream_number = 0, elements = 0;
  const float *parameter = nullptr, *second = nullptr;
  void* y = nullptr;  // float, or int64_t of integers
};
void run_random(const RandomCall& call, cudaStream_t stream);

}  // namespace stoker::cuda
