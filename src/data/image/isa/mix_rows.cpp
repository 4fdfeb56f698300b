// The vertical half of a resize: weighted sums of whole rows.
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "data/image/isa/families.h"

namespace stoker::image::STOKER_ISA {
namespace {

constexpr int kHalf = 1 << (kWeightBits - 1);

#if defined(__AVX512BW__)

constexpr int64_t kBytes = 64;
using Bytes = __m512i;
typedef int32_t Sums __attribute__((vector_size(64)));
Bytes load(const uint8_t* from) { return _mm512_loadu_si512(from); }
void store(uint8_t* to, Bytes v) { _mm512_storeu_si512(to, v); }
Bytes all_of(int32_t v) { return _mm512_set1_epi32(v); }
Bytes low(Bytes a, Bytes b) { return _mm512_unpacklo_epi8(a, b); }
Bytes high(Bytes a, Bytes b) { return _mm512_unpackhi_epi8(a, b); }
Bytes add_products(Bytes sum, Bytes a, Bytes b) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
}
Bytes shifted(Bytes sums) { return Bytes(Sums(sums) >> kWeightBits); }
Bytes pack(Bytes a, Bytes b, Bytes c, Bytes d) {
  Bytes ab = _mm512_packs_epi32(shifted(a), shifted(b));
  Bytes cd = _mm512_packs_epi32(shifted(c), shifted(d));
  return _mm512_packus_epi16(ab, cd);
}

#elif defined(__AVX2__)

constexpr int64_t kBytes = 32;
using Bytes = __m256i;
typedef int32_t Sums __attribute__((vector_size(32)));
Bytes load(const uint8_t* from) { return _mm256_loadu_si256((const __m256i*)from); }
void store(uint8_t* to, Bytes v) { _mm256_storeu_si256((__m256i*)to, v); }
Bytes all_of(int32_t v) { return _mm256_set1_epi32(v); }
Bytes low(Bytes a, Bytes b) { return _mm256_unpacklo_epi8(a, b); }
Bytes high(Bytes a, Bytes b) { return _mm256_unpackhi_epi8(a, b); }
Bytes add_products(Bytes sum, Bytes a, Bytes b) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}
Bytes shifted(Bytes sums) { return Bytes(Sums(sums) >> kWeightBits); }
Bytes pack(Bytes a, Bytes b, Bytes c, Bytes d) {
  Bytes ab = _mm256_packs_epi32(shifted(a), shifted(b));
  Bytes cd = _mm256_packs_epi32(shifted(c), shifted(d));
  return _mm256_packus_epi16(ab, cd);
}

#endif

uint8_t mix_value(const uint8_t* rows, int64_t stride, const int16_t* weights, int64_t taps) {
  int32_t sum = kHalf;
  for (int64_t tap = 0; tap < taps; ++tap) sum += weights[tap] * rows[tap * stride];
  return uint8_t(sum >> kWeightBits);  // weights are positive and sum to one: never above 255
}

#ifdef __AVX2__

// Two rows at a time, interleaved to pairs that pmaddwd multiplies and adds. An odd last row is
// paired with itself at weight zero.
inline Bytes mix_vector(const uint8_t* rows, int64_t stride, const int16_t* weights, int64_t taps) {
  const Bytes zero = all_of(0);
  Bytes a = all_of(kHalf), b = a, c = a, d = a;
  for (int64_t tap = 0; tap < taps; tap += 2) {
    bool pair = tap + 1 < taps;
    Bytes u = load(rows + tap * stride), v = pair ? load(rows + (tap + 1) * stride) : u;
    uint32_t second = pair ? uint32_t(uint16_t(weights[tap + 1])) << 16 : 0;
    Bytes weight = all_of(int32_t(second | uint16_t(weights[tap])));
    Bytes lows = low(u, v), highs = high(u, v);
    a = add_products(a, low(lows, zero), weight);
    b = add_products(b, high(lows, zero), weight);
    c = add_products(c, low(highs, zero), weight);
    d = add_products(d, high(highs, zero), weight);
  }
  return pack(a, b, c, d);
}

#endif

void mix_rows_u8(const uint8_t* rows, int64_t stride, const int16_t* weights, int64_t taps,
                 int64_t values, uint8_t* out) {
  int64_t i = 0;
#ifdef __AVX2__
  for (; i + kBytes <= values; i += kBytes)
    store(out + i, mix_vector(rows + i, stride, weights, taps));
  if (i < values && values >= kBytes) {  // once more, overlapping, up to the end
    i = values - kBytes;
    store(out + i, mix_vector(rows + i, stride, weights, taps));
    return;
  }
#endif
  for (; i < values; ++i) out[i] = mix_value(rows + i, stride, weights, taps);
}

void mix_rows_f32(const float* rows, int64_t stride, const float* weights, int64_t taps,
                  int64_t values, float* __restrict out) {
  for (int64_t i = 0; i < values; ++i) out[i] = rows[i] * weights[0];
  for (int64_t tap = 1; tap < taps; ++tap) {
    const float* row = rows + tap * stride;
    for (int64_t i = 0; i < values; ++i) out[i] += row[i] * weights[tap];
  }
}

}  // namespace

void add_mix_rows(Kernels& table) {
  table.mix_rows_u8 = mix_rows_u8;
  table.mix_rows_f32 = mix_rows_f32;
}

}  // namespace stoker::image::STOKER_ISA
