// The product of a matrix with few columns: y = a · w [+ bias], relu if asked for. What a dense
// layer with ten classes is: libraries give it one tile, and one multiprocessor walks over all of
// `inner`.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

struct NarrowProduct {
  static constexpr int64_t kMostColumns = 16, kMostRows = 264;
  DType dtype = DType::float32;
  int64_t rows = 0, inner = 0, columns = 0;
  // [rows, inner], [inner, columns], [columns] or null
  const void *a = nullptr, *w = nullptr, *bias = nullptr;
  bool relu = false;
  void* y = nullptr;  // [rows, columns]
};
void run_narrow_product(const NarrowProduct& call, cudaStream_t stream);

// The gradient by w of such a product, aᵀ · dy, and that by its bias, the sum of dy over rows.
struct NarrowGradient {
  static constexpr int64_t kMostColumns = 16, kMostRows = 256;
  DType dtype = DType::float32;
  int rows = 0, inner = 0, columns = 0;
  const void *a = nullptr, *dy = nullptr;    // [rows, inner], [rows, columns]
  void *weights = nullptr, *bias = nullptr;  // [inner, columns], [columns] or null
};
void run_narrow_gradient(const NarrowGradient& call, cudaStream_t stream);

}  // namespace stoker::cuda
