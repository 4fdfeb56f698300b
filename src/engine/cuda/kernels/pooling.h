// Pooling over windows of [B, H, W, C]. Gradients are gathered: every input pixel asks the windows
// that hold it, so that nothing is added from two sides.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

struct PoolCall {
  DType dtype = DType::float32;
  int batch = 0, height = 0, width = 0, channels = 0;  // of x
  int out_height = 0, out_width = 0;
  int window_y = 1, window_x = 1, stride_y = 1, stride_x = 1, top = 0, left = 0;
  bool relu = false;  // max gradient: also zero where x ≤ 0
  const void *x = nullptr, *y = nullptr, *dy = nullptr;
  void* out = nullptr;
  // Which pixel of its window each maximum came from, row by row; kNotPositive is added where it is
  // not above zero. Written by run_max_pool if not null; with it the gradient needs neither x nor
  // y.
  static constexpr int kNotPositive = 128;
  uint8_t* places = nullptr;
};

void run_max_pool(const PoolCall& call, cudaStream_t stream);
void run_max_pool_grad(const PoolCall& call, cudaStream_t stream);
void run_avg_pool(const PoolCall& call, cudaStream_t stream);
void run_avg_pool_grad(const PoolCall& call, cudaStream_t stream);

}  // namespace stoker::cuda
