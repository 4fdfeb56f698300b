// Rows of a matrix [rows, columns], each held in the registers of a part of a warp or of a block, so that memory
// is read once however often a kernel goes over the row. Rows need not begin at a multiple of
// sixteen bytes: the first and the last vector of a row are then loaded with what lies beside it.
#pragma once

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

// Sum or maximum over the threads of a row: a power of two of a warp, or the block. All threads of
// a warp take part.
template <int Threads, class T, class Combine>
__device__ inline T row_reduce(T value, T start, Combine combine) {
  if constexpr (Threads > 32) {
    return block_reduce(value, start, combine);
  } else {
    for (int offset = Threads / 2; offset > 0; offset /= 2)
      value = combine(value, __shfl_xor_sync(~0U, value, offset));
    return value;
  }
}

// Two sums at once: a block waits as often as for one.
template <int Threads>
__device__ inline float2 row_sums(float2 value) {
  auto over_warp = [&] {
    for (int offset = min(Threads, 32) / 2; offset > 0; offset /= 2) {
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
  // Whether a row of so many columns fits, wherever it begins.
  static bool holds(int64_t columns) {
    int64_t beside = columns % kWide == 0 ? 0 : kWide - 1;
    return columns + beside <= int64_t(Threads) * Vectors * kWide;
  }
  int64_t first;        // of the row
  int columns, before;  // before: numbers of the row before that lie in its first vector

  __device__ RowPlace(int64_t row, int64_t row_columns)
      : first(row * row_columns), columns(int(row_columns)), before(int(first % kWide)) {}
  // Of vector v's first number; may be below zero.
  __device__ int column(int v) const {
    return (v * Threads + int(threadIdx.x % Threads)) * kWide - before;
  }
  __device__ bool is_whole(int v) const { return column(v) >= 0 && column(v) + kWide <= columns; }
  __device__ bool has(int v, int i) const { return unsigned(column(v) + i) < unsigned(columns); }
  // use(v, inside) for every vector that has numbers of the row; inside(i): whether the i-th is one.
  // Most vectors lie wholly in the row: that case is compiled without tests.
  template <class Use>
  __device__ void each(Use use) const {
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      if (is_whole(v))
        use(v, [](int) { return true; });
      else if (column(v) < columns)
        use(v, [this, v](int i) { return has(v, i); });
    }
  }
};

// A thread's numbers as they lie in memory; what is not the row's is not to be used.
template <class T, int Threads, int Vectors>
struct RowPart {
  using Place = RowPlace<T, Threads, Vectors>;
  RawPack<T, kLanes<T>> at[Vectors];

  __device__ void load(const void* matrix, const Place& place) {
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      int column = place.column(v);
      if (column < place.columns)
        at[v] = load_pack<T, kLanes<T>>(static_cast<const T*>(matrix) + place.first + column);
    }
  }
  __device__ void get(int v, float (&to)[kLanes<T>]) const { to_floats<T, kLanes<T>>(at[v], to); }
  __device__ void set(int v, const float (&from)[kLanes<T>]) {
    at[v] = from_floats<T, kLanes<T>>(from);
  }

  __device__ void store(void* matrix, const Place& place) const {
    T* row = static_cast<T*>(matrix) + place.first;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      int column = place.column(v);
      if (place.is_whole(v)) {
        store_pack<T, kLanes<T>>(at[v], row + column);
      } else {
        float numbers[kLanes<T>];
        get(v, numbers);
#pragma unroll
        for (int i = 0; i < kLanes<T>; ++i)
          if (place.has(v, i)) row[column + i] = from_float<T>(numbers[i]);
      }
    }
  }
};

}  // namespace stoker::cuda
