#include "engine/cuda/special/kernels/narrow.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

constexpr int kMostThreads = 1024;

// A block a row. Thread t takes column t % columns and every height-th of `inner`, so that
// neighbours read neighbouring weights; a warp then adds the parts of one result.
template <class T>
__global__ void __launch_bounds__(kMostThreads)
    narrow_product(const __grid_constant__ NarrowProduct c, int height) {
  __shared__ float parts[kMostThreads];
  const int columns = int(c.columns);
  const int64_t row = blockIdx.x;
  const T *a = static_cast<const T*>(c.a) + row * c.inner, *w = static_cast<const T*>(c.w);
  if (int(threadIdx.x) < height * columns) {
    int column = int(threadIdx.x) % columns;
    float sum = 0;
#pragma unroll 8
    for (int64_t k = threadIdx.x / columns; k < c.inner; k += height)
      sum += to_float(a[k]) * to_float(w[k * columns + column]);
    parts[threadIdx.x] = sum;
  }
  __syncthreads();
  const int lane = int(threadIdx.x) % 32, warps = int(blockDim.x) / 32;
  for (int column = int(threadIdx.x) / 32; column < columns; column += warps) {
    float total = 0;
    for (int part = lane; part < height; part += 32) total += parts[part * columns + column];
    for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(~0U, total, offset);
    if (lane != 0) continue;
    if (c.bias != nullptr) total += to_float(static_cast<const T*>(c.bias)[column]);
    if (c.relu && total < 0) total = 0;
    static_cast<T*>(c.y)[row * columns + column] = from_float<T>(total);
  }
}

constexpr int kFeatures = 64;  // of a block

// One thread per row of the result, which it adds up in registers; dy lies in shared memory.
template <class T, int Columns>
__global__ void __launch_bounds__(kFeatures)
    narrow_gradient(const __grid_constant__ NarrowGradient c) {
  __shared__ float slopes[NarrowGradient::kMostRows][Columns];
  const T *a = static_cast<const T*>(c.a), *dy = static_cast<const T*>(c.dy);
  for (int item = int(threadIdx.x); item < c.rows * Columns; item += kFeatures) {
    int row = item / Columns, column = item % Columns;
    slopes[row][column] = column < c.columns ? to_float(dy[row * c.columns + column]) : 0;
  }
  __syncthreads();
  const int feature = int(blockIdx.x) * kFeatures + int(threadIdx.x);
  if (feature < c.inner) {
    float sums[Columns] = {};
#pragma unroll 16
    for (int row = 0; row < c.rows; ++row) {
      float value = to_float(a[int64_t(row) * c.inner + feature]);
#pragma unroll
      for (int column = 0; column < Columns; ++column) sums[column] += value * slopes[row][column];
    }
    T* to = static_cast<T*>(c.weights) + int64_t(feature) * c.columns;
#pragma unroll
    for (int column = 0; column < Columns; ++column)
      if (column < c.columns) to[column] = from_float<T>(sums[column]);
  }
  if (blockIdx.x > 0 || c.bias == nullptr || int(threadIdx.x) >= c.columns) return;
  float sum = 0;
  for (int row = 0; row < c.rows; ++row) sum += slopes[row][threadIdx.x];
  static_cast<T*>(c.bias)[threadIdx.x] = from_float<T>(sum);
}

}  // namespace

void run_narrow_gradient(const NarrowGradient& call, cudaStream_t stream) {
  unsigned blocks = blocks_for(call.inner, kFeatures);
  visit_float(call.dtype, [&]<class T>(T) {
    if (call.columns <= 10)
      narrow_gradient<T, 10><<<blocks, kFeatures, 0, stream>>>(call);
    else
      narrow_gradient<T, 16><<<blocks, kFeatures, 0, stream>>>(call);
  });
  check_launch("narrow_gradient");
}

void run_narrow_product(const NarrowProduct& call, cudaStream_t stream) {
  auto height = int(std::min<int64_t>(call.inner, kMostThreads / call.columns));
  unsigned threads = unsigned(height * int(call.columns) + 31) / 32 * 32;
  visit_float(call.dtype, [&]<class T>(T) {
    narrow_product<T><<<unsigned(call.rows), threads, 0, stream>>>(call, height);
  });
  check_launch("narrow_product");
}

}  // namespace stoker::cuda
