#include "engine/cuda/kernels/norm.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

constexpr int kSumThreads = 512;  // of column_sums: one block a multiprocessor
constexpr int kSumWarps = kSumThreads / 32;
constexpr int kUnroll = 4;  // rows in flight a thread
constexpr int kWarps = kBlock / 32;

// Loads stay packed until they are used: sixteen bytes are four registers, eight floats are eight.
template <class T, int N>
__device__ inline Pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

// --- sums over rows ---

template <ColumnSums What, ReluMask Mask, class T, int N, bool Joins = false>
__global__ void __launch_bounds__(kSumThreads, 1)
    column_sums(const __grid_constant__ ColumnCall c) {
  constexpr int kSums = What == ColumnSums::sum ? 1 : 2;
  constexpr bool kGradients = What == ColumnSums::gradients;
  constexpr int kRows = kGradients ? 4 : 8;  // in flight
  const int columns = c.plan.columns, height = kSumThreads / columns;
  const int column = int(threadIdx.x) % columns, lane = int(threadIdx.x) % 32,
            warp = int(threadIdx.x) / 32;
  const int64_t channel = (int64_t(blockIdx.x) * columns + column) * N;
  const bool active = channel < c.channels;
  const T *x = static_cast<const T*>(c.x), *dy = static_cast<const T*>(c.dy),
          *y = static_cast<const T*>(c.y), *second_dy = static_cast<const T*>(c.second_dy);
  T* dz = static_cast<T*>(c.dz);

  float sums[kSums][N] = {}, shift[N] = {}, rstd[N] = {}, scale[N] = {}, beta[N] = {};
  if (active && What == ColumnSums::statistics) load_floats<N>(x + channel, shift);
  if (active && kGradients)
#pragma unroll
    for (int i = 0; i < N; ++i) {
      shift[i] = c.mean[channel + i];
      rstd[i] = 1 / sqrtf(c.variance[channel + i] + c.epsilon);
      if constexpr (Mask == ReluMask::from_x) {
        scale[i] = c.gamma[channel + i] * rstd[i];
        beta[i] = c.beta[channel + i];
      }
    }
  const int64_t step = int64_t(gridDim.y) * height;
  // The sum of two gradients where y > 0, as an op of its own would store it.
  auto join = [&](int64_t at, const Pack<T, N>& first, const Pack<T, N>& second,
                  const Pack<T, N>& output) {
    Pack<T, N> joined;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float slope = to_float(first.at[i]) + to_float(second.at[i]);
      joined.at[i] = from_float<T>(slope * float(to_float(output.at[i]) > 0));
    }
    *reinterpret_cast<Pack<T, N>*>(dz + at) = joined;
    return joined;
  };
  auto add = [&](const Pack<T, N>& value, const Pack<T, N>& slope_pack, const Pack<T, N>& output) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float v = to_float(value.at[i]);
      if constexpr (What == ColumnSums::sum) {
        if (Mask == ReluMask::from_y && !(to_float(output.at[i]) > 0)) v = 0;
        sums[0][i] += v;
      } else if constexpr (What == ColumnSums::statistics) {
        v -= shift[i];
        sums[0][i] += v;
        sums[1][i] += v * v;
      } else {
        float slope = to_float(slope_pack.at[i]);
        if (Mask == ReluMask::from_y && !Joins && !(to_float(output.at[i]) > 0)) slope = 0;
        if (Mask == ReluMask::from_x && !((v - shift[i]) * scale[i] + beta[i] > 0)) slope = 0;
        sums[0][i] += slope;
        sums[1][i] += slope * ((v - shift[i]) * rstd[i]);
      }
    }
  };
  if (active) {
    int64_t row = int64_t(blockIdx.y) * height + threadIdx.x / columns;
    for (; row + (kRows - 1) * step < c.rows; row += step * kRows) {
      Pack<T, N> values[kRows], slopes[kRows], outputs[kRows], seconds[kRows];
#pragma unroll
      for (int u = 0; u < kRows; ++u) {
        int64_t at = (row + u * step) * c.channels + channel;
        values[u] = load_pack<T, N>(x + at);
        if constexpr (kGradients) slopes[u] = load_pack<T, N>(dy + at);
        if constexpr (Mask == ReluMask::from_y) outputs[u] = load_pack<T, N>(y + at);
        if constexpr (Joins) seconds[u] = load_pack<T, N>(second_dy + at);
      }
#pragma unroll
      for (int u = 0; u < kRows; ++u) {
        if constexpr (Joins)
          slopes[u] =
              join((row + u * step) * c.channels + channel, slopes[u], seconds[u], outputs[u]);
        add(values[u], slopes[u], outputs[u]);
      }
    }
    for (; row < c.rows; row += step) {
      int64_t at = row * c.channels + channel;
      Pack<T, N> value = load_pack<T, N>(x + at), slope{}, output{};
      if constexpr (kGradients) slope = load_pack<T, N>(dy + at);
      if constexpr (Mask == ReluMask::from_y) output = load_pack<T, N>(y + at);
      if constexpr (Joins) slope = join(at, slope, load_pack<T, N>(second_dy + at), output);
      add(value, slope, output);
    }
  }

  // Over the block: lanes of a warp that share a column, then the warps.
  constexpr int kMostWidth = N == 1 ? 32 : 8 * N;
  __shared__ float parts[kSumWarps][kSums * kMostWidth];
  __shared__ double totals[kSumThreads];
  __shared__ bool last;
  const int width = columns * N, items = kSums * width;  // channels and sums of a block
#pragma unroll
  for (int s = 0; s < kSums; ++s)
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float value = sums[s][i];
      for (int offset = 16; offset >= columns; offset /= 2)
        value += __shfl_xor_sync(~0U, value, offset);
      if (lane < columns) parts[warp][s * width + lane * N + i] = value;
    }
  __syncthreads();
  float* partials = static_cast<float*>(c.partials) + size_t(blockIdx.x) * gridDim.y * items;
  for (int item = int(threadIdx.x); item < items; item += kSumThreads) {
    float total = 0;
#pragma unroll
    for (int w = 0; w < kSumWarps; ++w) total += parts[w][item];
    partials[size_t(blockIdx.y) * items + item] = total;
  }

  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(c.counters + blockIdx.x, 1U) == gridDim.y - 1;
    if (last) c.counters[blockIdx.x] = 0;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  // Groups of threads add every so many-th partial; then one thread an item adds the groups.
  const int groups = kSumThreads / items;
  int item = int(threadIdx.x) % items, group = int(threadIdx.x) / items;
  double total = 0;
  if (group < groups)
#pragma unroll 4
    for (unsigned split = unsigned(group); split < gridDim.y; split += unsigned(groups))
      total += double(__ldcg(partials + size_t(split) * items + item));
  totals[threadIdx.x] = total;
  __syncthreads();
  for (int channel_of = int(threadIdx.x); channel_of < width; channel_of += kSumThreads) {
    int64_t at = int64_t(blockIdx.x) * width + channel_of;
    if (at >= c.channels) continue;
    double found[kSums] = {};
#pragma unroll
    for (int s = 0; s < kSums; ++s)
      for (int g = 0; g < groups; ++g) found[s] += totals[g * items + s * width + channel_of];
    if constexpr (What == ColumnSums::sum) {
      static_cast<T*>(c.out)[at] = from_float<T>(float(found[0]));
    } else if constexpr (What == ColumnSums::statistics) {
      double mean = found[0] / double(c.rows);
      static_cast<float*>(c.out)[at] = float(double(to_float(x[at])) + mean);
      c.second_out[at] = float(fmax(found[1] / double(c.rows) - mean * mean, 0.0));
    } else {
      static_cast<float*>(c.out)[at] = float(found[0]);
      c.second_out[at] = float(found[1]);
    }
  }
}

template <class T, int N>
void launch_sums(const ColumnCall& call, cudaStream_t stream) {
  dim3 grid(call.plan.slabs, call.plan.splits);
  switch (call.what) {
    case ColumnSums::statistics:
      column_sums<ColumnSums::statistics, ReluMask::none, T, N>
          <<<grid, kSumThreads, 0, stream>>>(call);
      break;
    case ColumnSums::sum:
      if (call.mask == ReluMask::from_y)
        column_sums<ColumnSums::sum, ReluMask::from_y, T, N>
            <<<grid, kSumThreads, 0, stream>>>(call);
      else
        column_sums<ColumnSums::sum, ReluMask::none, T, N><<<grid, kSumThreads, 0, stream>>>(call);
      break;
    case ColumnSums::gradients:
      if (call.dz != nullptr)
        column_sums<ColumnSums::gradients, ReluMask::from_y, T, N, true>
            <<<grid, kSumThreads, 0, stream>>>(call);
      else if (call.mask == ReluMask::from_x)
        column_sums<ColumnSums::gradients, ReluMask::from_x, T, N>
            <<<grid, kSumThreads, 0, stream>>>(call);
      else if (call.mask == ReluMask::from_y)
        column_sums<ColumnSums::gradients, ReluMask::from_y, T, N>
            <<<grid, kSumThreads, 0, stream>>>(call);
      else
        column_sums<ColumnSums::gradients, ReluMask::none, T, N>
            <<<grid, kSumThreads, 0, stream>>>(call);
      break;
  }
  check_launch("column_sums");
}

// --- what is done with them ---

struct Tiling {
  int columns;
  dim3 grid;
};

// `lanes` channels a thread, up to 32 threads side by side, rows in strides.
Tiling tile(int64_t rows, int64_t channels, int lanes) {
  int columns = 1;
  while (columns < 32 && columns * lanes < channels) columns *= 2;
  auto slabs = blocks_for(channels, int64_t(columns) * lanes);
  auto height = int64_t(kBlock / columns) * kUnroll;
  return {columns, dim3(slabs, blocks_for(rows, height, std::max(1U, 132 * 8 / slabs)))};
}

// Runs body(row) for the rows of a thread, kUnroll at a time through load and use. The last rows
// come first: they are what the kernel before left in the cache.
template <class Load, class Use>
__device__ inline void for_rows(int64_t rows, int columns, Load load, Use use) {
  const int height = kBlock / columns;
  const int64_t step = int64_t(gridDim.y) * height;
  int64_t row = int64_t(blockIdx.y) * height + threadIdx.x / columns;
  for (; row + (kUnroll - 1) * step < rows; row += step * kUnroll) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) load(u, rows - 1 - (row + u * step));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) use(u, rows - 1 - (row + u * step));
  }
  for (; row < rows; row += step) {
    load(0, rows - 1 - row);
    use(0, rows - 1 - row);
  }
}

template <class T, int N, bool Residual>
__global__ void __launch_bounds__(kBlock)
    norm_apply(const __grid_constant__ NormApply c, int columns) {
  const int64_t channel = (int64_t(blockIdx.x) * columns + threadIdx.x % columns) * N;
  if (channel >= c.channels) return;
  const T *x = static_cast<const T*>(c.x), *residual = static_cast<const T*>(c.residual);
  T* y = static_cast<T*>(c.y);
  float mean[N], scale[N], beta[N];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    mean[i] = c.mean[channel + i];
    scale[i] = c.gamma[channel + i] * (1 / sqrtf(c.variance[channel + i] + c.epsilon));
    beta[i] = c.beta[channel + i];
  }
  Pack<T, N> values[kUnroll], others[kUnroll];
  for_rows(
      c.rows, columns,
      [&](int u, int64_t row) {
        values[u] = load_pack<T, N>(x + row * c.channels + channel);
        if constexpr (Residual) others[u] = load_pack<T, N>(residual + row * c.channels + channel);
      },
      [&](int u, int64_t row) {
        float results[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
          float value = (to_float(values[u].at[i]) - mean[i]) * scale[i] + beta[i];
          if constexpr (Residual) value += to_float(others[u].at[i]);
          results[i] = c.relu && value < 0 ? 0 : value;
        }
        store_floats<N>(results, y + row * c.channels + channel);
      });
}

template <class T, int N, ReluMask Mask>
__global__ void __launch_bounds__(kBlock)
    norm_input_grad(const __grid_constant__ NormInputGrad c, int columns) {
  const int64_t channel = (int64_t(blockIdx.x) * columns + threadIdx.x % columns) * N;
  if (channel >= c.channels) return;
  const T *x = static_cast<const T*>(c.x), *dy = static_cast<const T*>(c.dy),
          *y = static_cast<const T*>(c.y);
  T* dx = static_cast<T*>(c.dx);
  float mean[N], scale[N], sum[N], product[N], beta[N];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    float rstd = 1 / sqrtf(c.variance[channel + i] + c.epsilon);
    mean[i] = c.mean[channel + i];
    scale[i] = c.gamma[channel + i] * rstd;
    sum[i] = c.dbeta[channel + i] / float(c.rows);
    product[i] = c.dgamma[channel + i] * rstd / float(c.rows);
    beta[i] = Mask == ReluMask::from_x ? c.beta[channel + i] : 0;
  }
  Pack<T, N> values[kUnroll], slopes[kUnroll], outputs[kUnroll];
  for_rows(
      c.rows, columns,
      [&](int u, int64_t row) {
        values[u] = load_pack<T, N>(x + row * c.channels + channel);
        slopes[u] = load_pack<T, N>(dy + row * c.channels + channel);
        if constexpr (Mask == ReluMask::from_y)
          outputs[u] = load_pack<T, N>(y + row * c.channels + channel);
      },
      [&](int u, int64_t row) {
        float results[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
          float slope = to_float(slopes[u].at[i]);
          float moved = to_float(values[u].at[i]) - mean[i];
          if (Mask == ReluMask::from_y && !(to_float(outputs[u].at[i]) > 0)) slope = 0;
          if (Mask == ReluMask::from_x && !(moved * scale[i] + beta[i] > 0)) slope = 0;
          results[i] = scale[i] * (slope - (sum[i] + moved * product[i]));
        }
        store_floats<N>(results, dx + row * c.channels + channel);
      });
}

// --- layer norm: a block a row ---

template <class T>
__global__ void layer_norm(const __grid_constant__ LayerNorm c) {
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
__global__ void layer_norm_input_grad(const __grid_constant__ LayerNorm c) {
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
    dx[i] = from_float<T>(rstd * (to_float(dy[i]) * c.gamma[i] - (sum + normalized * product)));
  }
}

// 32 features by 8 parts of the rows of this split.
template <class T>
__global__ void layer_norm_weight_grad(const __grid_constant__ LayerNorm c) {
  __shared__ float parts[2][kWarps][32];
  int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  int64_t feature = int64_t(blockIdx.x) * 32 + lane;
  float sum = 0, product = 0;
  if (feature < c.features)
    for (int64_t row = int64_t(blockIdx.y) * kWarps + warp; row < c.rows;
         row += int64_t(gridDim.y) * kWarps) {
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
  for (int w = 0; w < kWarps; ++w) total += parts[warp][w][lane];
  c.partials[(int64_t(blockIdx.y) * 2 + warp) * c.features + feature] = total;
}

__global__ void finish_layer_norm_weight_grad(const __grid_constant__ LayerNorm c, int splits) {
  int64_t at = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= 2 * c.features) return;
  float total = 0;
  for (int split = 0; split < splits; ++split) total += c.partials[split * 2 * c.features + at];
  (at < c.features ? c.dbeta[at] : c.dgamma[at - c.features]) = total;
}

unsigned row_threads(int64_t features) {
  return features <= 128 ? 32 : features <= 1024 ? 128 : 512;
}

int lanes_for(DType dtype, int64_t channels) {
  int lanes = dtype == DType::float32 ? 4 : 8;
  return channels % lanes == 0 ? lanes : 1;
}

// function(T, lanes) with both known at compile time
template <class Function>
void with_lanes(DType dtype, int64_t channels, Function function) {
  visit_float(dtype, [&]<class T>(T) {
    if (lanes_for(dtype, channels) == 1)
      function(T{}, std::integral_constant<int, 1>());
    else
      function(T{}, std::integral_constant<int, kLanes<T>>());
  });
}

}  // namespace

ColumnPlan plan_columns(DType dtype, int64_t rows, int64_t channels) {
  ColumnPlan plan;
  plan.lanes = lanes_for(dtype, channels);
  int most = plan.lanes == 1 ? 32 : 8;
  while (plan.columns < most && plan.columns * plan.lanes < channels) plan.columns *= 2;
  plan.slabs = blocks_for(channels, int64_t(plan.columns) * plan.lanes);
  // One block a multiprocessor, each thread with at least four rows.
  int64_t rounds = int64_t(kSumThreads / plan.columns) * 4;
  plan.splits = blocks_for(rows, rounds, std::max(1U, 132 / plan.slabs));
  plan.partial_bytes =
      size_t(plan.slabs) * plan.splits * 2 * size_t(plan.columns * plan.lanes) * sizeof(float);
  plan.counter_bytes = plan.slabs * sizeof(unsigned);
  return plan;
}

void run_column_sums(const ColumnCall& call, cudaStream_t stream) {
  with_lanes(call.dtype, call.channels,
             [&]<class T, class N>(T, N) { launch_sums<T, N::value>(call, stream); });
}

void run_norm_apply(const NormApply& call, cudaStream_t stream) {
  with_lanes(call.dtype, call.channels, [&]<class T, class N>(T, N) {
    Tiling at = tile(call.rows, call.channels, N::value);
    if (call.residual != nullptr)
      norm_apply<T, N::value, true><<<at.grid, kBlock, 0, stream>>>(call, at.columns);
    else
      norm_apply<T, N::value, false><<<at.grid, kBlock, 0, stream>>>(call, at.columns);
  });
  check_launch("norm_apply");
}

void run_norm_input_grad(const NormInputGrad& call, cudaStream_t stream) {
  with_lanes(call.dtype, call.channels, [&]<class T, class N>(T, N) {
    Tiling at = tile(call.rows, call.channels, N::value);
    constexpr int kN = N::value;
    if (call.mask == ReluMask::from_x)
      norm_input_grad<T, kN, ReluMask::from_x><<<at.grid, kBlock, 0, stream>>>(call, at.columns);
    else if (call.mask == ReluMask::from_y)
      norm_input_grad<T, kN, ReluMask::from_y><<<at.grid, kBlock, 0, stream>>>(call, at.columns);
    else
      norm_input_grad<T, kN, ReluMask::none><<<at.grid, kBlock, 0, stream>>>(call, at.columns);
  });
  check_launch("norm_input_grad");
}

int layer_norm_splits(int64_t rows, int64_t features) {
  int64_t slabs = (features + 31) / 32;
  return int(std::clamp<int64_t>(std::min(264 / slabs, rows / (kWarps * 4)), 1, 64));
}

void run_layer_norm(const LayerNorm& call, cudaStream_t stream) {
  if (call.rows == 0) return;
  visit_float(call.dtype, [&]<class T>(T) {
    layer_norm<T><<<unsigned(call.rows), row_threads(call.features), 0, stream>>>(call);
  });
  check_launch("layer_norm");
}

void run_layer_norm_grad(const LayerNorm& call, cudaStream_t stream) {
  int splits = layer_norm_splits(call.rows, call.features);
  visit_float(call.dtype, [&]<class T>(T) {
    if (call.rows > 0)
      layer_norm_input_grad<T>
          <<<unsigned(call.rows), row_threads(call.features), 0, stream>>>(call);
    dim3 grid(blocks_for(call.features, 32), unsigned(splits));
    layer_norm_weight_grad<T><<<grid, kBlock, 0, stream>>>(call);
  });
  finish_layer_norm_weight_grad<<<blocks_for(2 * call.features, kBlock), kBlock, 0, stream>>>(
      call, splits);
  check_launch("layer_norm_grad");
}

}  // namespace stoker::cuda
