#include "engine/cuda/kernels/tall_product.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

constexpr int kMostFilters = 8, kRowsAtOnce = 4;

// `lanes` threads, a power of two, have a row's sixteen bytes each; all of a warp's rows lie side by
// side.
struct TallPlace {
  int lanes, lane, channel;
  int64_t row, step;  // the first of this thread's rows, and how far apart they are
  bool inside;

  template <class T>
  __device__ static TallPlace of(const TallProduct& c) {
    TallPlace at;
    at.lanes = 1;
    while (at.lanes * kLanes<T> < c.channels) at.lanes *= 2;
    at.lane = int(threadIdx.x) % at.lanes;
    at.channel = at.lane * kLanes<T>;
    at.inside = at.channel < c.channels;
    const int rows = kBlock / at.lanes;
    at.row = int64_t(blockIdx.x) * rows + int(threadIdx.x) / at.lanes;
    at.step = int64_t(gridDim.x) * rows;
    return at;
  }
};

// A thread's weights: [its channels][filters], zeros where there are none.
template <class T, int N>
__device__ inline void load_weights(const TallProduct& c, const TallPlace& at,
                                    float (&w)[kLanes<T>][N]) {
#pragma unroll
  for (int i = 0; i < kLanes<T>; ++i)
#pragma unroll
    for (int f = 0; f < N; ++f)
      w[i][f] = at.inside && f < c.filters
                    ? to_float(static_cast<const T*>(c.w)[(at.channel + i) * c.filters + f])
                    : 0;
}

template <class T, int N>
__device__ inline void load_row(const T* matrix, int64_t row, int filters, bool there,
                                float (&to)[N]) {
#pragma unroll
  for (int f = 0; f < N; ++f)
    to[f] = there && f < filters ? to_float(matrix[row * filters + f]) : 0;
}

template <class T, int N>
__global__ void __launch_bounds__(kBlock) tall_product(const __grid_constant__ TallProduct c) {
  constexpr int kWide = kLanes<T>;
  const TallPlace at = TallPlace::of<T>(c);
  const T* x = static_cast<const T*>(c.x);
  float w[kWide][N], bias[N];
  load_weights<T, N>(c, at, w);
  load_row<T, N>(static_cast<const T*>(c.bias), 0, c.filters, c.bias != nullptr, bias);
  // All threads of a warp go on to the end: they exchange their sums.
  for (int64_t first = at.row - at.row % (32 / min(at.lanes, 32)); first < c.rows;
       first += kRowsAtOnce * at.step) {
    RawPack<T, kWide> loaded[kRowsAtOnce];
    const int64_t mine = at.row % (32 / min(at.lanes, 32)) + first;
#pragma unroll
    for (int u = 0; u < kRowsAtOnce; ++u) {
      loaded[u] = RawPack<T, kWide>{};
      if (int64_t row = mine + u * at.step; row < c.rows && at.inside)
        loaded[u] = load_pack<T, kWide>(x + row * c.channels + at.channel);
    }
#pragma unroll
    for (int u = 0; u < kRowsAtOnce; ++u) {
      float sums[N] = {}, numbers[kWide];
      to_floats<T, kWide>(loaded[u], numbers);
#pragma unroll
      for (int i = 0; i < kWide; ++i)
#pragma unroll
        for (int f = 0; f < N; ++f) sums[f] = fmaf(numbers[i], w[i][f], sums[f]);
#pragma unroll
      for (int f = 0; f < N; ++f)
        for (int offset = at.lanes / 2; offset > 0; offset /= 2)
          sums[f] += __shfl_xor_sync(~0U, sums[f], offset);
      const int64_t row = mine + u * at.step;
      if (at.lane != 0 || row >= c.rows) continue;
#pragma unroll
      for (int f = 0; f < N; ++f) {
        if (f >= c.filters) break;
        float result = sums[f] + bias[f];
        if (c.relu && result < 0) result = 0;
        static_cast<T*>(c.out)[row * c.filters + f] = from_float<T>(result);
      }
    }
  }
}

template <class T, int N>
__global__ void __launch_bounds__(kBlock)
    tall_product_input_grad(const __grid_constant__ TallProduct c) {
  constexpr int kWide = kLanes<T>;
  const TallPlace at = TallPlace::of<T>(c);
  if (!at.inside) return;
  float w[kWide][N];
  load_weights<T, N>(c, at, w);
  for (int64_t first = at.row; first < c.rows; first += kRowsAtOnce * at.step) {
    float dy[kRowsAtOnce][N];
#pragma unroll
    for (int u = 0; u < kRowsAtOnce; ++u)
      load_row<T, N>(static_cast<const T*>(c.dy), first + u * at.step, c.filters,
                     first + u * at.step < c.rows, dy[u]);
#pragma unroll
    for (int u = 0; u < kRowsAtOnce; ++u) {
      const int64_t row = first + u * at.step;
      if (row >= c.rows) break;
      float dx[kWide] = {};
#pragma unroll
      for (int i = 0; i < kWide; ++i)
#pragma unroll
        for (int f = 0; f < N; ++f) dx[i] = fmaf(dy[u][f], w[i][f], dx[i]);
      store_floats<kWide>(dx, static_cast<T*>(c.out) + row * c.channels + at.channel);
    }
  }
}

// Sums of a block's rows: [channels + 1][filters], the last line those of dy.
template <class T, int N>
__global__ void __launch_bounds__(kBlock)
    tall_product_weight_grad(const __grid_constant__ TallProduct c) {
  constexpr int kWide = kLanes<T>;
  __shared__ float parts[kBlock];
  const TallPlace at = TallPlace::of<T>(c);
  const T* x = static_cast<const T*>(c.x);
  float dw[kWide][N] = {}, db[N] = {};
  for (int64_t first = at.row; at.inside && first < c.rows; first += kRowsAtOnce * at.step) {
    RawPack<T, kWide> loaded[kRowsAtOnce];
    float dy[kRowsAtOnce][N];
#pragma unroll
    for (int u = 0; u < kRowsAtOnce; ++u) {
      const int64_t row = first + u * at.step;
      loaded[u] = RawPack<T, kWide>{};
      if (row < c.rows) loaded[u] = load_pack<T, kWide>(x + row * c.channels + at.channel);
      load_row<T, N>(static_cast<const T*>(c.dy), row, c.filters, row < c.rows, dy[u]);
    }
#pragma unroll
    for (int u = 0; u < kRowsAtOnce; ++u) {
      float numbers[kWide];
      to_floats<T, kWide>(loaded[u], numbers);
#pragma unroll
      for (int f = 0; f < N; ++f) {
        db[f] += dy[u][f];
#pragma unroll
        for (int i = 0; i < kWide; ++i) dw[i][f] = fmaf(numbers[i], dy[u][f], dw[i][f]);
      }
    }
  }
  // Threads of one channel, in their order.
  float* partials = c.partials + int64_t(blockIdx.x) * (c.channels + 1) * c.filters;
  auto add_up = [&](float value, int line, int filter, bool mine) {
    __syncthreads();
    parts[threadIdx.x] = value;
    __syncthreads();
    if (int(threadIdx.x) >= at.lanes || filter >= c.filters || !mine) return;
    float total = 0;
    for (int other = at.lane; other < kBlock; other += at.lanes) total += parts[other];
    partials[line * c.filters + filter] = total;
  };
#pragma unroll
  for (int f = 0; f < N; ++f) {
#pragma unroll
    for (int i = 0; i < kWide; ++i) add_up(dw[i][f], at.channel + i, f, at.inside);
    add_up(db[f], c.channels, f, at.lane == 0);
  }
}

// 32 numbers by 8 parts of the blocks, which are added in their order.
template <class T>
__global__ void __launch_bounds__(kBlock)
    finish_tall_weight_grad(const __grid_constant__ TallProduct c, int blocks) {
  __shared__ float parts[kBlock / 32][32];
  const int lane = int(threadIdx.x) % 32, part = int(threadIdx.x) / 32;
  const int weights = c.channels * c.filters, count = weights + c.filters;
  const int at = int(blockIdx.x) * 32 + lane;
  float sum = 0;
  if (at < count)
#pragma unroll 8
    for (int block = part; block < blocks; block += kBlock / 32)
      sum += c.partials[int64_t(block) * count + at];
  parts[part][lane] = sum;
  __syncthreads();
  if (part != 0 || at >= count) return;
  float total = 0;
  for (int other = 0; other < kBlock / 32; ++other) total += parts[other][lane];
  if (at < weights)
    static_cast<T*>(c.out)[at] = from_float<T>(total);
  else if (c.bias_out != nullptr)
    static_cast<T*>(c.bias_out)[at - weights] = from_float<T>(total);
}

template <class Function>
void with_filters(const TallProduct& call, Function function) {
  visit_float(call.dtype, [&]<class T>(T) {
    if (call.filters <= 4)
      function(T(), std::integral_constant<int, 4>());
    else
      function(T(), std::integral_constant<int, kMostFilters>());
  });
}

unsigned tall_blocks(const TallProduct& c, int each) {
  int wide = c.dtype == DType::float32 ? 4 : 8, lanes = 1;
  while (lanes * wide < c.channels) lanes *= 2;
  return blocks_for(c.rows, int64_t(kBlock) / lanes * kRowsAtOnce, 132 * each);
}

constexpr int kSumBlocks = 4;  // of a multiprocessor

}  // namespace

bool is_tall_product(DType dtype, int64_t rows, int64_t channels, int64_t filters) {
  int64_t wide = dtype == DType::float32 ? 4 : 8;
  return filters <= kMostFilters && channels % wide == 0 && channels <= 32 * wide &&
         channels >= 2 * wide && rows >= 16384;
}

void run_tall_product(const TallProduct& call, cudaStream_t stream) {
  with_filters(call, [&]<class T, class N>(T, N) {
    tall_product<T, N::value><<<tall_blocks(call, 8), kBlock, 0, stream>>>(call);
  });
  check_launch("tall product");
}

void run_tall_product_input_grad(const TallProduct& call, cudaStream_t stream) {
  with_filters(call, [&]<class T, class N>(T, N) {
    tall_product_input_grad<T, N::value><<<tall_blocks(call, 8), kBlock, 0, stream>>>(call);
  });
  check_launch("tall product's input gradient");
}

size_t tall_product_partial_bytes(const TallProduct& c) {
  return size_t(tall_blocks(c, kSumBlocks)) * size_t(c.channels + 1) * size_t(c.filters) *
         sizeof(float);
}

void run_tall_product_weight_grad(const TallProduct& call, cudaStream_t stream) {
  const unsigned blocks = tall_blocks(call, kSumBlocks);
  with_filters(call, [&]<class T, class N>(T, N) {
    tall_product_weight_grad<T, N::value><<<blocks, kBlock, 0, stream>>>(call);
    finish_tall_weight_grad<T>
        <<<blocks_for((call.channels + 1) * call.filters, 32), kBlock, 0, stream>>>(call,
                                                                                    int(blocks));
  });
  check_launch("tall product's weight gradient");
}

}  // namespace stoker::cuda
