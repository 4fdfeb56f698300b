#include "engine/cuda/kernels/layer_norm.h"

#include "engine/cuda/kernels/row_parts.cuh"

namespace stoker::cuda {

namespace {

// Rows that registers hold: of a part of a warp, a warp, or a block.
template <int Threads>
constexpr int kNormBlock = Threads < 128 ? 128 : Threads;

// Of the gradient: rows of a warp share a block's partial sums.
template <int Threads>
constexpr int kNormGradBlock = Threads <= 32 ? 256 : Threads;

// A vector's gamma or beta; sixteen bytes at once where the row begins at a multiple of them.
template <class Place, class Inside, int Wide>
__device__ inline void load_terms(const float* terms, const Place& place, int v, Inside inside,
                                  float (&to)[Wide]) {
  const float* from = terms + place.column(v);
  if (place.before == 0 && place.is_whole(v)) {
#pragma unroll
    for (int i = 0; i < Wide; i += 4) load_floats<4>(from + i, to + i);
  } else {
#pragma unroll
    for (int i = 0; i < Wide; ++i) to[i] = inside(i) ? from[i] : 0;
  }
}

template <class T, int Threads, int Vectors>
__global__ void __launch_bounds__(kNormBlock<Threads>)
    layer_norm(const __grid_constant__ LayerNorm c) {
  constexpr int kRows = kNormBlock<Threads> / Threads;
  const int64_t wanted = int64_t(blockIdx.x) * kRows + threadIdx.x / Threads;
  const int64_t row = min(wanted, c.rows - 1);  // threads without a row go along
  const RowPlace<T, Threads, Vectors> place(row, c.features);
  RowPart<T, Threads, Vectors> x;
  x.load(c.x, place);
  constexpr int kWide = kLanes<T>;
  float sum = 0, squares = 0;
  place.each([&](int v, auto inside) {
    float numbers[kWide];
    x.get(v, numbers);
#pragma unroll
    for (int i = 0; i < kWide; ++i)
      if (inside(i)) sum += numbers[i];
  });
  const float mean = row_reduce<Threads>(sum, 0.0F, Plus()) / float(c.features);
  place.each([&](int v, auto inside) {
    float numbers[kWide];
    x.get(v, numbers);
#pragma unroll
    for (int i = 0; i < kWide; ++i) {
      float moved = numbers[i] - mean;
      if (inside(i)) squares += moved * moved;
    }
  });
  const float variance = row_reduce<Threads>(squares, 0.0F, Plus()) / float(c.features);
  const float rstd = 1 / sqrtf(variance + c.epsilon);
  place.each([&](int v, auto inside) {
    float numbers[kWide], gamma[kWide], beta[kWide];
    x.get(v, numbers);
    load_terms(c.gamma, place, v, inside, gamma);
    load_terms(c.beta, place, v, inside, beta);
#pragma unroll
    for (int i = 0; i < kWide; ++i) numbers[i] = (numbers[i] - mean) * rstd * gamma[i] + beta[i];
    x.set(v, numbers);
  });
  if (wanted != row) return;
  x.store(c.y, place);
  if (threadIdx.x % Threads != 0) return;
  c.mean[row] = mean;
  c.rstd[row] = rstd;
}

// A thread keeps its columns from row to row and adds up their slopes on the way; rows begin at
// sixteen bytes. The sums of a block's rows, a row of threads after another, go to its partials.
template <class T, int Threads, int Vectors>
__global__ void __launch_bounds__(kNormGradBlock<Threads>, Threads <= 32 && Vectors <= 3 ? 2 : 1)
    layer_norm_grad(const __grid_constant__ LayerNorm c) {
  constexpr int kThreads = kNormGradBlock<Threads>, kRows = kThreads / Threads, kWide = kLanes<T>;
  using Place = RowPlace<T, Threads, Vectors>;
  float dgamma[Vectors][kWide] = {}, dbeta[Vectors][kWide] = {};
  const float share = 1 / float(c.features);
  for (int64_t first = int64_t(blockIdx.x) * kRows; first < c.rows;
       first += int64_t(gridDim.x) * kRows) {
    const int64_t wanted = first + threadIdx.x / Threads, row = min(wanted, c.rows - 1);
    const bool mine = wanted == row;  // threads without a row go along
    const Place place(row, c.features);
    RowPart<T, Threads, Vectors> x, dy;
    x.load(c.x, place);
    dy.load(c.dy, place);
    RowPart<T, Threads, Vectors> more;
    if (c.addend != nullptr) more.load(c.addend, place);
    const float mean = c.mean[row], rstd = c.rstd[row];
    float2 sums = make_float2(0, 0);
    place.each([&](int v, auto inside) {
      float numbers[kWide], slopes[kWide], gamma[kWide];
      x.get(v, numbers);
      dy.get(v, slopes);
      load_terms(c.gamma, place, v, inside, gamma);
#pragma unroll
      for (int i = 0; i < kWide; ++i) {
        if (!inside(i) || !mine) continue;
        const float normalized = (numbers[i] - mean) * rstd, slope = slopes[i] * gamma[i];
        dbeta[v][i] += slopes[i];
        dgamma[v][i] += slopes[i] * normalized;
        sums.x += slope;
        sums.y += slope * normalized;
      }
    });
    sums = row_sums<Threads>(sums);
    const float sum = sums.x * share, product = sums.y * share;
    place.each([&](int v, auto inside) {
      float numbers[kWide], slopes[kWide], gamma[kWide];
      x.get(v, numbers);
      dy.get(v, slopes);
      load_terms(c.gamma, place, v, inside, gamma);
#pragma unroll
      for (int i = 0; i < kWide; ++i) {
        const float normalized = (numbers[i] - mean) * rstd;
        numbers[i] = rstd * (slopes[i] * gamma[i] - (sum + normalized * product));
      }
      if (c.addend != nullptr) {
        float others[kWide];
        more.get(v, others);
#pragma unroll
        for (int i = 0; i < kWide; ++i) numbers[i] += others[i];
      }
      x.set(v, numbers);
    });
    if (mine) x.store(c.y, place);
  }
  // Row by row of threads through shared memory: [2][features].
  extern __shared__ float all[];
  const Place place(0, c.features);
  for (int turn = 0; turn < kRows; ++turn) {
    if (int(threadIdx.x) / Threads == turn)
      place.each([&](int v, auto inside) {
#pragma unroll
        for (int i = 0; i < kWide; ++i) {
          if (!inside(i)) continue;
          float* beta = all + place.column(v) + i;
          float* gamma = beta + c.features;
          *beta = dbeta[v][i] + (turn > 0 ? *beta : 0.0F);
          *gamma = dgamma[v][i] + (turn > 0 ? *gamma : 0.0F);
        }
      });
    __syncthreads();
  }
  float* partials = c.partials + int64_t(blockIdx.x) * 2 * c.features;
  for (int i = int(threadIdx.x); i < 2 * c.features; i += kThreads) partials[i] = all[i];
}

// --- any row: read again for every pass ---

template <class T>
__global__ void layer_norm_long(const __grid_constant__ LayerNorm c) {
  const T* x = static_cast<const T*>(c.x) + blockIdx.x * c.features;
  T* y = static_cast<T*>(c.y) + blockIdx.x * c.features;
  float sum = 0, squares = 0;
  for (int64_t i = threadIdx.x; i < c.features; i += blockDim.x) sum += to_float(x[i]);
  float mean = block_reduce(sum, 0.0F, Plus()) / float(c.features);
  for (int64_t i = threadIdx.x; i < c.features; i += blockDim.x) {
    float moved = to_float(x[i]) - mean;
    squares += moved * moved;
  }
  float variance = block_reduce(squares, 0.0F, Plus()) / float(c.features);
  float rstd = 1 / sqrtf(variance + c.epsilon);
  for (int64_t i = threadIdx.x; i < c.features; i += blockDim.x)
    y[i] = from_float<T>((to_float(x[i]) - mean) * rstd * c.gamma[i] + c.beta[i]);
  if (threadIdx.x != 0) return;
  c.mean[blockIdx.x] = mean;
  c.rstd[blockIdx.x] = rstd;
}

template <class T>
__global__ void layer_norm_long_input_grad(const __grid_constant__ LayerNorm c) {
  int64_t first = blockIdx.x * c.features;
  const T *x = static_cast<const T*>(c.x) + first, *dy = static_cast<const T*>(c.dy) + first;
  T* dx = static_cast<T*>(c.y) + first;
  float mean = c.mean[blockIdx.x], rstd = c.rstd[blockIdx.x], sum = 0, product = 0;
  for (int64_t i = threadIdx.x; i < c.features; i += blockDim.x) {
    float slope = to_float(dy[i]) * c.gamma[i];
    sum += slope;
    product += slope * ((to_float(x[i]) - mean) * rstd);
  }
  sum = block_reduce(sum, 0.0F, Plus()) / float(c.features);
  product = block_reduce(product, 0.0F, Plus()) / float(c.features);
  for (int64_t i = threadIdx.x; i < c.features; i += blockDim.x) {
    float normalized = (to_float(x[i]) - mean) * rstd;
    float slope = rstd * (to_float(dy[i]) * c.gamma[i] - (sum + normalized * product));
    if (c.addend != nullptr) slope += to_float(static_cast<const T*>(c.addend)[first + i]);
    dx[i] = from_float<T>(slope);
  }
}

constexpr int kColumnWarps = kBlock / 32;

// 32 features by 8 parts of the rows of this split.
template <class T>
__global__ void layer_norm_long_weight_grad(const __grid_constant__ LayerNorm c) {
  __shared__ float parts[2][kColumnWarps][32];
  int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  int64_t feature = int64_t(blockIdx.x) * 32 + lane;
  float sum = 0, product = 0;
  if (feature < c.features)
    for (int64_t row = int64_t(blockIdx.y) * kColumnWarps + warp; row < c.rows;
         row += int64_t(gridDim.y) * kColumnWarps) {
      float slope = to_float(static_cast<const T*>(c.dy)[row * c.features + feature]);
      float x = to_float(static_cast<const T*>(c.x)[row * c.features + feature]);
      sum += slope;
      product += slope * ((x - c.mean[row]) * c.rstd[row]);
    }
  parts[0][warp][lane] = sum;
  parts[1][warp][lane] = product;
  __syncthreads();
  if (warp > 1 || feature >= c.features) return;
  float total = 0;
  for (int w = 0; w < kColumnWarps; ++w) total += parts[warp][w][lane];
  c.partials[(int64_t(blockIdx.y) * 2 + warp) * c.features + feature] = total;
}

// 32 sums by 8 parts of the splits, which are added in their order.
__global__ void __launch_bounds__(kBlock)
    finish_layer_norm_grad(const __grid_constant__ LayerNorm c, int splits) {
  __shared__ float parts[kColumnWarps][32];
  const int lane = int(threadIdx.x) % 32, part = int(threadIdx.x) / 32;
  const int64_t at = int64_t(blockIdx.x) * 32 + lane;
  float sum = 0;
  if (at < 2 * c.features)
#pragma unroll 8
    for (int split = part; split < splits; split += kColumnWarps)
      sum += c.partials[split * 2 * c.features + at];
  parts[part][lane] = sum;
  __syncthreads();
  if (part != 0 || at >= 2 * c.features) return;
  float total = 0;
  for (int other = 0; other < kColumnWarps; ++other) total += parts[other][lane];
  (at < c.features ? c.dbeta[at] : c.dgamma[at - c.features]) = total;
}

// --- which kernel ---

unsigned row_threads(int64_t features) {
  return features <= 128 ? 32 : features <= 1024 ? 128 : 512;
}

template <int Threads, int Vectors>
struct Held {
  static constexpr int kThreads = Threads, kVectors = Vectors;
};

// function(held) for the first of them that holds a row; false where none does.
template <class T, class... Helds, class Function>
bool with_row(int64_t features, Function function) {
  auto fits = [&]<class H>(H held) {
    if (!RowPlace<T, H::kThreads, H::kVectors>::holds(features)) return false;
    function(held);
    return true;
  };
  return (fits(Helds()) || ...);
}

constexpr int kMostSplits = 132 * 8;

}  // namespace

// Columns stay with their threads only where all rows begin at sixteen bytes.
static bool holds_layer_norm_rows(DType dtype, int64_t features) {
  int64_t wide = dtype == DType::float32 ? 4 : 8;
  return features % wide == 0 && features <= 1024 * wide;
}

int layer_norm_splits(DType dtype, int64_t rows, int64_t features) {
  // Partial sums of wide rows take longer than the blocks that they could be shared among.
  const bool wide = features > 256 && features <= 128 * (dtype == DType::float32 ? 4 : 8);
  if (holds_layer_norm_rows(dtype, features))
    return int(std::clamp<int64_t>(rows / 8, 1, wide ? 132 * 2 : kMostSplits));
  int64_t slabs = (features + 31) / 32;
  return int(std::clamp<int64_t>(std::min(264 / slabs, rows / (kColumnWarps * 4)), 1, 64));
}

void run_layer_norm(const LayerNorm& call, cudaStream_t stream) {
  if (call.rows == 0) return;
  visit_float(call.dtype, [&]<class T>(T) {
    auto launch = [&]<class H>(H) {
      constexpr int kThreads = kNormBlock<H::kThreads>;
      layer_norm<T, H::kThreads, H::kVectors>
          <<<blocks_for(call.rows, kThreads / H::kThreads), kThreads, 0, stream>>>(call);
    };
    bool held =
        with_row<T, Held<8, 1>, Held<16, 1>, Held<32, 1>, Held<32, 4>, Held<128, 2>, Held<256, 4>>(
            call.features, launch);
    if (!held)
      layer_norm_long<T><<<unsigned(call.rows), row_threads(call.features), 0, stream>>>(call);
  });
  check_launch("layer_norm");
}

void run_layer_norm_grad(const LayerNorm& call, cudaStream_t stream) {
  const int splits = layer_norm_splits(call.dtype, call.rows, call.features);
  visit_float(call.dtype, [&]<class T>(T) {
    if (holds_layer_norm_rows(call.dtype, call.features)) {
      auto launch = [&]<class H>(H) {
        size_t bytes = size_t(2 * call.features) * sizeof(float);
        auto kernel = layer_norm_grad<T, H::kThreads, H::kVectors>;
        if (bytes > 48 * 1024)
          check(
              cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
              "shared memory for layer norm");
        kernel<<<unsigned(splits), kNormGradBlock<H::kThreads>, bytes, stream>>>(call);
      };
      with_row<T, Held<8, 1>, Held<16, 1>, Held<32, 1>, Held<32, 2>, Held<32, 3>, Held<32, 4>,
               Held<256, 1>, Held<512, 2>>(call.features, launch);
      return;
    }
    if (call.rows > 0)
      layer_norm_long_input_grad<T>
          <<<unsigned(call.rows), row_threads(call.features), 0, stream>>>(call);
    dim3 grid(blocks_for(call.features, 32), unsigned(splits));
    layer_norm_long_weight_grad<T><<<grid, kBlock, 0, stream>>>(call);
  });
  finish_layer_norm_grad<<<blocks_for(2 * call.features, 32), kBlock, 0, stream>>>(call, splits);
  check_launch("layer_norm_grad");
}

}  // namespace stoker::cuda
