#include "engine/cuda/kernels/layer_norm.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

constexpr int kWarps = kBlock / 32;

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

}  // namespace

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
