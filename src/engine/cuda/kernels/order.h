// Sorting, running sums and reductions by segment.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

// x: [rows, columns] → the first k places of each row in a stable order; NaN is the largest number.
struct ArgsortCall {
  DType dtype = DType::float32;
  int64_t rows = 0, columns = 0, k = 0;
  bool descending = false;
  const void* x = nullptr;
  int32_t* order = nullptr;
  void* scratch = nullptr;  // keys and places, twice, and CUB's memory
  size_t scratch_bytes = 0;
};
size_t argsort_scratch(int64_t elements);
void run_argsort(const ArgsortCall& call, cudaStream_t stream);

// y[t] = x[t] + factor[t] · y[t - 1] along rows of [rows, columns]; factor may be null: 1.
struct CumulateCall {
  DType dtype = DType::float32;
  int64_t rows = 0, columns = 0;
  bool reverse = false;
  const void *x = nullptr, *factor = nullptr;
  void* y = nullptr;
};
void run_cumulate(const CumulateCall& call, cudaStream_t stream);

enum class SegmentFn : uint8_t { sum, max, min };

// data: [count, width], ids: [count] → [rows, width]; ids outside [0, rows) are left out.
struct SegmentCall {
  SegmentFn fn = SegmentFn::sum;
  DType dtype = DType::float32, id_dtype = DType::int32;
  int64_t rows = 0, width = 0, count = 0;
  const void *data = nullptr, *ids = nullptr;
  void* y = nullptr;
  void* keys = nullptr;  // 8 bytes per element of y
};
void run_segment_reduce(const SegmentCall& call, cudaStream_t stream);

}  // namespace stoker::cuda
