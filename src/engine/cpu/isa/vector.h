// Vectors by name, for the kernels that must keep their sums in registers; everything else is left
// to the compiler.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif
#include <stdint.h>

#include "engine/cpu/isa/math.h"

namespace stoker::cpu::STOKER_ISA {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Vector __attribute__((vector_size(4 * kLanes)));
typedef int32_t Integers __attribute__((vector_size(4 * kLanes)));
typedef uint8_t Bytes __attribute__((vector_size(kLanes)));

template <class V, class T>
STOKER_INLINE V load(const T* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(V));
  return v;
}
template <class V, class T>
STOKER_INLINE void store(T* to, V v) {
  __builtin_memcpy(to, &v, sizeof(V));
}

// a · b + c by name: sums written with operators are reassociated under -ffast-math, which ends in
// spilled registers (measured: four times slower).
STOKER_INLINE Vector multiply_add(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

// `value`, but NaN where one of the four is: a maximum drops it. A comparison looks at two of them.
STOKER_INLINE Vector keep_nan(Vector value, Vector a, Vector b, Vector c, Vector d) {
  Vector nan = Vector{} + __builtin_nanf("");
#if defined(__AVX512F__)
  __mmask16 bad =
      __mmask16(_mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q) | _mm512_cmp_ps_mask(c, d, _CMP_UNORD_Q));
  return _mm512_mask_blend_ps(bad, value, nan);
#elif defined(__AVX2__)
  __m256 bad = _mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q), _mm256_cmp_ps(c, d, _CMP_UNORD_Q));
  return _mm256_blendv_ps(value, nan, bad);
#else
  return ((a != a) | (b != b) | (c != c) | (d != d)) ? nan : value;
#endif
}

}  // namespace stoker::cpu::STOKER_ISA
