#include "formats/isa/csv_kernels.h"

#ifdef __AVX2__
#include <immintrin.h>
#include <string.h>
#endif

namespace stoker::csv_scan::STOKER_ISA {

namespace {

#ifdef __AVX2__

constexpr int kWidth = 16;

struct Shuffles {
  alignas(16) uint8_t align[2 * kWidth] = {};            // from byte n on: moves n bytes to the end
  alignas(16) uint8_t without[kWidth + 1][kWidth] = {};  // closes the gap at a place; 16: none
  double powers[kWidth + 1] = {};
};

constexpr Shuffles make_shuffles() {
  constexpr uint8_t kZero = 0x80;
  Shuffles made;
  for (int i = 0; i < kWidth; ++i) {
    made.align[i] = kZero;
    made.align[kWidth + i] = uint8_t(i);
  }
  for (int gap = 0; gap <= kWidth; ++gap)
    for (int i = 0; i < kWidth; ++i)
      made.without[gap][i] = gap == kWidth || i > gap ? uint8_t(i)
                             : i == 0                 ? kZero
                                                      : uint8_t(i - 1);
  double power = 1;
  for (int i = 0; i <= kWidth; ++i, power *= 10) made.powers[i] = power;  // exact up to 1e22
  return made;
}
constexpr Shuffles kShuffles = make_shuffles();

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

constexpr int kChunk = 64;

[[gnu::always_inline]] inline uint64_t equal_to(const __m256i& low, const __m256i& high,
                                                char byte) {
  const __m256i wanted = _mm256_set1_epi8(byte);
  return uint64_t(uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)))) |
         uint64_t(uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)))) << 32;
}

// Bit i: how many of bits 0 … i are set, modulo 2.
[[gnu::always_inline]] inline uint64_t running_parity(uint64_t bits) {
  for (int shift = 1; shift < kChunk; shift *= 2) bits ^= bits << shift;
  return bits;
}

[[gnu::always_inline]] inline bool opens_field(char before, const LineMarks& marks) {
  return before == marks.delimiter || before == '\n' || before == marks.quote;
}

RecordEnds record_ends(const char* begin, const char* end, const LineMarks& marks, uint32_t* ends) {
  uint64_t inside = 0;  // all bits: the chunk begins in quotes
  uint64_t after_line = 1, wrong = 0;
  size_t count = 0;
  for (const char* at = begin; at < end; at += kChunk) {
    char copy[kChunk];
    const char* from = at;
    if (end - at < kChunk) {
      memset(copy, 0, sizeof copy);
      memcpy(copy, at, size_t(end - at));
      from = copy;
    }
    __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + kChunk / 2));
    uint64_t lines = equal_to(low, high, '\n');
    uint64_t quotes = marks.quote == '\0' ? 0 : equal_to(low, high, marks.quote);
    uint64_t quoted = inside;
    if (quotes != 0) {
      quoted ^= running_parity(quotes);
      inside = uint64_t(int64_t(quoted) >> 63);
      // One that opens follows a delimiter, a line end, or the one that it is doubled with.
      uint64_t before = equal_to(low, high, marks.delimiter) | lines | quotes;
      wrong |=
          quotes & quoted & ~(before << 1 | uint64_t(at == begin || opens_field(at[-1], marks)));
    }
    wrong |= equal_to(low, high, '\r') | (lines & quoted);
    wrong |= lines & (lines << 1 | after_line);  // a blank line
    after_line = lines >> 63;
    auto offset = uint32_t(at - begin);
    for (; lines != 0; lines &= lines - 1)
      ends[count++] = offset + uint32_t(__builtin_ctzll(lines));
    if (wrong != 0) return {0, false};
  }
  return {count, true};
}

#else

TakenNumbers numbers(const RecordText& record, char, const NumberTarget*, size_t, size_t) {
  return {0, record.begin};
}
RecordEnds record_ends(const char*, const char*, const LineMarks&, uint32_t*) { return {0, false}; }

#endif

}  // namespace

}  // namespace stoker::csv_scan::STOKER_ISA

namespace stoker::csv_scan {

void fill_table(Kernels& table, isa::STOKER_ISA) {
  table = {.numbers = STOKER_ISA::numbers, .record_ends = STOKER_ISA::record_ends};
}

}  // namespace stoker::csv_scan
