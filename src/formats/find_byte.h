// Bytes found in memory, 16 at a time where the processor can (SSE2 is part of x86-64, so
// no variants are needed).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace stoker {

// Where `a` or `b` stands first; `end`: neither is there.
inline const char* find_either(const char* at, const char* end, char a, char b) {
#ifdef __SSE2__
  const __m128i first = _mm_set1_epi8(a), second = _mm_set1_epi8(b);
  for (; end - at >= 16; at += 16) {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, first), _mm_cmpeq_epi8(bytes, second));
    if (auto mask = uint32_t(_mm_movemask_epi8(found)); mask != 0)
      return at + std::countr_zero(mask);
  }
#endif
  while (at < end && *at != a && *at != b) ++at;
  return at;
}

}  // namespace stoker
