#include "engine/cuda/kernels/direct_conv.h"

#include "engine/cuda/kernels/common.cuh"
#include "engine/cuda/kernels/pooling.h"

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
    if (c.relu && sum < 0) sum = 0;
    if (c.wide)
      static_cast<float*>(c.out)[item] = sum;
    else
      static_cast<T*>(c.out)[item] = from_float<T>(sum);
  }
}

// --- stems: one channel, 3×3 ---

constexpr int kTaps = 9, kFilters = 8;  // filters of a thread
constexpr int kStopped = PoolCall::kNotPositive;

// The nine pixels under the kernel at an output pixel; padding is zero.
template <class T>
__device__ inline void load_window(const ConvShape& s, const T* x, unsigned pixel, float* window) {
  int column = int(pixel % unsigned(s.out_width)), row = int(pixel / unsigned(s.out_width));
  const T* image = x + int64_t(row / s.out_height) * s.height * s.width;
  row %= s.out_height;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    int in_row = row * s.stride_y - s.top + tap / 3 * s.dilation_y;
    int in_column = column * s.stride_x - s.left + tap % 3 * s.dilation_x;
    bool inside = in_row >= 0 && in_row < s.height && in_column >= 0 && in_column < s.width;
    window[tap] = inside ? to_float(image[in_row * s.width + in_column]) : 0;
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock) stem(const __grid_constant__ DirectConv c) {
  const ConvShape& s = c.shape;
  unsigned groups = unsigned(s.filters) / kFilters, threads = gridDim.x * kBlock;
  unsigned thread = blockIdx.x * kBlock + threadIdx.x;
  int filter = int(thread % groups) * kFilters;
  if (thread >= threads / groups * groups) return;  // a whole number of pixels at a time
  float taps[kTaps][kFilters], bias[kFilters] = {};
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
    for (int f = 0; f < kFilters; ++f)
      taps[tap][f] = to_float(static_cast<const T*>(c.w)[tap * s.filters + filter + f]);
  if (c.bias != nullptr)
#pragma unroll
    for (int f = 0; f < kFilters; ++f)
      bias[f] = to_float(static_cast<const T*>(c.bias)[filter + f]);
  unsigned pixels = unsigned(s.batch) * unsigned(s.out_height) * unsigned(s.out_width);
  for (unsigned pixel = thread / groups; pixel < pixels; pixel += threads / groups) {
    float window[kTaps], sums[kFilters];
    load_window(s, static_cast<const T*>(c.x), pixel, window);
#pragma unroll
    for (int f = 0; f < kFilters; ++f) {
      sums[f] = bias[f];
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) sums[f] += window[tap] * taps[tap][f];
      if (c.relu && sums[f] < 0) sums[f] = 0;
    }
    int64_t at = int64_t(pixel) * s.filters + filter;
    if (c.wide)
#pragma unroll
      for (int f = 0; f < kFilters; ++f) static_cast<float*>(c.out)[at + f] = sums[f];
    else if constexpr (sizeof(T) == 2)
      store_floats<kFilters>(sums, static_cast<T*>(c.out) + at);
    else
#pragma unroll
      for (int f = 0; f < kFilters; f += 4)
        store_floats<4>(sums + f, static_cast<T*>(c.out) + at + f);
  }
}

// The sixteen pixels under a pooled pixel's four kernels.
template <class T>
__device__ inline void load_pooled_window(const ConvShape& s, const T* x, unsigned pixel,
                                          float (*window)[4]) {
  unsigned wide = unsigned(s.out_width) / 2, high = unsigned(s.out_height) / 2;
  unsigned column = pixel % wide, row = pixel / wide;
  const T* image = x + int64_t(row / high) * s.height * s.width;
  const T* corner = image + (row % high) * 2 * unsigned(s.width) + column * 2;
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int q = 0; q < 4; ++q) window[r][q] = to_float(corner[r * s.width + q]);
}

template <class T>
__global__ void __launch_bounds__(kBlock) pooled_stem(const __grid_constant__ DirectConv c) {
  const ConvShape& s = c.shape;
  unsigned groups = unsigned(s.filters) / kFilters, threads = gridDim.x * kBlock;
  unsigned thread = blockIdx.x * kBlock + threadIdx.x;
  int filter = int(thread % groups) * kFilters;
  if (thread >= threads / groups * groups) return;
  float taps[kTaps][kFilters], bias[kFilters] = {};
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
    for (int f = 0; f < kFilters; ++f)
      taps[tap][f] = to_float(static_cast<const T*>(c.w)[tap * s.filters + filter + f]);
  if (c.bias != nullptr)
#pragma unroll
    for (int f = 0; f < kFilters; ++f)
      bias[f] = to_float(static_cast<const T*>(c.bias)[filter + f]);
  unsigned pixels = unsigned(s.batch) * unsigned(s.out_height / 2) * unsigned(s.out_width / 2);
  for (unsigned pixel = thread / groups; pixel < pixels; pixel += threads / groups) {
    float window[4][4], best[kFilters];
    Pack<uint8_t, kFilters> places;
    load_pooled_window(s, static_cast<const T*>(c.x), pixel, window);
#pragma unroll
    for (int f = 0; f < kFilters; ++f) {
      int place = 0;
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        float sum = bias[f];
#pragma unroll
        for (int tap = 0; tap < kTaps; ++tap)
          sum += window[q / 2 + tap / 3][q % 2 + tap % 3] * taps[tap][f];
        // As two ops would: what is compared has been rounded.
        sum = to_float(from_float<T>(sum < 0 ? 0 : sum));
        if (q == 0 || sum > best[f]) {
          best[f] = sum;
          place = q;
        }
      }
      places.at[f] = uint8_t(best[f] > 0 ? place : place | kStopped);
    }
    int64_t at = int64_t(pixel) * s.filters + filter;
    if constexpr (sizeof(T) == 2)
      store_floats<kFilters>(best, static_cast<T*>(c.out) + at);
    else
#pragma unroll
      for (int f = 0; f < kFilters; f += 4)
        store_floats<4>(best + f, static_cast<T*>(c.out) + at + f);
    *reinterpret_cast<Pack<uint8_t, kFilters>*>(c.places + at) = places;
  }
}

// Filters of a block come in slabs of 64: eight threads side by side, 32 pixels at a time. Partials
// of a block: [ten, filters], the tenth the sum of dy.
template <class T, bool Pooled>
__global__ void __launch_bounds__(kBlock) stem_weight_grad(const __grid_constant__ DirectConv c) {
  constexpr int kAcross = 8, kRows = kBlock / kAcross, kSums = kTaps + 1;
  const ConvShape& s = c.shape;
  int filter = (int(blockIdx.y) * kAcross + int(threadIdx.x) % kAcross) * kFilters;
  bool active = filter < s.filters;
  float sums[kSums][kFilters] = {};
  auto pixels = unsigned(s.batch) * unsigned(s.out_height) * unsigned(s.out_width);
  if (Pooled) pixels = unsigned(s.batch) * unsigned(s.out_height / 2) * unsigned(s.out_width / 2);
  if (active)
    for (unsigned pixel = blockIdx.x * kRows + threadIdx.x / kAcross; pixel < pixels;
         pixel += gridDim.x * kRows) {
      float slopes[kFilters];
      int64_t at = int64_t(pixel) * s.filters + filter;
      const T* dy = static_cast<const T*>(c.dy) + at;
      if constexpr (sizeof(T) == 2)
        load_floats<kFilters>(dy, slopes);
      else
#pragma unroll
        for (int f = 0; f < kFilters; f += 4) load_floats<4>(dy + f, slopes + f);
      if constexpr (Pooled) {
        Pack<uint8_t, kFilters> places =
            *reinterpret_cast<const Pack<uint8_t, kFilters>*>(c.places + at);
        float window[4][4];
        load_pooled_window(s, static_cast<const T*>(c.x), pixel, window);
#pragma unroll
        for (int f = 0; f < kFilters; ++f) {
          if (places.at[f] >= kStopped) slopes[f] = 0;
          sums[kTaps][f] += slopes[f];
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            float slope = places.at[f] == q ? slopes[f] : 0;
#pragma unroll
            for (int tap = 0; tap < kTaps; ++tap)
              sums[tap][f] += window[q / 2 + tap / 3][q % 2 + tap % 3] * slope;
          }
        }
      } else {
        float window[kTaps];
        load_window(s, static_cast<const T*>(c.x), pixel, window);
#pragma unroll
        for (int f = 0; f < kFilters; ++f) {
#pragma unroll
          for (int tap = 0; tap < kTaps; ++tap) sums[tap][f] += window[tap] * slopes[f];
          sums[kTaps][f] += slopes[f];
        }
      }
    }
  __shared__ float parts[kBlock / 32][kAcross * kFilters];
  int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
#pragma unroll
  for (int k = 0; k < kSums; ++k) {
#pragma unroll
    for (int f = 0; f < kFilters; ++f) {
      float value = sums[k][f];
      value += __shfl_xor_sync(~0U, value, 16);
      value += __shfl_xor_sync(~0U, value, 8);
      if (lane < kAcross) parts[warp][lane * kFilters + f] = value;
    }
    __syncthreads();
    int item = int(threadIdx.x), to = int(blockIdx.y) * kAcross * kFilters + item;
    if (item < kAcross * kFilters && to < s.filters) {
      float total = 0;
#pragma unroll
      for (int w = 0; w < kBlock / 32; ++w) total += parts[w][item];
      c.partials[(int64_t(blockIdx.x) * kSums + k) * s.filters + to] = total;
    }
    __syncthreads();
  }
}

// A warp an output.
template <class T>
__global__ void add_stem_partials(const __grid_constant__ DirectConv c, int blocks) {
  int filters = c.shape.filters, at = int(blockIdx.x) * (kBlock / 32) + int(threadIdx.x) / 32;
  if (at >= (kTaps + 1) * filters) return;
  float total = 0;
  for (int block = int(threadIdx.x) % 32; block < blocks; block += 32)
    total += c.partials[int64_t(block) * (kTaps + 1) * filters + at];
  for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(~0U, total, offset);
  if (threadIdx.x % 32 != 0) return;
  if (at < kTaps * filters)
    static_cast<T*>(c.out)[at] = from_float<T>(total);
  else if (c.bias_out != nullptr)
    static_cast<T*>(c.bias_out)[at - kTaps * filters] = from_float<T>(total);
}

int stem_blocks(const ConvShape& s) {
  int64_t pixels = int64_t(s.batch) * s.out_height * s.out_width;
  return int(std::clamp<int64_t>(pixels / (kBlock / 8 * 4), 1, 264));
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

template <class T>
__global__ void add_partials(const float* partials, int64_t count, int splits, T* out) {
  int64_t at = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= count) return;
  float total = 0;
  for (int split = 0; split < splits; ++split) total += partials[split * count + at];
  out[at] = from_float<T>(total);
}

// --- folding ---

// A thread writes one folded pixel: four pixels of C channels each, then zeros.
template <class T, int C>
__global__ void __launch_bounds__(kBlock)
    fold_image(const ConvShape s, const ConvShape f, const T* x, T* folded) {
  constexpr int kFolded = (4 * C + 7) / 8 * 8;
  unsigned total = unsigned(f.batch) * unsigned(f.height) * unsigned(f.width);
  for (unsigned pixel = blockIdx.x * kBlock + threadIdx.x; pixel < total;
       pixel += gridDim.x * kBlock) {
    int column = 2 * int(pixel % unsigned(f.width)) - s.left;
    unsigned above = pixel / unsigned(f.width);
    int row = 2 * int(above % unsigned(f.height)) - s.top;
    const T* image = x + int64_t(above / unsigned(f.height)) * s.height * s.width * C;
    Pack<T, 8> values[kFolded / 8];
#pragma unroll
    for (int i = 0; i < kFolded; ++i) {
      int r = row + i / C / 2, q = column + i / C % 2;
      bool inside = i < 4 * C && r >= 0 && r < s.height && q >= 0 && q < s.width;
      T value = from_float<T>(0);
      if (inside) value = image[(int64_t(r) * s.width + q) * C + i % C];
      values[i / 8].at[i % 8] = value;
    }
#pragma unroll
    for (int part = 0; part < kFolded / 8; ++part)
      reinterpret_cast<Pack<T, 8>*>(folded + int64_t(pixel) * kFolded)[part] = values[part];
  }
}

// One thread a number of the folded kernel.
template <class T, bool Back>
__global__ void fold_kernel(const ConvShape s, const ConvShape f, const T* from, T* to) {
  int item = int(blockIdx.x) * kBlock + int(threadIdx.x);
  if (item >= f.filters * f.kernel_y * f.kernel_x * f.channels) return;
  int place = item % f.channels, which = place / s.channels, channel = place % s.channels;
  int rest = item / f.channels;
  int kx = 2 * (rest % f.kernel_x) + which % 2;
  rest /= f.kernel_x;
  int ky = 2 * (rest % f.kernel_y) + which / 2, filter = rest / f.kernel_y;
  bool exists = which < 4 && ky < s.kernel_y && kx < s.kernel_x;
  int64_t at = (int64_t(ky * s.kernel_x + kx) * s.channels + channel) * s.filters + filter;
  if constexpr (Back) {
    if (exists) to[at] = from[item];
  } else {
    to[item] = exists ? from[at] : from_float<T>(0);
  }
}

}  // namespace

bool can_fold(const ConvShape& s, DType dtype) {
  return dtype != DType::float32 && s.groups == 1 && s.channels <= 4 && s.channels > 1 &&
         s.stride_y == 2 && s.stride_x == 2 && s.dilation_y == 1 && s.dilation_x == 1 &&
         s.kernel_y > 1 && s.kernel_x > 1 && s.filters % 8 == 0;
}

ConvShape folded_shape(const ConvShape& shape) {
  ConvShape f = shape;
  f.kernel_y = (shape.kernel_y + 1) / 2;
  f.kernel_x = (shape.kernel_x + 1) / 2;
  f.height = shape.out_height + f.kernel_y - 1;
  f.width = shape.out_width + f.kernel_x - 1;
  f.channels = (4 * shape.channels + 7) / 8 * 8;
  f.stride_y = f.stride_x = 1;
  f.top = f.bottom = f.left = f.right = 0;
  return f;
}

void run_fold_image(const ConvShape& shape, DType dtype, const void* x, void* folded,
                    cudaStream_t stream) {
  ConvShape f = folded_shape(shape);
  int64_t pixels = int64_t(f.batch) * f.height * f.width;
  visit_float(dtype, [&]<class T>(T) {
    auto kernel = shape.channels == 2   ? fold_image<T, 2>
                  : shape.channels == 3 ? fold_image<T, 3>
                                        : fold_image<T, 4>;
    kernel<<<blocks_for(pixels, kBlock), kBlock, 0, stream>>>(shape, f, static_cast<const T*>(x),
                                                              static_cast<T*>(folded));
  });
  check_launch("fold_image");
}

void run_fold_kernel(const ConvShape& shape, DType dtype, const void* w, void* folded,
                     cudaStream_t stream) {
  ConvShape f = folded_shape(shape);
  int64_t items = int64_t(f.filters) * f.kernel_y * f.kernel_x * f.channels;
  visit_float(dtype, [&]<class T>(T) {
    fold_kernel<T, false><<<blocks_for(items, kBlock), kBlock, 0, stream>>>(
        shape, f, static_cast<const T*>(w), static_cast<T*>(folded));
  });
  check_launch("fold_kernel");
}

void run_unfold_kernel(const ConvShape& shape, DType dtype, const void* folded, void* w,
                       cudaStream_t stream) {
  ConvShape f = folded_shape(shape);
  int64_t items = int64_t(f.filters) * f.kernel_y * f.kernel_x * f.channels;
  visit_float(dtype, [&]<class T>(T) {
    fold_kernel<T, true><<<blocks_for(items, kBlock), kBlock, 0, stream>>>(
        shape, f, static_cast<const T*>(folded), static_cast<T*>(w));
  });
  check_launch("unfold_kernel");
}

void run_direct_conv(const DirectConv& call, cudaStream_t stream) {
  const ConvShape& s = call.shape;
  int64_t total = int64_t(s.batch) * s.out_height * s.out_width * s.filters;
  if (total == 0) return;
  if (is_stem(s, call.dtype)) {
    int64_t threads = total / kFilters;
    if (call.pooled) {
      visit_float(call.dtype, [&]<class T>(T) {
        pooled_stem<T><<<blocks_for(threads / 4, kBlock, 132 * 8), kBlock, 0, stream>>>(call);
      });
      return check_launch("pooled_stem");
    }
    visit_float(call.dtype, [&]<class T>(T) {
      stem<T><<<blocks_for(threads, kBlock * 2, 132 * 8), kBlock, 0, stream>>>(call);
    });
    return check_launch("stem");
  }
  visit_float(call.dtype, [&]<class T>(T) {
    conv<T><<<blocks_for(total, kBlock, 1 << 20), kBlock, 0, stream>>>(call);
  });
  check_launch("direct conv2d");
}

void run_direct_conv_input_grad(const DirectConv& call, cudaStream_t stream) {
  const ConvShape& s = call.shape;
  int64_t total = int64_t(s.batch) * s.height * s.width * s.channels;
  if (total == 0) return;
  visit_float(call.dtype, [&]<class T>(T) {
    conv_input_grad<T><<<blocks_for(total, kBlock, 1 << 20), kBlock, 0, stream>>>(call);
  });
  check_launch("direct conv2d_input_grad");
}

namespace {

int direct_conv_splits(const ConvShape& s) {
  int64_t blocks =
      int64_t(s.kernel_y) * s.kernel_x * (s.channels / s.groups) * ((s.filters + 31) / 32);
  int64_t pixels = int64_t(s.batch) * s.out_height * s.out_width;
  return int(std::clamp<int64_t>(std::min(1056 / blocks, pixels / 128), 1, 256));
}

}  // namespace

bool is_stem(const ConvShape& s, DType) {
  return s.channels == 1 && s.groups == 1 && s.kernel_y == 3 && s.kernel_x == 3 &&
         s.filters % kFilters == 0 && s.filters / kFilters <= kBlock &&
         int64_t(s.batch) * s.out_height * s.out_width < int64_t(1) << 31;
}

bool is_pooled_stem(const ConvShape& s, DType dtype) {
  return is_stem(s, dtype) && s.stride_y == 1 && s.stride_x == 1 && s.dilation_y == 1 &&
         s.dilation_x == 1 && s.top + s.bottom + s.left + s.right == 0 && s.out_height > 1 &&
         s.out_width > 1;
}

size_t direct_conv_partial_bytes(const ConvShape& s, DType dtype) {
  if (is_stem(s, dtype))
    return size_t(stem_blocks(s)) * (kTaps + 1) * size_t(s.filters) * sizeof(float);
  size_t weights =
      size_t(s.kernel_y) * size_t(s.kernel_x) * size_t(s.channels / s.groups) * size_t(s.filters);
  return size_t(direct_conv_splits(s)) * weights * sizeof(float);
}

void run_direct_conv_weight_grad(const DirectConv& call, cudaStream_t stream) {
  const ConvShape& s = call.shape;
  if (is_stem(s, call.dtype)) {
    int blocks = stem_blocks(s);
    visit_float(call.dtype, [&]<class T>(T) {
      dim3 grid(unsigned(blocks), blocks_for(s.filters, 64));
      if (call.pooled)
        stem_weight_grad<T, true><<<grid, kBlock, 0, stream>>>(call);
      else
        stem_weight_grad<T, false><<<grid, kBlock, 0, stream>>>(call);
      add_stem_partials<T>
          <<<blocks_for((kTaps + 1) * s.filters, kBlock / 32), kBlock, 0, stream>>>(call, blocks);
    });
    return check_launch("stem_weight_grad");
  }
  int places = s.kernel_y * s.kernel_x * (s.channels / s.groups), splits = direct_conv_splits(s);
  dim3 grid(unsigned(places), blocks_for(s.filters, 32), unsigned(splits));
  int64_t weights = int64_t(places) * s.filters;
  visit_float(call.dtype, [&]<class T>(T) {
    conv_weight_grad<T><<<grid, kBlock, 0, stream>>>(call);
    add_partials<<<blocks_for(weights, kBlock), kBlock, 0, stream>>>(call.partials, weights, splits,
                                                                     static_cast<T*>(call.out));
  });
  check_launch("direct conv2d_weight_grad");
}

}  // namespace stoker::cuda
