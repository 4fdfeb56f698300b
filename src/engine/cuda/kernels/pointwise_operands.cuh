// How a thread of the pointwise kernel reads and writes the elements it owns, of any dtype and
// layout: a part of pointwise.cu, which alone includes it.
//
// Compiling that kernel is most of the work of building the engine, so every piece of code in it
// stands there once: floats that lie side by side are read in sixteen bytes, everything else one by
// one through a call.
#pragma once

#include "engine/cuda/kernels/common.cuh"
#include "engine/cuda/kernels/pointwise.h"

namespace stoker::cuda {

namespace {

template <class A>
__device__ __noinline__ A element_at(const void* data, DType dtype, int64_t at) {
  switch (dtype) {
    case DType::float32:
      return convert_to<A>(static_cast<const float*>(data)[at]);
    case DType::float16:
      return convert_to<A>(static_cast<const Half*>(data)[at]);
    case DType::bfloat16:
      return convert_to<A>(static_cast<const Bfloat*>(data)[at]);
    case DType::int8:
      return convert_to<A>(static_cast<const int8_t*>(data)[at]);
    case DType::int16:
      return convert_to<A>(static_cast<const int16_t*>(data)[at]);
    case DType::int32:
      return convert_to<A>(static_cast<const int32_t*>(data)[at]);
    case DType::int64:
      return convert_to<A>(static_cast<const int64_t*>(data)[at]);
    case DType::uint8:
      return convert_to<A>(static_cast<const uint8_t*>(data)[at]);
    case DType::bool_:
      return convert_to<A>(static_cast<const bool*>(data)[at]);
    case DType::bytes:
      break;
  }
  return A(0);
}

template <class A>
__device__ __noinline__ void put_element(void* data, DType dtype, int64_t at, A value) {
  switch (dtype) {
    case DType::float32:
      static_cast<float*>(data)[at] = convert_to<float>(value);
      return;
    case DType::float16:
      static_cast<Half*>(data)[at] = convert_to<Half>(value);
      return;
    case DType::bfloat16:
      static_cast<Bfloat*>(data)[at] = convert_to<Bfloat>(value);
      return;
    case DType::int8:
      static_cast<int8_t*>(data)[at] = convert_to<int8_t>(value);
      return;
    case DType::int16:
      static_cast<int16_t*>(data)[at] = convert_to<int16_t>(value);
      return;
    case DType::int32:
      static_cast<int32_t*>(data)[at] = convert_to<int32_t>(value);
      return;
    case DType::int64:
      static_cast<int64_t*>(data)[at] = convert_to<int64_t>(value);
      return;
    case DType::uint8:
      static_cast<uint8_t*>(data)[at] = convert_to<uint8_t>(value);
      return;
    case DType::bool_:
      static_cast<bool*>(data)[at] = convert_to<bool>(value);
      return;
    case DType::bytes:
      return;
  }
}

template <class Index>
__device__ inline int64_t strided_position(const PointwiseProgram& p,
                                           const PointwiseOperand& operand, Index element) {
  int64_t at = 0;
  for (int axis = p.rank - 1; axis >= 0; --axis) {
    auto extent = Index(p.dims[axis]);
    at += int64_t(element % extent) * operand.strides[axis];
    element /= extent;
  }
  return at;
}

__device__ inline int64_t position(const PointwiseProgram& p, const PointwiseOperand& operand,
                                   int64_t element) {
  switch (operand.reading) {
    case Reading::same:
      return element;
    case Reading::scalar:
      return 0;
    case Reading::channels:
      return element % operand.extent;
    case Reading::strided:
      break;
  }
  // Divisions of 64 bits cost four times as much.
  return p.elements <= 0x7fffffff ? strided_position(p, operand, unsigned(element))
                                  : strided_position(p, operand, element);
}

// Whether N elements from `first` on lie side by side in the operand, and where. The host has seen
// to it that extents of channels are multiples of N where they are vectors. Of a strided operand
// the innermost axis may lie together: then the strides of the others are multiples of it.
template <int N>
__device__ inline bool lies_together(const PointwiseProgram& p, const PointwiseOperand& operand,
                                     int64_t first, int64_t* at) {
  bool together = operand.reading == Reading::same;
  if (operand.reading == Reading::channels) together = operand.extent % N == 0;
  if (operand.reading == Reading::strided)
    together = operand.strides[p.rank - 1] == 1 && p.dims[p.rank - 1] % N == 0;
  if (together) *at = position(p, operand, first);
  return together;
}

template <class A, int N>
__device__ inline void read(const PointwiseProgram& p, const PointwiseOperand& operand,
                            int64_t first, int valid, A* to) {
  int64_t at = first;
  if constexpr (N > 1) {
    if (valid == N && lies_together<N>(p, operand, first, &at)) {
      switch (operand.dtype) {
        case DType::float32: {
          load_floats<N / 2>(static_cast<const float*>(operand.data) + at, to);
          load_floats<N / 2>(static_cast<const float*>(operand.data) + at + N / 2, to + N / 2);
          return;
        }
        case DType::float16:
          return load_floats<N>(static_cast<const Half*>(operand.data) + at, to);
        case DType::bfloat16:
          return load_floats<N>(static_cast<const Bfloat*>(operand.data) + at, to);
        default:
          break;
      }
    }
  }
  if (operand.reading == Reading::scalar) {
    A value = element_at<A>(operand.data, operand.dtype, 0);
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = value;
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i)
    to[i] = i < valid ? element_at<A>(operand.data, operand.dtype, position(p, operand, first + i))
                      : A(0);
}

template <class A, int N>
__device__ inline void write(const PointwiseProgram& p, int64_t first, int valid, const A* from) {
  if constexpr (N > 1) {
    if (valid == N) {
      switch (p.out_dtype) {
        case DType::float32:
          store_floats<N / 2>(from, static_cast<float*>(p.out) + first);
          store_floats<N / 2>(from + N / 2, static_cast<float*>(p.out) + first + N / 2);
          return;
        case DType::float16:
          return store_floats<N>(from, static_cast<Half*>(p.out) + first);
        case DType::bfloat16:
          return store_floats<N>(from, static_cast<Bfloat*>(p.out) + first);
        default:
          break;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (i < valid) put_element<A>(p.out, p.out_dtype, first + i, from[i]);
}

}  // namespace

}  // namespace stoker::cuda
