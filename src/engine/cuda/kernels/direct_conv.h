// Convolutions without cuDNN: for what it has no plan for (odd channel counts in 16-bit floats,
// uneven groups) and for images with so few channels that its kernels would mostly multiply zeros.
#pragma once

#include <cstdint>
#include <limits>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

// x: [B, H, W, C], w: [kh, kw, C / groups, filters], y: [B, H', W', filters]
struct ConvShape {
  int batch = 0, height = 0, width = 0, channels = 0;
  int out_height = 0, out_width = 0, filters = 0;
  int kernel_y = 1, kernel_x = 1, stride_y = 1, stride_x = 1;
  int top = 0, bottom = 0, left = 0, right = 0, dilation_y = 1, dilation_x = 1, groups = 1;
  friend bool operator==(const ConvShape&, const ConvShape&) = default;
};

struct DirectConv {
  DType dtype = DType::float32;
  ConvShape shape;
  const void *x = nullptr, *w = nullptr, *dy = nullptr, *bias = nullptr;
  bool relu = false;                                       // forward only
  float ceiling = std::numeric_limits<float>::infinity();  // of relu
  bool wide = false;                                       // forward only: out is float32
  void* out = nullptr;
  bool has_bias = false;  // weight gradient of a stem or a depthwise one: also the sum of dy
  void* bias_out = nullptr;
  float* partials = nullptr;  // weight gradient
  // Stems (stem.h) with 2×2 max pooling behind them: out is the pooled image, and `places` tells
  // which of the four won (PoolCall::kNotPositive is added where relu stopped it); dy is the pooled
  // one's.
  bool pooled = false;
  uint8_t* places = nullptr;
  // Stems by tensor cores (tensor_stem.h): what is float32 all the same; and zeroed counters.
  bool wide_x = false, wide_w = false, wide_bias = false;
  unsigned* counter = nullptr;
};

void run_direct_conv(const DirectConv& call, cudaStream_t stream);
void run_direct_conv_input_grad(const DirectConv& call, cudaStream_t stream);
size_t direct_conv_partial_bytes(const ConvShape& shape, DType dtype);
void run_direct_conv_weight_grad(const DirectConv& call, cudaStream_t stream);

}  // namespace stoker::cuda
