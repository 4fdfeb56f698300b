// Bytes found and counted in memory, 16 at a time where the processor can (SSE2 is part of x86-64, so
// no variants are needed).
#pragma once

#include <algorithm>
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

// Whether [at, end) has neither `a` nor `b`, and no two line ends in a row.
inline bool has_plain_lines(const char* at, const char* end, char a, char b) {
  bool after_line = false;
#ifdef __SSE2__
  const __m128i first = _mm_set1_epi8(a), second = _mm_set1_epi8(b), line = _mm_set1_epi8('\n');
  for (; end - at >= 16; at += 16) {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, first), _mm_cmpeq_epi8(bytes, second));
    auto lines = uint32_t(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, line)));
    uint32_t blank = lines & (lines << 1 | uint32_t(after_line));
    if ((uint32_t(_mm_movemask_epi8(found)) | blank) != 0) return false;
    after_line = lines >> 15 != 0;
  }
#endif
  for (; at < end; ++at) {
    if (*at == a || *at == b || (after_line && *at == '\n')) return false;
    after_line = *at == '\n';
  }
  return true;
}

// How often `byte` stands in [at, end).
inline uint64_t count_byte(const char* at, const char* end, char byte) {
  uint64_t count = 0;
#ifdef __SSE2__
  const __m128i wanted = _mm_set1_epi8(byte);
  while (end - at >= 16) {
    __m128i found = _mm_setzero_si128();  // per place, at most 255
    for (ptrdiff_t rounds = std::min<ptrdiff_t>((end - at) / 16, 255); rounds > 0;
         --rounds, at += 16)
      found = _mm_sub_epi8(
          found, _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), wanted));
    __m128i sums = _mm_sad_epu8(found, _mm_setzero_si128());
    count += uint64_t(_mm_cvtsi128_si64(sums)) +
             uint64_t(_mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums)));
  }
#endif
  return count + uint64_t(std::count(at, end, byte));
}

}  // namespace stoker
