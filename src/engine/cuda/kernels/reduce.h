// Reductions over axes of a row-major tensor. The order of every sum depends on shapes alone.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

enum class ReduceFn : uint8_t { sum, mean, max, min, prod };

// The input as axes that stay and axes that go, merged where neighbours are of one kind.
struct ReduceShape {
  static constexpr int kMaxRank = 8;
  int kept_rank = 0, gone_rank = 0;
  int64_t kept[kMaxRank] = {}, kept_strides[kMaxRank] = {};
  int64_t gone[kMaxRank] = {}, gone_strides[kMaxRank] = {};
  int64_t outputs = 1, inputs = 1;  // inputs: per output
  bool rows = false;                // the innermost axis goes
};

struct ReduceCall {
  ReduceFn fn = ReduceFn::sum;
  DType dtype = DType::float32;      // of x
  DType out_dtype = DType::float32;  // of y: x's, or float32
  ReduceShape shape;
  int splits = 1;  // parts of each sum that blocks take; see reduce_splits
  const void* x = nullptr;
  void* y = nullptr;
  void* partials = nullptr;  // splits · outputs · 8 bytes when splits > 1
};

// How many blocks share one output, so that the device is busy.
int reduce_splits(const ReduceShape& shape);
void run_reduce(const ReduceCall& call, cudaStream_t stream);

// x: [outer, extent, inner] → the index of the first largest along the middle axis.
void run_argmax(DType dtype, const void* x, int64_t outer, int64_t extent, int64_t inner,
                int64_t* y, cudaStream_t stream);

}  // namespace stoker::cuda
