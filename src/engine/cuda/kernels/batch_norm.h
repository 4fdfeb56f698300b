// What batch norm does with its sums (column_sums.h): the result, and the gradient of x. Each also
// for two batch norms whose results are added, in one pass.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

#include "engine/cuda/kernels/column_sums.h"

namespace stoker::cuda {

// y = (x - mean) · gamma / sqrt(variance + epsilon) + beta
struct NormTerms {
  const float *mean = nullptr, *variance = nullptr, *gamma = nullptr, *beta = nullptr;
  float epsilon = 0;
  int period =
      0;  // of these tables, where a launch takes several rows as one; 0: they do not repeat
};

// y = norm(x) [+ residual, or + residual_norm(residual)], relu if asked for
struct NormApply {
  DType dtype = DType::float32;
  int64_t rows = 0, channels = 0;
  const void *x = nullptr, *residual = nullptr;
  NormTerms norm, residual_norm;  // no mean: the residual is added as it is
  bool relu = false;
  void* y = nullptr;
  uint8_t* bits = nullptr;  // if not null: relu_bits_bytes, for the gradient
};
void run_norm_apply(const NormApply& call, cudaStream_t stream);

// dx of batch norm from the sums.
struct NormInputGrad {
  DType dtype = DType::float32;
  int64_t rows = 0, channels = 0;
  int64_t samples = 0;  // set by the launch: rows, however many it takes as one
  const void *dy = nullptr, *y = nullptr;
  ReluMask mask = ReluMask::none;  // not from_bits: the sums have left a dy behind that needs none
  struct Branch {
    const void* x = nullptr;
    NormTerms norm;
    const float *dgamma = nullptr, *dbeta = nullptr;
    void* dx = nullptr;
  } branch, other;  // other, if it has an x: of the same dy, without a mask
};
void run_norm_input_grad(const NormInputGrad& call, cudaStream_t stream);

}  // namespace stoker::cuda
