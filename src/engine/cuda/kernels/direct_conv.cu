#include "engine/cuda/kernels/direct_conv.h"

#include "engine/cuda/kernels/common.cuh"
#include "engine/cuda/kernels/depthwise.h"
#include "engine/cuda/kernels/rgb_stem.h"
#include "engine/cuda/kernels/stem.h"
#include "engine/cuda/kernels/tile_conv.h"

namespace stoker::cuda {

namespace {

// A thread makes one number of y; neighbours share a pixel and read w side by side.
template <class T>
__global__ void __launch_bounds__(kBlock) conv(const __grid_constant__ DirectConv c) {
  const ConvShape& s = c.shape;
  const T *x = static_cast<const T*>(c.x), *w = static_cast<const T*>(c.w);
  int group_channels = s.channels / s.groups, group_filters = s.filters / s.groups;
  int64_t total = int64_t(s.batch) * s.out_height * s.out_width * s.filters;
  for (int64_t item = int64_t(blockIdx.x) * kBlock + threadIdx.x; item < total;
       item += int64_t(gridDim.x) * kBlock) {
    int filter = int(item % s.filters);
    int64_t pixel = item / s.filters;
    int column = int(pixel % s.out_width), row = int(pixel / s.out_width % s.out_height);
    int b = int(pixel / s.out_width / s.out_height);
    int channel0 = filter / group_filters * group_channels;
    float sum = 0;
    for (int ky = 0; ky < s.kernel_y; ++ky) {
      int in_row = row * s.stride_y - s.top + ky * s.dilation_y;
      if (in_row < 0 || in_row >= s.height) continue;
      for (int kx = 0; kx < s.kernel_x; ++kx) {
        int in_column = column * s.stride_x - s.left + kx * s.dilation_x;
        if (in_column < 0 || in_column >= s.width) continue;
        const T* from =
            x + ((int64_t(b) * s.height + in_row) * s.width + in_column) * s.channels + channel0;
        const T* weight = w + int64_t(ky * s.kernel_x + kx) * group_channels * s.filters + filter;
        for (int channel = 0; channel < group_channels; ++channel)
          sum += to_float(from[channel]) * to_float(weight[int64_t(channel) * s.filters]);
      }
    }
    if (c.bias != nullptr) sum += to_float(static_cast<const T*>(c.bias)[filter]);
    if (c.relu) sum = sum < 0 ? 0 : sum > c.ceiling ? c.ceiling : sum;
    if (c.wide)
      static_cast<float*>(c.out)[item] = sum;
    else
      static_cast<T*>(c.out)[item] = from_float<T>(sum);
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock) conv_input_grad(const __grid_constant__ DirectConv c) {
  const ConvShape& s = c.shape;
  const T *dy = static_cast<const T*>(c.dy), *w = static_cast<const T*>(c.w);
  int group_channels = s.channels / s.groups, group_filters = s.filters / s.groups;
  int64_t total = int64_t(s.batch) * s.height * s.width * s.channels;
  for (int64_t item = int64_t(blockIdx.x) * kBlock + threadIdx.x; item < total;
       item += int64_t(gridDim.x) * kBlock) {
    int channel = int(item % s.channels);
    int64_t pixel = item / s.channels;
    int column = int(pixel % s.width), row = int(pixel / s.width % s.height);
    int b = int(pixel / s.width / s.height);
    int filter0 = channel / group_channels * group_filters;
    float sum = 0;
    for (int ky = 0; ky < s.kernel_y; ++ky) {
      int above = row + s.top - ky * s.dilation_y;
      if (above < 0 || above % s.stride_y != 0 || above / s.stride_y >= s.out_height) continue;
      for (int kx = 0; kx < s.kernel_x; ++kx) {
        int before = column + s.left - kx * s.dilation_x;
        if (before < 0 || before % s.stride_x != 0 || before / s.stride_x >= s.out_width) continue;
        const T* from =
            dy +
            ((int64_t(b) * s.out_height + above / s.stride_y) * s.out_width + before / s.stride_x) *
                s.filters +
            filter0;
        const T* weight =
            w +
            (int64_t(ky * s.kernel_x + kx) * group_channels + channel % group_channels) *
                s.filters +
            filter0;
        for (int filter = 0; filter < group_filters; ++filter)
          sum += to_float(from[filter]) * to_float(weight[filter]);
      }
    }
    static_cast<T*>(c.out)[item] = from_float<T>(sum);
  }
}

// 32 filters by 8 parts of the pixels of this split, for one (ky, kx, channel).
template <class T>
__global__ void __launch_bounds__(kBlock) conv_weight_grad(const __grid_constant__ DirectConv c) {
  const ConvShape& s = c.shape;
  __shared__ float parts[kBlock / 32][32];
  const T *x = static_cast<const T*>(c.x), *dy = static_cast<const T*>(c.dy);
  int group_channels = s.channels / s.groups, group_filters = s.filters / s.groups;
  int lane = int(threadIdx.x) % 32, part = int(threadIdx.x) / 32;
  int filter = int(blockIdx.y) * 32 + lane;
  int place = int(blockIdx.x), channel = place % group_channels;
  int kx = place / group_channels % s.kernel_x, ky = place / group_channels / s.kernel_x;
  int64_t pixels = int64_t(s.batch) * s.out_height * s.out_width;
  float sum = 0;
  if (filter < s.filters) {
    int from_channel = filter / group_filters * group_channels + channel;
    for (int64_t pixel = int64_t(blockIdx.z) * (kBlock / 32) + part; pixel < pixels;
         pixel += int64_t(gridDim.z) * (kBlock / 32)) {
      int column = int(pixel % s.out_width), row = int(pixel / s.out_width % s.out_height);
      int b = int(pixel / s.out_width / s.out_height);
      int in_row = row * s.stride_y - s.top + ky * s.dilation_y;
      int in_column = column * s.stride_x - s.left + kx * s.dilation_x;
      if (in_row < 0 || in_row >= s.height || in_column < 0 || in_column >= s.width) continue;
      sum += to_float(x[((int64_t(b) * s.height + in_row) * s.width + in_column) * s.channels +
                        from_channel]) *
             to_float(dy[pixel * s.filters + filter]);
    }
  }
  parts[part][lane] = sum;
  __syncthreads();
  if (part != 0 || filter >= s.filters) return;
  float total = 0;
  for (int i = 0; i < kBlock / 32; ++i) total += parts[i][lane];
  int64_t weights = int64_t(gridDim.x) * s.filters;
  c.partials[blockIdx.z * weights + int64_t(place) * s.filters + filter] = total;
}

// 32 numbers by 8 parts of the splits, which are added in their order.
template <class T>
__global__ void __launch_bounds__(kBlock)
    add_partials(const float* partials, int64_t count, int splits, T* out) {
  __shared__ float parts[kBlock / 32][32];
  const int lane = int(threadIdx.x) % 32, part = int(threadIdx.x) / 32;
  const int64_t at = int64_t(blockIdx.x) * 32 + lane;
  float sum = 0;
  if (at < count)
#pragma unroll 8
    for (int split = part; split < splits; split += kBlock / 32)
      sum += partials[split * count + at];
  parts[part][lane] = sum;
  __syncthreads();
  if (part != 0 || at >= count) return;
  float total = 0;
  for (int other = 0; other < kBlock / 32; ++other) total += parts[other][lane];
  out[at] = from_float<T>(total);
}

}  // namespace

void run_direct_conv(const DirectConv& call, cudaStream_t stream) {
  const ConvShape& s = call.shape;
  int64_t total = int64_t(s.batch) * s.out_height * s.out_width * s.filters;
  if (total == 0) return;
  if (is_stem(s, call.dtype)) return run_stem(call, stream);
  if (is_depthwise(s)) return run_depthwise(call, stream);
  if (is_rgb_stem(s, call.dtype)) return run_rgb_stem(call, stream);
  if (is_tile_conv(s, call.dtype)) return run_tile_conv(call, stream);
  visit_float(call.dtype, [&]<class T>(T) {
    conv<T><<<blocks_for(total, kBlock, 1 << 20), kBlock, 0, stream>>>(call);
  });
  check_launch("direct conv2d");
}

void run_direct_conv_input_grad(const DirectConv& call, cudaStream_t stream) {
  const ConvShape& s = call.shape;
  int64_t total = int64_t(s.batch) * s.height * s.width * s.channels;
  if (total == 0) return;
  if (is_depthwise(s)) return run_depthwise_input_grad(call, stream);
  if (is_tile_conv_input_grad(s, call.dtype)) return run_tile_conv_input_grad(call, stream);
  visit_float(call.dtype, [&]<class T>(T) {
    conv_input_grad<T><<<blocks_for(total, kBlock, 1 << 20), kBlock, 0, stream>>>(call);
  });
  check_launch("direct conv2d_input_grad");
}

namespace {

int direct_conv_splits(const ConvShape& s, DType dtype) {
  if (is_rgb_stem(s, dtype)) return rgb_stem_splits(s);
  if (is_tile_conv(s, dtype)) return tile_conv_splits(s);
  int64_t blocks =
      int64_t(s.kernel_y) * s.kernel_x * (s.channels / s.groups) * ((s.filters + 31) / 32);
  int64_t pixels = int64_t(s.batch) * s.out_height * s.out_width;
  return int(std::clamp<int64_t>(std::min(1056 / blocks, pixels / 128), 1, 256));
}

}  // namespace

size_t direct_conv_partial_bytes(const ConvShape& s, DType dtype) {
  if (is_stem(s, dtype)) return stem_partial_bytes(s);
  if (is_depthwise(s)) return depthwise_partial_bytes(s);
  size_t weights =
      size_t(s.kernel_y) * size_t(s.kernel_x) * size_t(s.channels / s.groups) * size_t(s.filters);
  return size_t(direct_conv_splits(s, dtype)) * weights * sizeof(float);
}

void run_direct_conv_weight_grad(const DirectConv& call, cudaStream_t stream) {
  const ConvShape& s = call.shape;
  if (is_stem(s, call.dtype)) return run_stem_weight_grad(call, {}, stream);
  if (is_depthwise(s)) return run_depthwise_weight_grad(call, stream);
  int places = s.kernel_y * s.kernel_x * (s.channels / s.groups);
  int splits = direct_conv_splits(s, call.dtype);
  dim3 grid(unsigned(places), blocks_for(s.filters, 32), unsigned(splits));
  int64_t weights = int64_t(places) * s.filters;
  visit_float(call.dtype, [&]<class T>(T) {
    if (is_rgb_stem(s, call.dtype))
      run_rgb_stem_partials(call, stream);
    else if (is_tile_conv(s, call.dtype))
      run_tile_conv_partials(call, stream);
    else
      conv_weight_grad<T><<<grid, kBlock, 0, stream>>>(call);
    add_partials<<<blocks_for(weights, 32), kBlock, 0, stream>>>(call.partials, weights, splits,
                                                                 static_cast<T*>(call.out));
  });
  check_launch("direct conv2d_weight_grad");
}

}  // namespace stoker::cuda
