// The numbers of a record, one after the other.
#include "formats/isa/csv_families.h"

#ifdef __AVX2__
#include <immintrin.h>
#include <string.h>

#include "formats/isa/csv_digits.h"
#endif

namespace stoker::csv_scan::STOKER_ISA {

namespace {

#ifdef __AVX2__

struct Digits {
  uint64_t value = 0;
  int decimals = 0;  // behind the point; -1: there is no point
  bool plain = false;
};

// `length` characters, digits and at most one point, as one number. 16 bytes can be read.
[[gnu::always_inline]] inline Digits read_digits(const char* at, int length) {
  if (unsigned(length - 1) >= unsigned(kWidth)) return {};
  const __m128i ten = _mm_set1_epi8(10);
  __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  __m128i align = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kShuffles.align + length));
  // A digit is its value; what does not belong to the field is 0.
  __m128i digits = _mm_shuffle_epi8(_mm_sub_epi8(text, _mm_set1_epi8('0')), align);
  auto points = uint32_t(_mm_movemask_epi8(_mm_cmpeq_epi8(digits, _mm_set1_epi8('.' - '0'))));
  auto others = uint32_t(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(digits, ten), digits)));
  int point = __builtin_ctz(points | 1U << kWidth);
  bool plain = others == points && (points & (points - 1)) == 0 && (length > 1 || points == 0);
  if (!plain) return {};
  digits = _mm_shuffle_epi8(
      digits, _mm_load_si128(reinterpret_cast<const __m128i*>(kShuffles.without[point])));
  digits = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010A));   // 10 a + b
  digits = _mm_madd_epi16(digits, _mm_set1_epi32(0x00010064));  // 100 a + b
  digits = _mm_packus_epi32(digits, digits);
  digits = _mm_madd_epi16(digits, _mm_set1_epi32(0x00012710));  // 10000 a + b
  auto halves = uint64_t(_mm_cvtsi128_si64(digits));
  return {.value = (halves & 0xFFFFFFFFU) * 100'000'000U + (halves >> 32),
          .decimals = kWidth - 1 - point,
          .plain = true};
}

// As parse_float of formats/number_text.h: the nearest double by one rounding, and from there the
// nearest float, unless it lies halfway between two.
[[gnu::always_inline]] inline bool store_float(const Digits& digits, bool negative, char* place) {
  if (digits.value >> 53 != 0) return false;
  double value =
      double(int64_t(digits.value)) / kShuffles.powers[digits.decimals < 0 ? 0 : digits.decimals];
  if ((__builtin_bit_cast(uint64_t, value) & 0x1FFFFFFFU) == 0x10000000U) return false;
  uint32_t bits = __builtin_bit_cast(uint32_t, float(value)) | uint32_t(negative) << 31;
  memcpy(place, &bits, sizeof bits);
  return true;
}

[[gnu::always_inline]] inline bool store_int64(const Digits& digits, bool negative, char* place) {
  if (digits.decimals >= 0) return false;
  int64_t value = negative ? -int64_t(digits.value) : int64_t(digits.value);
  memcpy(place, &value, sizeof value);
  return true;
}

TakenNumbers numbers(const RecordText& record, char delimiter, const NumberTarget* targets,
                     size_t count, size_t row) {
  const __m128i wanted = _mm_set1_epi8(delimiter);
  const char *at = record.begin, *end = record.end;
  size_t field = 0;
  while (field < count && targets[field].kind != NumberKind::none && at <= end) {
    char copy[2 * kWidth];
    const char* from = at;
    if (record.readable - at <= kWidth) {  // rare: the last bytes of what can be read
      memset(copy, 0, sizeof copy);
      auto rest = size_t(end - at);
      if (rest > 0) memcpy(copy, at, rest < sizeof copy ? rest : sizeof copy);  // else maybe null
      from = copy;
    }
    // The field's end is found from its first byte on, sign and all: what is found next does not wait
    // for it.
    __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    auto ends = uint32_t(_mm_movemask_epi8(_mm_cmpeq_epi8(text, wanted)));
    // No branch on what is left, which would be mispredicted: 50 instead of 111 ms for 4.4 million fields.
    ptrdiff_t left = end - at;
    ends |= uint32_t(uint64_t(1) << (left < 2 * kWidth ? left : 2 * kWidth));
    if (ends == 0) break;
    int length = __builtin_ctz(ends);
    bool negative = *from == '-';
    Digits digits = read_digits(from + negative, length - int(negative));
    const NumberTarget& target = targets[field];
    char* place = target.data + row * target.stride;
    if (!digits.plain ||
        !(target.kind == NumberKind::float32 ? store_float(digits, negative, place)
                                             : store_int64(digits, negative, place)))
      break;
    at += length + 1;
    ++field;
  }
  return {field, at};
}

#else

TakenNumbers numbers(const RecordText& record, char, const NumberTarget*, size_t, size_t) {
  return {0, record.begin};
}

#endif

}  // namespace

void add_record_numbers(Kernels& table) { table.numbers = numbers; }

}  // namespace stoker::csv_scan::STOKER_ISA
