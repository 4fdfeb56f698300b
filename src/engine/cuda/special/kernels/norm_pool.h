// Batch norm, relu and the max pooling behind them as one, so that the large image in between is
// never written; and the way back. The sums of the gradient are taken over the small image
// (column_sums.h): outside the pixels that won, dy is zero.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

#include "engine/cuda/kernels/batch_norm.h"
#include "engine/cuda/kernels/pooling.h"

namespace stoker::cuda {

struct NormPool {
  PoolCall pool;  // windows of 2×2 or 3×3; x: what is normalised; out, places
  NormTerms norm;
  void* winners = nullptr;  // if not null: the x of every maximum
};
void run_norm_pool(const NormPool& call, cudaStream_t stream);

struct NormPoolGrad {
  PoolCall pool;  // stride 2; x, dy: the small image's gradient, places; out: dx
  NormTerms norm;
  const float *dgamma = nullptr, *dbeta = nullptr;
};
void run_norm_pool_grad(const NormPoolGrad& call, cudaStream_t stream);

}  // namespace stoker::cuda
