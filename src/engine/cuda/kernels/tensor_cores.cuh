// Tensor cores as a warp's threads see them: the product of sixteen-bit numbers, two in a word.
#pragma once

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

template <class T>
using Pair = std::conditional_t<std::is_same_v<T, Half>, __half2, __nv_bfloat162>;

template <class T>
__device__ inline unsigned pack(float first, float second) {
  Pair<T> pair;
  if constexpr (std::is_same_v<T, Half>)
    pair = __floats2half2_rn(first, second);
  else
    pair = __floats2bfloat162_rn(first, second);
  return *reinterpret_cast<unsigned*>(&pair);
}

template <class T>
__device__ inline unsigned pack(T first, T second) {
  return unsigned(*reinterpret_cast<unsigned short*>(&first)) |
         unsigned(*reinterpret_cast<unsigned short*>(&second)) << 16;
}

template <class T>
__device__ inline Pair<T> as_pair(unsigned bits) {
  return *reinterpret_cast<Pair<T>*>(&bits);
}

// sums += a · b: 16×16 by 16×8, in the places that the instruction gives to a warp's threads.
template <class T>
__device__ inline void multiply(float* sums, const unsigned* a, unsigned b0, unsigned b1) {
  if constexpr (std::is_same_v<T, Half>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Bytes of a and b as `selector` names them; a nibble with its top bit set: only the byte's sign.
__device__ inline unsigned permute(unsigned a, unsigned b, unsigned selector) {
  unsigned result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
}

template <class Function>
void visit_half(DType dtype, Function function) {
  if (dtype == DType::float16)
    function(Half{});
  else
    function(Bfloat{});
}

}  // namespace stoker::cuda
