// Rows and classes chosen by integers, and dropout.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

// table: [rows, width], indices: [count] → [count, width]; an index outside reads the nearest row.
struct GatherCall {
  DType index_dtype = DType::int32;
  int element = 4;               // bytes of a table element (gather)
  DType dtype = DType::float32;  // of dy (gradient)
  int64_t rows = 0, width = 0, count = 0;
  // A take along an inner axis: the table is blocks of `extent` rows, and each block has `group`
  // indices of its own, or the same ones as all (`shared`). 0: one table for all indices.
  int64_t group = 0, extent = 0;
  bool shared = false;
  const void *table = nullptr, *indices = nullptr;
  void* out = nullptr;
  // gradient only: sorted rows and the places they came from, twice, sums of chunks, CUB's memory
  void* scratch = nullptr;
  size_t scratch_bytes = 0;
};
void run_gather(const GatherCall& call, cudaStream_t stream);
size_t gather_grad_scratch(int64_t count, int64_t width);
// table: dy. A row's sum depends on the indices alone, not on timing.
void run_gather_grad(const GatherCall& call, cudaStream_t stream);

void run_one_hot(DType index_dtype, const void* indices, int64_t count, int64_t depth, DType dtype,
                 void* out, cudaStream_t stream);
void run_in_top_k(DType dtype, const void* predictions, DType target_dtype, const void* targets,
                  int64_t rows, int64_t classes, int64_t k, bool* out, cudaStream_t stream);

// state: {seed, step} on the device
struct DropoutCall {
  DType dtype = DType::float32;
  const void* x = nullptr;
  const int64_t* state = nullptr;
  int64_t stream_number = 0, elements = 0;
  double rate = 0;
  void* y = nullptr;
};
void run_dropout(const DropoutCall& call, cudaStream_t stream);

}  // namespace stoker::cuda
