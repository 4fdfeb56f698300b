// Sums over the rows of a matrix [rows, channels]: what batch norm, its gradient and bias gradients
// are made of. Sums go block by block into partials; the last block to arrive adds those in a fixed
// order, so that no result depends on timing.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

// How the sums over rows are divided; a function of the shape alone.
struct ColumnPlan {
  int lanes = 1;    // channels of a thread
  int columns = 1;  // threads side by side
  int fold = 1;     // rows that are taken as one
  unsigned slabs = 1, splits = 1;
  size_t partial_bytes = 0;
  size_t counter_bytes = 0;  // zeroed once; every run leaves them zeroed
};
ColumnPlan plan_columns(DType dtype, int64_t rows, int64_t channels);

// Where a gradient counts that comes through relu: everywhere, where y > 0, where gamma and beta
// say that y was (that reads one tensor less), or where the forward noted that it was: see
// relu_bits_bytes.
enum class ReluMask : uint8_t { none, from_y, from_x, from_bits };

// A byte for the channels of a thread, bit i for the i-th of them: set where y > 0.
size_t relu_bits_bytes(DType dtype, int64_t rows, int64_t channels);

enum class ColumnSums : uint8_t {
  statistics,  // x → out: mean, second_out: variance
  gradients,   // dy (as the mask says), x, mean, variance → dbeta, dgamma
  sum,         // x (only where y > 0, if that is asked for) → out, in x's dtype
};

struct ColumnCall {
  ColumnSums what = ColumnSums::sum;
  DType dtype = DType::float32;
  int64_t rows = 0, channels = 0;
  ColumnPlan plan;
  int period = 0;  // set by the launch where it takes several rows as one: channels of one of them
  const void *x = nullptr, *dy = nullptr, *y = nullptr;
  const float *mean = nullptr, *variance = nullptr;
  ReluMask mask = ReluMask::none;
  const float *gamma = nullptr, *beta = nullptr;  // for the mask
  const uint8_t* bits = nullptr;
  float epsilon = 0;
  // Gradients with a mask from_x or from_bits: dy is dy + second_dy, and what the mask leaves of it
  // goes to dz.
  const void* second_dy = nullptr;
  void* dz = nullptr;
  // With dz and a mask from_bits: a second batch norm that takes the same dz.
  struct Other {
    const void* x = nullptr;
    const float *mean = nullptr, *variance = nullptr;
    float epsilon = 0;
    float *dbeta = nullptr, *dgamma = nullptr;
  } other;
  void* out = nullptr;
  float* second_out = nullptr;
  void* partials = nullptr;
  unsigned* counters = nullptr;
};
void run_column_sums(const ColumnCall& call, cudaStream_t stream);

}  // namespace stoker::cuda
