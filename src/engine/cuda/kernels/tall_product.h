// Products of tall matrices with few columns: a 1×1 convolution to at most eight filters, a dense
// layer of as many units over many rows, and their gradients. They move bytes; a library gives them
// a tile of which most is empty.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

// x: [rows, channels], w: [channels, filters], y: [rows, filters]
struct TallProduct {
  DType dtype = DType::float32;
  int64_t rows = 0;
  int channels = 0, filters = 0;
  const void *x = nullptr, *w = nullptr, *dy = nullptr, *bias = nullptr;
  bool relu = false;          // forward only
  void* out = nullptr;        // y, dx or dw
  void* bias_out = nullptr;   // with dw: the sum of dy; may be null
  float* partials = nullptr;  // with dw
};

// Whether these kernels are the faster ones.
bool is_tall_product(DType dtype, int64_t rows, int64_t channels, int64_t filters);

void run_tall_product(const TallProduct& call, cudaStream_t stream);
void run_tall_product_input_grad(const TallProduct& call, cudaStream_t stream);
size_t tall_product_partial_bytes(const TallProduct& call);
void run_tall_product_weight_grad(const TallProduct& call, cudaStream_t stream);

}  // namespace stoker::cuda
