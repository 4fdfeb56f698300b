#include "engine/cuda/kernels/stem.h"

#include "engine/cuda/kernels/pooling.h"
#include "engine/cuda/kernels/update_math.cuh"

namespace stoker::cuda {

namespace {

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

// A thread's filters of every tap, and their biases where there are any.
template <class T>
__device__ inline void load_taps(const DirectConv& c, int filter, float (*taps)[kFilters],
                                 float* bias) {
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
    for (int f = 0; f < kFilters; ++f)
      taps[tap][f] = to_float(static_cast<const T*>(c.w)[tap * c.shape.filters + filter + f]);
  if (c.bias != nullptr)
#pragma unroll
    for (int f = 0; f < kFilters; ++f)
      bias[f] = to_float(static_cast<const T*>(c.bias)[filter + f]);
}

template <class T>
__device__ inline void store_filters(const float* from, T* to) {
#pragma unroll
  for (int f = 0; f < kFilters; f += kLanes<T>) store_floats<kLanes<T>>(from + f, to + f);
}

template <class T>
__global__ void __launch_bounds__(kBlock) stem(const __grid_constant__ DirectConv c) {
  const ConvShape& s = c.shape;
  unsigned groups = unsigned(s.filters) / kFilters, threads = gridDim.x * kBlock;
  unsigned thread = blockIdx.x * kBlock + threadIdx.x;
  int filter = int(thread % groups) * kFilters;
  if (thread >= threads / groups * groups) return;  // a whole number of pixels at a time
  float taps[kTaps][kFilters], bias[kFilters] = {};
  load_taps<T>(c, filter, taps, bias);
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
    else
      store_filters(sums, static_cast<T*>(c.out) + at);
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
  load_taps<T>(c, filter, taps, bias);
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
        if (q == 0 || sum > best[f]) place = q;
        best[f] = q == 0 ? sum : max_or_nan(sum, best[f]);
      }
      places.at[f] = uint8_t(best[f] > 0 ? place : place | kStopped);
    }
    int64_t at = int64_t(pixel) * s.filters + filter;
    store_filters(best, static_cast<T*>(c.out) + at);
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
#pragma unroll
      for (int f = 0; f < kFilters; f += kLanes<T>) load_floats<kLanes<T>>(dy + f, slopes + f);
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
__global__ void add_stem_partials(const __grid_constant__ DirectConv c,
                                  const __grid_constant__ FewUpdates updates, int blocks) {
  int filters = c.shape.filters, at = int(blockIdx.x) * (kBlock / 32) + int(threadIdx.x) / 32;
  if (at >= (kTaps + 1) * filters) return;
  const bool is_bias = at >= kTaps * filters, counts = !is_bias || c.has_bias;
  const int element = is_bias ? at - kTaps * filters : at;
  ElementUpdate update;
  if (threadIdx.x % 32 == 0 && counts) update.begin(updates, is_bias ? 1 : 0, element);
  float total = 0;
  for (int block = int(threadIdx.x) % 32; block < blocks; block += 32)
    total += c.partials[int64_t(block) * (kTaps + 1) * filters + at];
  for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(~0U, total, offset);
  if (threadIdx.x % 32 != 0 || !counts) return;
  update.end(updates, is_bias ? 1 : 0, element, total,
             static_cast<T*>(is_bias ? c.bias_out : c.out));
}

int stem_blocks(const ConvShape& s) {
  int64_t pixels = int64_t(s.batch) * s.out_height * s.out_width;
  return int(std::clamp<int64_t>(pixels / (kBlock / 8 * 4), 1, 264));
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

void run_stem(const DirectConv& call, cudaStream_t stream) {
  const ConvShape& s = call.shape;
  int64_t threads = int64_t(s.batch) * s.out_height * s.out_width * s.filters / kFilters;
  if (call.pooled) {
    visit_float(call.dtype, [&]<class T>(T) {
      pooled_stem<T><<<blocks_for(threads / 4, kBlock, 132 * 8), kBlock, 0, stream>>>(call);
    });
    return check_launch("pooled_stem");
  }
  visit_float(call.dtype, [&]<class T>(T) {
    stem<T><<<blocks_for(threads, kBlock * 2, 132 * 8), kBlock, 0, stream>>>(call);
  });
  check_launch("stem");
}

size_t stem_partial_bytes(const ConvShape& s) {
  return size_t(stem_blocks(s)) * (kTaps + 1) * size_t(s.filters) * sizeof(float);
}

void run_stem_weight_grad(const DirectConv& call, const FewUpdates& updates, cudaStream_t stream) {
  const ConvShape& s = call.shape;
  int blocks = stem_blocks(s);
  visit_float(call.dtype, [&]<class T>(T) {
    dim3 grid(unsigned(blocks), blocks_for(s.filters, 64));
    if (call.pooled)
      stem_weight_grad<T, true><<<grid, kBlock, 0, stream>>>(call);
    else
      stem_weight_grad<T, false><<<grid, kBlock, 0, stream>>>(call);
    add_stem_partials<T><<<blocks_for((kTaps + 1) * s.filters, kBlock / 32), kBlock, 0, stream>>>(
        call, updates, blocks);
  });
  check_launch("stem_weight_grad");
}

}  // namespace stoker::cuda
