// Batch norm and layer norm, and the sums over rows of a matrix [rows, channels] that they and bias
// gradients are made of. Sums go block by block into partials; the last block to arrive adds those
// in a fixed order, so that no result depends on timing.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

// How the sums over rows are divided; a function of the shape alone.
struct ColumnPlan {
  int lanes = 1;    // channels of a thread
  int columns = 1;  // threads side by side
  unsigned slabs = 1, splits = 1;
  size_t partial_bytes = 0;
  size_t counter_bytes = 0;  // zeroed once; every run leaves them zeroed
};
ColumnPlan plan_columns(DType dtype, int64_t rows, int64_t channels);

// Where a gradient counts that comes through relu: everywhere, where y > 0, or where gamma and beta
// say that y was: that reads one tensor less.
enum class ReluMask : uint8_t { none, from_y, from_x };

enum class ColumnSums : uint8_t {
  statistics,  // x → out: mean, second_out: variance
  gradients,   // dy (only where y > 0, if that is asked for), x, mean, variance → dbeta, dgamma
  sum,         // x (only where y > 0, if that is asked for) → out, in x's dtype
};

struct ColumnCall {
  ColumnSums what = ColumnSums::sum;
  DType dtype = DType::float32;
  int64_t rows = 0, channels = 0;
  ColumnPlan plan;
  const void *x = nullptr, *dy = nullptr, *y = nullptr;
  const float *mean = nullptr, *variance = nullptr;
  ReluMask mask = ReluMask::none;
  const float *gamma = nullptr, *beta = nullptr;  // for the mask
  // Gradients with mask from_y: dy is dy + second_dy, and what the mask leaves of it goes to dz.
  const void* second_dy = nullptr;
  void* dz = nullptr;
  float epsilon = 0;
  void* out = nullptr;
  float* second_out = nullptr;
  void* partials = nullptr;
  unsigned* counters = nullptr;
};
void run_column_sums(const ColumnCall& call, cudaStream_t stream);

// y = (x - mean) · gamma / sqrt(variance + epsilon) + beta [+ residual], relu if asked for
struct NormApply {
  DType dtype = DType::float32;
  int64_t rows = 0, channels = 0;
  const void *x = nullptr, *residual = nullptr;
  const float *mean = nullptr, *variance = nullptr, *gamma = nullptr, *beta = nullptr;
  float epsilon = 0;
  bool relu = false;
  void* y = nullptr;
};
void run_norm_apply(const NormApply& call, cudaStream_t stream);

// dx of batch norm from the sums.
struct NormInputGrad {
  DType dtype = DType::float32;
  int64_t rows = 0, channels = 0;
  const void *dy = nullptr, *x = nullptr, *y = nullptr;
  const float *mean = nullptr, *variance = nullptr, *gamma = nullptr;
  const float *dgamma = nullptr, *dbeta = nullptr;
  ReluMask mask = ReluMask::none;
  const float* beta = nullptr;  // for the mask
  float epsilon = 0;
  void* dx = nullptr;
};
void run_norm_input_grad(const NormInputGrad& call, cudaStream_t stream);

struct LayerNorm {
  DType dtype = DType::float32;
  int64_t rows = 0, features = 0;
  const void *x = nullptr, *dy = nullptr;
  const float *gamma = nullptr, *beta = nullptr;
  float epsilon = 0;
  float *mean = nullptr, *rstd = nullptr;  // results of the forward, operands of the backward
  void* y = nullptr;                       // or dx
  float *dgamma = nullptr, *dbeta = nullptr;
  float* partials = nullptr;  // layer_norm_splits · 2 · features
};
int layer_norm_splits(int64_t rows, int64_t features);
void run_layer_norm(const LayerNorm& call, cudaStream_t stream);
void run_layer_norm_grad(const LayerNorm& call, cudaStream_t stream);

}  // namespace stoker::cuda
