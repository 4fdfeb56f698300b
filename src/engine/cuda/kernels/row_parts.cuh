// Rows of a matrix [rows, columns], each held in the registers of a warp or a block, so that memory
// is read once however often a kernel goes over the row. Rows need not begin at a multiple of
// sixteen bytes: the first and the last vector of a row are then loaded with what lies beside it.
#pragma once

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

// Sum or maximum over the threads of a row: a warp, or the block.
template <int Threads, class T, class Combine>
__device__ inline T row_reduce(T value, T start, Combine combine) {
  if constexpr (Threads > 32) {
    return block_reduce(value, start, combine);
  } else {
    for (int offset = 16; offset > 0; offset /= 2)
      value = combine(value, __shfl_xor_sync(~0U, value, offset));
    return value;
  }
}

// Two sums at once: a block waits as often as for one.
template <int Threads>
__device__ inline float2 row_sums(float2 value) {
  auto over_warp = [&] {
    for (int offset = 16; offset > 0; offset /= 2) {
      value.x += __shfl_xor_sync(~0U, value.x, offset);
      value.y += __shfl_xor_sync(~0U, value.y, offset);
    }
  };
  over_warp();
  if constexpr (Threads > 32) {
    __shared__ float2 parts[32];
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    __syncthreads();  // the previous use of parts has been read
    if (lane == 0) parts[warp] = value;
    __syncthreads();
    value = lane < Threads / 32 ? parts[lane] : make_float2(0, 0);
    over_warp();
  }
  return value;
}

// Where a thread's numbers of a row lie: `Vectors` times sixteen bytes, a row's threads side by
// side. Matrices of other dtypes have theirs at the same columns.
template <class T, int Threads, int Vectors>
struct RowPlace {
  static constexpr int kWide = kLanes<T>;
  static constexpr int64_t kMost = int64_t(Threads) * Vectors * kWide - kWide;  // columns
  int64_t first;  // of the row
  int columns, before;  // before: numbers of the row before that lie in its first vector

  __device__ RowPlace(int64_t row, int64_t row_columns)
      : first(row * row_columns), columns(int(row_columns)), before(int(first % kWide)) {}
  // Of vector v's first number; may be below zero.
  __device__ int column(int v) const {
    return (v * Threads + int(threadIdx.x % Threads)) * kWide - before;
  }
  __device__ bool is_whole(int v) const { return column(v) >= 0 && column(v) + kWide <= columns; }
  __device__ bool has(int v, int i) const { return unsigned(column(v) + i) < unsigned(columns); }
  // use(v, i, column) for every number of the row that this thread has.
  template <class Use>
  __device__ void each(Use use) const {
#pragma unroll
    for (int v = 0; v < Vectors; ++v)
#pragma unroll
      for (int i = 0; i < kWide; ++i)
        if (has(v, i)) use(v, i, column(v) + i);
  }
};

// A thread's numbers as they lie in memory; what is not the row's is not to be used.
template <class T, int Threads, int Vectors>
struct RowPart {
  using Place = RowPlace<T, Threads, Vectors>;
  Pack<T, kLanes<T>> at[Vectors];

  __device__ void load(const void* matrix, const Place& place) {
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      int column = place.column(v);
      if (column < place.columns)
        at[v] = *reinterpret_cast<const Pack<T, kLanes<T>>*>(static_cast<const T*>(matrix) +
                                                             place.first + column);
    }
  }
  __device__ float get(int v, int i) const { return to_float(at[v].at[i]); }
  __device__ void set(int v, int i, float value) { at[v].at[i] = from_float<T>(value); }

  __device__ void store(void* matrix, const Place& place) const {
    T* row = static_cast<T*>(matrix) + place.first;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      int column = place.column(v);
      if (place.is_whole(v)) {
        *reinterpret_cast<Pack<T, kLanes<T>>*>(row + column) = at[v];
      } else {
#pragma unroll
        for (int i = 0; i < kLanes<T>; ++i)
          if (place.has(v, i)) row[column + i] = at[v].at[i];
      }
    }
  }
};

}  // namespace stoker::cuda
