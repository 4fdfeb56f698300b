#include "engine/cuda/kernels/quantized.h"

#include "engine/cuda/kernels/common.cuh"
#include "engine/cuda/kernels/windows.cuh"

namespace stoker::cuda {

namespace {

constexpr int64_t kMostBlocks = 132 * 32;
constexpr uint8_t kUpperBit = 0x80;  // a code with it flipped is the code − 128, signed

__device__ int64_t first_item() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ int64_t item_step() { return int64_t(gridDim.x) * blockDim.x; }

// Each of these rounds once: a contracted multiply-add would store other codes.
__device__ uint8_t code_of(float value, const CodeTarget& to) {
  float shifted = __fadd_rn(value, to.zero_point);
  shifted = shifted > to.low ? shifted : to.low;
  shifted = shifted < to.high ? shifted : to.high;
  return uint8_t(__float2int_rn(shifted));
}

__device__ void put(float value, const CodeTarget& to, void* y, int64_t at) {
  if (to.floats)
    static_cast<float*>(y)[at] = value;
  else
    static_cast<uint8_t*>(y)[at] = code_of(value, to);
}

__global__ void quantize(const float* x, uint8_t* y, int64_t n, float scale, CodeTarget to) {
  for (int64_t i = first_item(); i < n; i += item_step())
    y[i] = code_of(__fdiv_rn(x[i], scale), to);
}

__global__ void dequantize(const uint8_t* x, float* y, int64_t n, float scale, int zero_point) {
  for (int64_t i = first_item(); i < n; i += item_step())
    y[i] = __fmul_rn(float(int(x[i]) - zero_point), scale);
}

__global__ void add_codes(CodeSum sum, const uint8_t* a, const uint8_t* b, void* y, int64_t n) {
  for (int64_t i = first_item(); i < n; i += item_step())
    put(__fadd_rn(__fmul_rn(float(int(a[i]) - sum.a_zero), sum.a_factor),
                  __fmul_rn(float(int(b[i]) - sum.b_zero), sum.b_factor)),
        sum.to, y, i);
}

__global__ void multiply_codes(CodeProduct product, const uint8_t* a, const uint8_t* b, void* y,
                               int64_t n) {
  for (int64_t i = first_item(); i < n; i += item_step()) {
    int64_t other =
        product.sample == 0 ? i : i / product.sample * product.channels + i % product.channels;
    int exact = (int(a[i]) - product.a_zero) * (int(b[other]) - product.b_zero);
    put(__fmul_rn(float(exact), product.factor), product.to, y, i);
  }
}

__global__ void look_up(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n) {
  for (int64_t i = first_item(); i < n; i += item_step()) y[i] = table[x[i]];
}

__global__ void pool_codes(CodePool pool) {
  const PoolCall& c = pool.call;
  const auto* x = static_cast<const uint8_t*>(c.x);
  int64_t n = int64_t(c.batch) * c.out_height * c.out_width * c.channels;
  for (int64_t i = first_item(); i < n; i += item_step()) {
    int channel = int(i % c.channels);
    int64_t pixel = i / c.channels;
    int column = int(pixel % c.out_width), row = int(pixel / c.out_width % c.out_height);
    int64_t image = pixel / c.out_width / c.out_height;
    Range rows = inside_image(row, c.stride_y, c.top, c.window_y, c.height);
    Range columns = inside_image(column, c.stride_x, c.left, c.window_x, c.width);
    int most = 0, sum = 0, count = 0;
    for (int r = rows.begin; r < rows.end; ++r)
      for (int q = columns.begin; q < columns.end; ++q) {
        int code = x[((image * c.height + r) * c.width + q) * c.channels + channel];
        most = max(most, code);
        sum += code;
        ++count;
      }
    if (!pool.mean) {
      static_cast<uint8_t*>(c.out)[i] = uint8_t(most);
      continue;
    }
    auto factor = float(pool.x_scale / (double(max(count, 1)) * pool.to.scale));
    put(__fmul_rn(float(sum - count * pool.x_zero), factor), pool.to, c.out, i);
  }
}

__global__ void pad_bytes(const uint8_t* from, uint8_t* to, int64_t rows, int64_t width,
                          int64_t padded, uint8_t flip) {
  int64_t n = rows * padded;
  for (int64_t i = first_item(); i < n; i += item_step()) {
    int64_t column = i % padded;
    to[i] = column < width ? uint8_t(from[i / padded * width + column] ^ flip) : uint8_t(0);
  }
}

// Rows that need no padding, sixteen bytes at a time.
__global__ void flip_bytes(const uint4* from, uint4* to, int64_t n) {
  constexpr unsigned kFlip = 0x80808080U;
  for (int64_t i = first_item(); i < n; i += item_step()) {
    uint4 v = from[i];
    to[i] = make_uint4(v.x ^ kFlip, v.y ^ kFlip, v.z ^ kFlip, v.w ^ kFlip);
  }
}

__global__ void cut_windows(ConvShape s, const uint8_t* x, uint8_t* rows, int64_t padded) {
  int64_t taps = int64_t(s.kernel_y) * s.kernel_x * s.channels;
  int64_t n = int64_t(s.batch) * s.out_height * s.out_width * padded;
  for (int64_t i = first_item(); i < n; i += item_step()) {
    int64_t tap = i % padded, pixel = i / padded;
    if (tap >= taps) {
      rows[i] = 0;
      continue;
    }
    int channel = int(tap % s.channels), kx = int(tap / s.channels % s.kernel_x),
        ky = int(tap / s.channels / s.kernel_x);
    int64_t image = pixel / s.out_width / s.out_height;
    int row = int(pixel / s.out_width % s.out_height) * s.stride_y - s.top + ky * s.dilation_y;
    int column = int(pixel % s.out_width) * s.stride_x - s.left + kx * s.dilation_x;
    bool inside = row >= 0 && row < s.height && column >= 0 && column < s.width;
    uint8_t code =
        inside ? x[((image * s.height + row) * s.width + column) * s.channels + channel] : 0;
    rows[i] = code ^ kUpperBit;
  }
}

// A warp per row.
__global__ void sum_bytes(const int8_t* w, int32_t* sums, int64_t rows, int64_t width) {
  int64_t row = first_item() / 32;
  if (row >= rows) return;
  int sum = 0;
  for (int64_t i = threadIdx.x % 32; i < width; i += 32) sum += w[row * width + i];
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(~0U, sum, lanes);
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}

__device__ float scaled(int32_t sum, int32_t bias, float scale, const CodeFinish& f) {
  auto factor = float(f.x_scale * double(scale) / f.to.scale);
  return __fmul_rn(__fadd_rn(float(sum), float(bias)), factor);
}

__global__ void finish_product(CodeFinish f, const int32_t* sums, const int32_t* weight_sums,
                               const float* scales, const int32_t* bias, void* y) {
  int64_t n = f.rows * f.filters;
  for (int64_t i = first_item(); i < n; i += item_step()) {
    int64_t row = i / f.filters, filter = i % f.filters;
    int32_t sum = sums[row * f.stride + filter];
    if (weight_sums != nullptr) sum += 128 * weight_sums[filter];
    put(scaled(sum, bias[filter], scales[filter], f), f.to, y, i);
  }
}

__global__ void direct_conv(ConvShape s, CodeFinish f, const uint8_t* x, const int8_t* w,
                            const float* scales, const int32_t* bias, void* y) {
  int64_t n = int64_t(s.batch) * s.out_height * s.out_width * s.filters;
  int group_channels = s.channels / s.groups, group_filters = s.filters / s.groups;
  for (int64_t i = first_item(); i < n; i += item_step()) {
    int filter = int(i % s.filters);
    int64_t pixel = i / s.filters, image = pixel / s.out_width / s.out_height;
    int top = int(pixel / s.out_width % s.out_height) * s.stride_y - s.top;
    int left = int(pixel % s.out_width) * s.stride_x - s.left;
    int first = filter / group_filters * group_channels;
    int32_t sum = 0;
    for (int ky = 0; ky < s.kernel_y; ++ky)
      for (int kx = 0; kx < s.kernel_x; ++kx) {
        int row = top + ky * s.dilation_y, column = left + kx * s.dilation_x;
        if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
        const uint8_t* from =
            x + ((image * s.height + row) * s.width + column) * s.channels + first;
        const int8_t* weights =
            w + ((int64_t(filter) * s.kernel_y + ky) * s.kernel_x + kx) * group_channels;
        for (int channel = 0; channel < group_channels; ++channel)
          sum += int(from[channel]) * int(weights[channel]);
      }
    put(scaled(sum, bias[filter], scales[filter], f), f.to, y, i);
  }
}

unsigned blocks(int64_t n) { return blocks_for(n, kBlock, kMostBlocks); }

}  // namespace

void run_quantize(const float* x, uint8_t* y, int64_t n, float scale, float zero_point,
                  cudaStream_t stream) {
  if (n == 0) return;
  CodeTarget to;
  to.zero_point = zero_point;
  quantize<<<blocks(n), kBlock, 0, stream>>>(x, y, n, scale, to);
  check_launch("quantize");
}

void run_dequantize(const uint8_t* x, float* y, int64_t n, float scale, int zero_point,
                    cudaStream_t stream) {
  if (n == 0) return;
  dequantize<<<blocks(n), kBlock, 0, stream>>>(x, y, n, scale, zero_point);
  check_launch("dequantize");
}

void run_quantized_add(const CodeSum& sum, const uint8_t* a, const uint8_t* b, void* y, int64_t n,
                       cudaStream_t stream) {
  if (n == 0) return;
  add_codes<<<blocks(n), kBlock, 0, stream>>>(sum, a, b, y, n);
  check_launch("quantized_add");
}

void run_quantized_multiply(const CodeProduct& product, const uint8_t* a, const uint8_t* b, void* y,
                            int64_t n, cudaStream_t stream) {
  if (n == 0) return;
  multiply_codes<<<blocks(n), kBlock, 0, stream>>>(product, a, b, y, n);
  check_launch("quantized_multiply");
}

void run_quantized_lookup(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n,
                          cudaStream_t stream) {
  if (n == 0) return;
  look_up<<<blocks(n), kBlock, 0, stream>>>(x, table, y, n);
  check_launch("quantized_lookup");
}

void run_quantized_pool(const CodePool& pool, cudaStream_t stream) {
  const PoolCall& c = pool.call;
  int64_t n = int64_t(c.batch) * c.out_height * c.out_width * c.channels;
  if (n == 0) return;
  pool_codes<<<blocks(n), kBlock, 0, stream>>>(pool);
  check_launch("quantized_pool2d");
}

void run_pad_bytes(const void* from, void* to, int64_t rows, int64_t width, int64_t padded,
                   bool flip, cudaStream_t stream) {
  if (rows * padded == 0) return;
  if (flip && width == padded && rows * width % 16 == 0)
    flip_bytes<<<blocks(rows * width / 16), kBlock, 0, stream>>>(
        static_cast<const uint4*>(from), static_cast<uint4*>(to), rows * width / 16);
  else
    pad_bytes<<<blocks(rows * padded), kBlock, 0, stream>>>(static_cast<const uint8_t*>(from),
                                                            static_cast<uint8_t*>(to), rows, width,
                                                            padded, flip ? kUpperBit : uint8_t(0));
  check_launch("padding bytes");
}

void run_byte_patches(const ConvShape& shape, const uint8_t* x, int8_t* rows, int64_t padded,
                      cudaStream_t stream) {
  int64_t n = int64_t(shape.batch) * shape.out_height * shape.out_width * padded;
  if (n == 0) return;
  cut_windows<<<blocks(n), kBlock, 0, stream>>>(shape, x, reinterpret_cast<uint8_t*>(rows), padded);
  check_launch("windows of bytes");
}

void run_byte_sums(const int8_t* w, int32_t* sums, int64_t rows, int64_t width,
                   cudaStream_t stream) {
  if (rows == 0) return;
  sum_bytes<<<blocks_for(rows, kBlock / 32), kBlock, 0, stream>>>(w, sums, rows, width);
  check_launch("sums of bytes");
}

void run_finish_product(const CodeFinish& finish, const int32_t* sums, const int32_t* weight_sums,
                        const float* scales, const int32_t* bias, void* y, cudaStream_t stream) {
  if (finish.rows * finish.filters == 0) return;
  finish_product<<<blocks(finish.rows * finish.filters), kBlock, 0, stream>>>(
      finish, sums, weight_sums, scales, bias, y);
  check_launch("quantized product");
}

void run_direct_code_conv(const ConvShape& shape, const CodeFinish& finish, const uint8_t* x,
                          const int8_t* w, const float* scales, const int32_t* bias, void* y,
                          cudaStream_t stream) {
  int64_t n = int64_t(shape.batch) * shape.out_height * shape.out_width * shape.filters;
  if (n == 0) return;
  direct_conv<<<blocks(n), kBlock, 0, stream>>>(shape, finish, x, w, scales, bias, y);
  check_launch("quantized_conv2d");
}

}  // namespace stoker::cuda
