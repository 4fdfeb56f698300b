// Layer norm and its gradient. Rows of up to 8,192 sixteen-bit or 4,096 float32 numbers are read
// once and stay in registers; the gradient makes dx and both weight gradients in one pass.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

struct LayerNorm {
  DType dtype = DType::float32;
  int64_t rows = 0, features = 0;
  const void *x = nullptr, *dy = nullptr;
  const float *gamma = nullptr, *beta = nullptr;
  float epsilon = 0;
  float *mean = nullptr, *rstd = nullptr;  // results of the forward, operands of the backward
  void* y = nullptr;                       // or dx
  const void* addend = nullptr;            // of the gradient: added to dx; null: nothing
  float *dgamma = nullptr, *dbeta = nullptr;
  float* partials = nullptr;  // layer_norm_splits · 2 · features
};
int layer_norm_splits(DType dtype, int64_t rows, int64_t features);
void run_layer_norm(const LayerNorm& call, cudaStream_t stream);
void run_layer_norm_grad(const LayerNorm& call, cudaStream_t stream);

}  // namespace stoker::cuda
