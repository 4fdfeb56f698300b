// What all kernels share: element types, vectors of sixteen bytes, sums over a block.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <stoker/dtype.h>

#include "engine/cuda/check.h"

namespace stoker::cuda {

using Half = __half;
using Bfloat = __nv_bfloat16;

constexpr int kBlock = 256;  // threads of most kernels

inline unsigned blocks_for(int64_t items, int64_t per_block, int64_t most = 1 << 30) {
  return unsigned(std::clamp<int64_t>((items + per_block - 1) / per_block, 1, most));
}

// --- conversions, defined as base/convert.h defines them ---

template <class T>
inline constexpr bool is_float_type =
    std::is_same_v<T, float> || std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(Half value) { return __half2float(value); }
__device__ inline float to_float(Bfloat value) { return __bfloat162float(value); }

template <class T>
__device__ inline T from_float(float value) {
  if constexpr (std::is_same_v<T, float>)
    return value;
  else if constexpr (std::is_same_v<T, Half>)
    return __float2half_rn(value);
  else
    return __float2bfloat16_rn(value);
}

template <class To, class From>
__device__ inline To convert_to(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, Bfloat>) {
    return convert_to<To>(to_float(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, Bfloat>) {
    return from_float<To>(float(value));
  } else if constexpr (std::is_integral_v<To> && std::is_same_v<From, float>) {
    constexpr To low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    if (value >= float(high)) return high;
    if (value <= float(low)) return low;
    return value == value ? To(value) : To(0);
  } else {
    return To(value);
  }
}

// function(T()) for the type of an element on the device.
template <class Function>
decltype(auto) visit_float(DType dtype, Function function) {
  switch (dtype) {
    case DType::float32:
      return function(float{});
    case DType::float16:
      return function(Half{});
    case DType::bfloat16:
      return function(Bfloat{});
    default:
      throw ShapeError("expected a floating dtype");
  }
}

template <class Function>
decltype(auto) visit_element(DType dtype, Function function) {
  switch (dtype) {
    case DType::float32:
    case DType::float16:
    case DType::bfloat16:
      return visit_float(dtype, function);
    case DType::int8:
      return function(int8_t{});
    case DType::int16:
      return function(int16_t{});
    case DType::int32:
      return function(int32_t{});
    case DType::int64:
      return function(int64_t{});
    case DType::uint8:
      return function(uint8_t{});
    case DType::bool_:
      return function(bool{});
    case DType::bytes:
      break;
  }
  throw ShapeError("strings have no place on a GPU");
}

// --- vectors ---

// How many elements sixteen bytes hold.
template <class T>
inline constexpr int kLanes = 16 / int(sizeof(T));

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

// Two sixteen-bit numbers of a word, as floats and back: an instruction each, or one for both.
template <class T>
__device__ inline float2 unpack_pair(uint32_t word) {
  if constexpr (std::is_same_v<T, Bfloat>)
    return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000U));
  else
    return __half22float2(*reinterpret_cast<const __half2*>(&word));
}
template <class T>
__device__ inline uint32_t pack_pair(float low, float high) {
  std::conditional_t<std::is_same_v<T, Bfloat>, __nv_bfloat162, __half2> pair;
  if constexpr (std::is_same_v<T, Bfloat>)
    pair = __floats2bfloat162_rn(low, high);
  else
    pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// N elements as they lie in memory. Sixteen-bit ones go in words of two: copied one by one, as the
// compiler does with their own types, they would be loads and stores of two bytes.
template <class T, int N>
inline constexpr bool kInPairs = is_float_type<T> && sizeof(T) == 2 && N % 2 == 0;
template <class T, int N>
using RawPack = std::conditional_t<kInPairs<T, N>, Pack<uint32_t, (N + 1) / 2>, Pack<T, N>>;

template <class T, int N>
__device__ inline RawPack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const RawPack<T, N>*>(from);
}
template <class T, int N>
__device__ inline void store_pack(const RawPack<T, N>& pack, T* to) {
  *reinterpret_cast<RawPack<T, N>*>(to) = pack;
}

template <class T, int N>
__device__ inline void to_floats(const RawPack<T, N>& pack, float* to) {
  if constexpr (kInPairs<T, N>) {
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      float2 both = unpack_pair<T>(pack.at[i]);
      to[2 * i] = both.x;
      to[2 * i + 1] = both.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = to_float(pack.at[i]);
  }
}

template <class T, int N>
__device__ inline RawPack<T, N> from_floats(const float* from) {
  RawPack<T, N> pack;
  if constexpr (kInPairs<T, N>) {
#pragma unroll
    for (int i = 0; i < N / 2; ++i) pack.at[i] = pack_pair<T>(from[2 * i], from[2 * i + 1]);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) pack.at[i] = from_float<T>(from[i]);
  }
  return pack;
}

// N consecutive elements as floats.
template <int N, class T>
__device__ inline void load_floats(const T* from, float* to) {
  to_floats<T, N>(load_pack<T, N>(from), to);
}

template <int N, class T>
__device__ inline void store_floats(const float* from, T* to) {
  store_pack<T, N>(from_floats<T, N>(from), to);
}

// The larger one, NaN where one of them is.
__device__ inline float max_or_nan(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
}

// Whether a takes b's place as the maximum; NaN is the largest of all.
__device__ inline bool beats(float a, float b) { return a > b || (a != a && b == b); }

// --- a block's own reductions; every thread gets the result ---

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// blockDim.x must be a multiple of 32. The order of the sum depends on blockDim alone.
template <class T, class Combine>
__device__ T block_reduce(T value, T start, Combine combine) {
  __shared__ T parts[32];
  int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  for (int offset = 16; offset > 0; offset /= 2)
    value = combine(value, __shfl_xor_sync(~0U, value, offset));
  __syncthreads();  // the previous use of parts has been read
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  value = lane < int(blockDim.x) / 32 ? parts[lane] : start;
  for (int offset = 16; offset > 0; offset /= 2)
    value = combine(value, __shfl_xor_sync(~0U, value, offset));
  return value;
}

}  // namespace stoker::cuda
