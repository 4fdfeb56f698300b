// Numbers in eight bits: conversions, sums, poolings, tables, and what stands around the products of
// cuBLASLt. Floats are rounded step by step, as graph/ops/quantized.h says.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include "engine/cuda/kernels/direct_conv.h"
#include "engine/cuda/kernels/pooling.h"

namespace stoker::cuda {

// Where a result goes.
struct CodeTarget {
  bool floats = false;
  double scale = 1;
  float zero_point = 0, low = 0, high = 255;
};

void run_quantize(const float* x, uint8_t* y, int64_t n, float scale, float zero_point,
                  cudaStream_t stream);
void run_dequantize(const uint8_t* x, float* y, int64_t n, float scale, int zero_point,
                    cudaStream_t stream);

struct CodeSum {
  int a_zero = 0, b_zero = 0;
  float a_factor = 1, b_factor = 1;
  CodeTarget to;
};
void run_quantized_add(const CodeSum& sum, const uint8_t* a, const uint8_t* b, void* y, int64_t n,
                       cudaStream_t stream);
// b has n codes, or `channels` per sample of `sample` codes of a; sample is 0 in the first case.
struct CodeProduct {
  int a_zero = 0, b_zero = 0;
  float factor = 1;
  int64_t sample = 0, channels = 1;
  CodeTarget to;
};
void run_quantized_multiply(const CodeProduct& product, const uint8_t* a, const uint8_t* b, void* y,
                            int64_t n, cudaStream_t stream);
void run_quantized_lookup(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n,
                          cudaStream_t stream);

// x and out of the call are codes; `to` and the input's scale count for means.
struct CodePool {
  PoolCall call;
  bool mean = false;
  double x_scale = 1;
  int x_zero = 0;
  CodeTarget to;
};
void run_quantized_pool(const CodePool& pool, cudaStream_t stream);

// --- products: cuBLASLt multiplies int8 with int8 only, and wants rows of whole 16 bytes. Codes are
// made signed (− 128), and the sums get 128 · Σ w back.

// [rows, width] → [rows, padded], each byte with its upper bit flipped where `flip`; padding is 0.
void run_pad_bytes(const void* from, void* to, int64_t rows, int64_t width, int64_t padded,
                   bool flip, cudaStream_t stream);
// Windows of an image as rows [B · H' · W', padded] of signed codes, in the order kh, kw, C; outside
// of the image is the code 0.
void run_byte_patches(const ConvShape& shape, const uint8_t* x, int8_t* rows, int64_t padded,
                      cudaStream_t stream);
// Σ over each row of w: [rows, width].
void run_byte_sums(const int8_t* w, int32_t* sums, int64_t rows, int64_t width,
                   cudaStream_t stream);

struct CodeFinish {
  int64_t rows = 0, filters = 0, stride = 0;  // of the sums [rows, stride]
  double x_scale = 1;
  CodeTarget to;
};
// y = (sums + 128 · weight_sums + bias) · x_scale · scales / scale; weight_sums may be null.
void run_finish_product(const CodeFinish& finish, const int32_t* sums, const int32_t* weight_sums,
                        const float* scales, const int32_t* bias, void* y, cudaStream_t stream);

// Convolutions in groups, one thread per result.
void run_direct_code_conv(const ConvShape& shape, const CodeFinish& finish, const uint8_t* x,
                          const int8_t* w, const float* scales, const int32_t* bias, void* y,
                          cudaStream_t stream);

}  // namespace stoker::cuda
