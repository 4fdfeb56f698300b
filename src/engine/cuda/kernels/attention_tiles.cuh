// Tiles of attention: a warp's part of rows · columnsᵀ and of weights · columns, on tensor cores for
// sixteen-bit numbers (TensorTiles) and with plain multiply-adds for float32 (PlainTiles). Rows stay
// with a warp, columns are what a block walks along. Fragments are arrays of a thread: element e of
// `Scores` lies at row(e), column(e) of the warp's rows and the block's columns; of `Sums` at
// sum_row(e), sum_column(e) of rows and dims. A thread meets kOwnRows rows; own(e) says which.
#pragma once

#include "engine/cuda/kernels/tensor_cores.cuh"

namespace stoker::cuda {

template <class T, int kDims_>
struct TensorTiles {
  using Element = T;
  static constexpr int kDims = kDims_, kWarps = 4, kWarpRows = 16, kColumns = 64;
  static constexpr int kThreads = 32 * kWarps, kRows = kWarps * kWarpRows;
  static constexpr int kPitch = kDims + 8;  // numbers from row to row in shared memory
  static constexpr int kScores = kColumns / 2, kSums = kDims / 2, kOwnRows = 2;
  using Scores = float[kScores];
  using Sums = float[kSums];
  static constexpr int kWeightBytes = 0;

  __device__ static int own(int e) { return e / 2 % 2; }
  __device__ static int own_row(int which) { return int(threadIdx.x) % 32 / 4 + 8 * which; }
  __device__ static int column(int e) { return e / 4 * 8 + int(threadIdx.x) % 4 * 2 + e % 2; }
  __device__ static int sum_own(int e) { return own(e); }
  __device__ static int sum_column(int e) { return column(e); }
  template <class Combine>
  __device__ static float over_row(float value, Combine combine) {
    value = combine(value, __shfl_xor_sync(~0U, value, 1));
    return combine(value, __shfl_xor_sync(~0U, value, 2));
  }
  __device__ static float exponential(float x) { return exp2f(x * 1.44269504F); }

  // scores += rows · columnsᵀ
  __device__ static void multiply_turned(Scores& scores, const T* rows, const T* columns) {
    int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int k = 0; k < kDims; k += 16) {
      unsigned a[4];
      load4(a, rows + lane % 16 * kPitch + k + lane / 16 * 8);
#pragma unroll
      for (int n = 0; n < kColumns; n += 16) {
        unsigned b[4];
        load4(b, columns + (n + lane / 16 * 8 + lane % 8) * kPitch + k + lane / 8 % 2 * 8);
        multiply<T>(scores + n / 2, a, b[0], b[1]);
        multiply<T>(scores + n / 2 + 4, a, b[2], b[3]);
      }
    }
  }
  // sums += weights · columns
  __device__ static void multiply_add(Sums& sums, const Scores& weights, const T* columns, void*) {
    int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int k = 0; k < kColumns; k += 16) {
      const float* w = weights + k / 2;
      unsigned a[4] = {pack<T>(w[0], w[1]), pack<T>(w[2], w[3]), pack<T>(w[4], w[5]),
                       pack<T>(w[6], w[7])};
#pragma unroll
      for (int n = 0; n < kDims; n += 16) {
        unsigned b[4];
        load4_turned(b, columns + (k + lane / 8 % 2 * 8 + lane % 8) * kPitch + n + lane / 16 * 8);
        multiply<T>(sums + n / 2, a, b[0], b[1]);
        multiply<T>(sums + n / 2 + 4, a, b[2], b[3]);
      }
    }
  }

 private:
  __device__ static void load4(unsigned* to, const T* from) {
    auto at = unsigned(__cvta_generic_to_shared(from));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
  }
  __device__ static void load4_turned(unsigned* to, const T* from) {
    auto at = unsigned(__cvta_generic_to_shared(from));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
  }
};

// A lane has one column of eight rows.
template <int kDims_>
struct PlainTiles {
  using Element = float;
  static constexpr int kDims = kDims_, kWarps = 8, kWarpRows = 8, kColumns = 32;
  static constexpr int kThreads = 32 * kWarps, kRows = kWarps * kWarpRows;
  static constexpr int kPitch = kDims + 4;
  static constexpr int kScores = kWarpRows, kSums = kWarpRows * kDims / 32, kOwnRows = kWarpRows;
  using Scores = float[kScores];
  using Sums = float[kSums];
  static constexpr int kWeightBytes = kRows * kColumns * int(sizeof(float));

  __device__ static int own(int e) { return e; }
  __device__ static int own_row(int which) { return which; }
  __device__ static int column(int) { return int(threadIdx.x) % 32; }
  __device__ static int sum_own(int e) { return e % kWarpRows; }
  __device__ static int sum_column(int e) { return int(threadIdx.x) % 32 + e / kWarpRows * 32; }
  template <class Combine>
  __device__ static float over_row(float value, Combine combine) {
    for (int offset = 16; offset > 0; offset /= 2)
      value = combine(value, __shfl_xor_sync(~0U, value, offset));
    return value;
  }
  __device__ static float exponential(float x) { return expf(x); }

  __device__ static void multiply_turned(Scores& scores, const float* rows, const float* columns) {
    const float* mine = columns + int(threadIdx.x) % 32 * kPitch;
#pragma unroll 4
    for (int k = 0; k < kDims; k += 4) {
      float4 b = *reinterpret_cast<const float4*>(mine + k);
#pragma unroll
      for (int r = 0; r < kWarpRows; ++r) {
        float4 a = *reinterpret_cast<const float4*>(rows + r * kPitch + k);
        scores[r] += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
      }
    }
  }
  // Weights go to the other lanes through `exchange`, kWarpRows × kColumns numbers per warp.
  __device__ static void multiply_add(Sums& sums, const Scores& weights, const float* columns,
                                      void* exchange) {
    int lane = int(threadIdx.x) % 32;
    float* mine = static_cast<float*>(exchange) + threadIdx.x / 32 * kWarpRows * kColumns;
    __syncwarp();
#pragma unroll
    for (int r = 0; r < kWarpRows; ++r) mine[r * kColumns + lane] = weights[r];
    __syncwarp();
    for (int k = 0; k < kColumns; k += 4) {
      float w[kWarpRows][4];
#pragma unroll
      for (int r = 0; r < kWarpRows; ++r)
        *reinterpret_cast<float4*>(w[r]) = *reinterpret_cast<float4*>(mine + r * kColumns + k);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int n = 0; n < kDims / 32; ++n) {
          float value = columns[(k + i) * kPitch + n * 32 + lane];
#pragma unroll
          for (int r = 0; r < kWarpRows; ++r) sums[n * kWarpRows + r] += w[r][i] * value;
        }
    }
  }
};

}  // namespace stoker::cuda
