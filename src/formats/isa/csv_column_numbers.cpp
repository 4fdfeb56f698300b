// The numbers of a column, four rows at a time: each in 16 bytes of a vector, its last digit at the end,
// so that all of them take the same instructions, and no field waits for the one before it (25 instead
// of 110 instructions per number).
#include "formats/isa/csv_families.h"

#ifdef __AVX2__
#include <immintrin.h>
#include <string.h>

#include "formats/isa/csv_digits.h"
#endif

namespace stoker::csv_scan::STOKER_ISA {

namespace {

#ifdef __AVX2__

constexpr size_t kRows = 4;  // at a time, one lane of 16 bytes each
constexpr uint64_t kOnes = 0x0001000100010001;

[[gnu::always_inline]] inline __m128i load(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

// Masks have one bit per byte, 16 per lane.
#ifdef __AVX512BW__

struct Lanes {
  __m512i all;

  [[gnu::always_inline]] static Lanes of(__m128i a, __m128i b, __m128i c, __m128i d) {
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);
    return {__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7)};
  }
  // As digits; 0 outside of `keep`.
  [[gnu::always_inline]] Lanes digits(const Lanes& keep) const {
    return {_mm512_and_si512(_mm512_sub_epi8(all, _mm512_set1_epi8('0')), keep.all)};
  }
  [[gnu::always_inline]] uint64_t mask() const { return _mm512_movepi8_mask(all); }
  [[gnu::always_inline]] uint64_t equal_to(char byte) const {
    return _mm512_cmpeq_epi8_mask(all, _mm512_set1_epi8(byte));
  }
  [[gnu::always_inline]] Lanes without(char, uint64_t places) const {
    return {_mm512_maskz_mov_epi8(~places, all)};
  }
  [[gnu::always_inline]] Lanes shuffled(const Lanes& places) const {
    return {_mm512_shuffle_epi8(all, places.all)};
  }
  [[gnu::always_inline]] uint64_t no_digits() const {
    return _mm512_cmpgt_epu8_mask(all, _mm512_set1_epi8(9));
  }
  // [h0 l0 h2 l2 | h1 l1 h3 l3]: lane i is 10^8 hi + li.
  [[gnu::always_inline]] __m256i halves() const {
    __m512i sums = _mm512_maddubs_epi16(all, _mm512_set1_epi16(0x010A));  // 10 a + b
    sums = _mm512_madd_epi16(sums, _mm512_set1_epi32(0x00010064));        // 100 a + b
    __m256i packed = _mm256_packus_epi32(__builtin_shufflevector(sums, sums, 0, 1, 2, 3),
                                         __builtin_shufflevector(sums, sums, 4, 5, 6, 7));
    return _mm256_madd_epi16(packed, _mm256_set1_epi32(0x00012710));  // 10000 a + b
  }
};

#else

struct Lanes {
  __m256i low, high;

  [[gnu::always_inline]] static Lanes of(__m128i a, __m128i b, __m128i c, __m128i d) {
    return {_mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1),
            _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1)};
  }
  [[gnu::always_inline]] Lanes digits(const Lanes& keep) const {
    const __m256i zero = _mm256_set1_epi8('0');
    return {_mm256_and_si256(_mm256_sub_epi8(low, zero), keep.low),
            _mm256_and_si256(_mm256_sub_epi8(high, zero), keep.high)};
  }
  [[gnu::always_inline]] uint64_t mask() const {
    return uint64_t(uint32_t(_mm256_movemask_epi8(low))) |
           uint64_t(uint32_t(_mm256_movemask_epi8(high))) << 32;
  }
  [[gnu::always_inline]] Lanes equals(char byte) const {
    const __m256i wanted = _mm256_set1_epi8(byte);
    return {_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted)};
  }
  [[gnu::always_inline]] uint64_t equal_to(char byte) const { return equals(byte).mask(); }
  [[gnu::always_inline]] Lanes without(char byte, uint64_t) const {
    Lanes places = equals(byte);
    return {_mm256_andnot_si256(places.low, low), _mm256_andnot_si256(places.high, high)};
  }
  [[gnu::always_inline]] Lanes shuffled(const Lanes& places) const {
    return {_mm256_shuffle_epi8(low, places.low), _mm256_shuffle_epi8(high, places.high)};
  }
  [[gnu::always_inline]] uint64_t no_digits() const {
    const __m256i ten = _mm256_set1_epi8(10);
    return Lanes{_mm256_cmpeq_epi8(_mm256_max_epu8(low, ten), low),
                 _mm256_cmpeq_epi8(_mm256_max_epu8(high, ten), high)}
        .mask();
  }
  [[gnu::always_inline]] static __m256i groups(__m256i digits) {
    __m256i sums = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
    return _mm256_madd_epi16(sums, _mm256_set1_epi32(0x00010064));
  }
  [[gnu::always_inline]] __m256i halves() const {
    return _mm256_madd_epi16(_mm256_packus_epi32(groups(low), groups(high)),
                             _mm256_set1_epi32(0x00012710));
  }
};

#endif

// Four fields as numbers.
struct Numbers {
  __m128i high, low;  // 10^8 high + low
  int point[kRows];   // its place; 16: none
  uint64_t negative;  // a lane is not 0: its number is
  uint64_t points;    // likewise: there is a point
  uint64_t wrong;     // likewise: it has something else than digits, a point and a sign in front
  uint64_t empty;     // likewise: it has no digit; maybe also the lane behind such a one
};

[[gnu::always_inline]] inline int first_bit(uint64_t lane) {
  return __builtin_ctz(uint32_t(lane & 0xFFFF) | 1U << kWidth);
}

// `keep`: which bytes belong to the fields. Of lanes that are all kept, a sign in the first byte may
// be right or wrong.
[[gnu::always_inline]] inline Numbers read_numbers(const Lanes& text, const Lanes& keep) {
  constexpr char kMinus = char('-' - '0'), kPoint = char('.' - '0');
  const auto* without = kShuffles.without;
  Lanes digits = text.digits(keep);
  uint64_t kept = keep.mask(), first = kept & ~(kept << 1);
  uint64_t minus = digits.equal_to(kMinus), points = digits.equal_to(kPoint);
  Numbers out;
  for (size_t lane = 0; lane < kRows; ++lane) out.point[lane] = first_bit(points >> 16 * lane);
  Lanes gaps = Lanes::of(load(without[out.point[0]]), load(without[out.point[1]]),
                         load(without[out.point[2]]), load(without[out.point[3]]));
  digits = digits.without(kMinus, minus).shuffled(gaps);
  uint64_t plain = kept & ~(minus | points);
  out.empty = (plain - kOnes) & ~plain & kOnes << 15;
  out.wrong = (minus & ~first) | digits.no_digits();
  out.negative = minus;
  out.points = points;
  __m256i halves =
      _mm256_permutevar8x32_epi32(digits.halves(), _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7));
  out.high = _mm256_castsi256_si128(halves);
  out.low = _mm256_extracti128_si256(halves, 1);
  return out;
}

[[gnu::always_inline]] inline __m256d divisors_of(const Numbers& numbers) {
  const double* of = kShuffles.divisors;
  return _mm256_setr_pd(of[numbers.point[0]], of[numbers.point[1]], of[numbers.point[2]],
                        of[numbers.point[3]]);
}

// As parse_float of formats/number_text.h: the nearest double by one rounding, and from there the
// nearest float, unless it lies halfway between two.
struct ToFloat {
  static constexpr size_t kBytes = 4;
  __m128 values;

  [[gnu::always_inline]] uint64_t convert(const Numbers& numbers) {
    __m256d value = _mm256_div_pd(value_of(numbers), divisors_of(numbers));  // below 10^15: exact
    __m256i halfway = _mm256_cmpeq_epi64(rest_of(value), _mm256_set1_epi64x(kHalfway));
    return finish(value, halfway, numbers.negative);
  }
  // Of twice as many bytes, `low` the last 16 of them. Five roundings: not about halfway between two.
  [[gnu::always_inline]] uint64_t convert(const Numbers& low, const Numbers& high) {
    constexpr int64_t kNear = 8;
    const double *scales = kShuffles.scales, *divisors = kShuffles.wide_divisors;
    int point[kRows];
    bool twice = false;
    for (size_t lane = 0; lane < kRows; ++lane) {
      twice |= low.point[lane] < kWidth && high.point[lane] < kWidth;
      point[lane] = low.point[lane] < kWidth ? low.point[lane] : kWidth + high.point[lane];
    }
    __m256d scale = _mm256_setr_pd(scales[low.point[0]], scales[low.point[1]], scales[low.point[2]],
                                   scales[low.point[3]]);
    __m256d value = _mm256_add_pd(_mm256_mul_pd(value_of(high), scale), value_of(low));
    value = _mm256_div_pd(value, _mm256_setr_pd(divisors[point[0]], divisors[point[1]],
                                                divisors[point[2]], divisors[point[3]]));
    __m256i above =
        _mm256_sub_epi64(rest_of(value), _mm256_set1_epi64x(kHalfway - kNear));  // negative: below
    __m256i near =
        _mm256_andnot_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), above),
                            _mm256_cmpgt_epi64(_mm256_set1_epi64x(2 * kNear + 1), above));
    uint64_t undecided = finish(value, near, low.negative | high.negative);
    return twice ? ~uint64_t(0) : undecided;
  }
  [[gnu::always_inline]] void store(char* to) const {
    _mm_storeu_ps(reinterpret_cast<float*>(to), values);
  }

 private:
  static constexpr int64_t kHalfway = 0x10000000;  // of the bits that a float does not have

  [[gnu::always_inline]] static __m256d value_of(const Numbers& numbers) {
    return _mm256_add_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(numbers.high), _mm256_set1_pd(1e8)),
                         _mm256_cvtepi32_pd(numbers.low));
  }
  [[gnu::always_inline]] static __m256i rest_of(__m256d value) {
    return _mm256_and_si256(_mm256_castpd_si256(value), _mm256_set1_epi64x(2 * kHalfway - 1));
  }
  // Returns the lanes that are undecided.
  [[gnu::always_inline]] uint64_t finish(__m256d value, __m256i undecided, uint64_t negative) {
    __m128i sign = _mm_cvtepu16_epi32(_mm_cvtsi64_si128(int64_t(negative)));
    sign = _mm_andnot_si128(_mm_cmpeq_epi32(sign, _mm_setzero_si128()),
                            _mm_set1_epi32(int32_t(0x80000000)));
    values = _mm_or_ps(_mm256_cvtpd_ps(value), _mm_castsi128_ps(sign));
    if (_mm256_testz_si256(undecided, undecided)) [[likely]]
      return 0;
    // One bit per lane, in the first of its 16.
    auto bits = uint64_t(uint32_t(_mm256_movemask_pd(_mm256_castsi256_pd(undecided))));
    return (bits & 1) | (bits & 2) << 15 | (bits & 4) << 30 | (bits & 8) << 45;
  }
};

struct ToInt64 {
  static constexpr size_t kBytes = 8;
  __m256i values;

  [[gnu::always_inline]] uint64_t convert(const Numbers& numbers) {
    __m256i value = _mm256_add_epi64(
        _mm256_mul_epu32(_mm256_cvtepu32_epi64(numbers.high), _mm256_set1_epi64x(100'000'000)),
        _mm256_cvtepu32_epi64(numbers.low));
    __m256i negative =
        _mm256_cmpgt_epi64(_mm256_cvtepu16_epi64(_mm_cvtsi64_si128(int64_t(numbers.negative))),
                           _mm256_setzero_si256());
    values = _mm256_sub_epi64(_mm256_xor_si256(value, negative), negative);
    return numbers.points;
  }
  [[gnu::always_inline]] void store(char* to) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), values);
  }
};

template <class To>
class Column {
 public:
  Column(const ColumnText& text, size_t column, const NumberTarget& target, uint32_t* others)
      : text_(text), column_(column), target_(target), others_(others), next_(others) {}

  size_t take() {
    size_t row = 0;  // two loops: the branch is hoisted
    if (target_.stride == To::kBytes)
      for (; row + kRows <= text_.rows; row += kRows) take(row, kRows, /*adjacent=*/true);
    else
      for (; row + kRows <= text_.rows; row += kRows) take(row, kRows, /*adjacent=*/false);
    if (row < text_.rows) take(row, text_.rows - row, /*adjacent=*/false);
    return size_t(next_ - others_);
  }

 private:
  // Rows from `row` on; with fewer than four, the last one stands in for the others.
  [[gnu::always_inline]] void take(size_t row, size_t count, bool adjacent) {
    const uint32_t* at = text_.ends + row * text_.columns + column_;
    // The first of them has the least text in front of it.
    if (text_.text + at[0] - text_.readable < kWidth) [[unlikely]]
      return list(row, count, ~uint64_t(0));
    __m128i bytes[kRows], keep[kRows];
    uint32_t longest = 0;
    for (size_t lane = 0; lane < kRows; ++lane) {
      uint32_t length = at[0] - at[-1] - 1;
      longest |= length;
      bytes[lane] = load(text_.text + at[0] - kWidth);
      keep[lane] = load(kShuffles.keep + length % kWidth);
      if (lane + 1 < count) at += text_.columns;
    }
    if (longest >= kWidth) [[unlikely]]
      return take_wide(row, count);
    Numbers numbers = read_numbers(Lanes::of(bytes[0], bytes[1], bytes[2], bytes[3]),
                                   Lanes::of(keep[0], keep[1], keep[2], keep[3]));
    To converted;
    uint64_t wrong = numbers.wrong | numbers.empty | converted.convert(numbers);
    char* place = target_.data + row * target_.stride;
    if (adjacent)
      converted.store(place);
    else
      store(converted, place, count);
    if (wrong != 0) [[unlikely]]
      list(row, count, wrong);
  }
  [[gnu::always_inline]] void store(const To& converted, char* place, size_t count) const {
    char values[kRows * To::kBytes];
    converted.store(values);
    for (size_t lane = 0; lane < count; ++lane)
      memcpy(place + lane * target_.stride, values + lane * To::kBytes, To::kBytes);
  }

  // Floats of up to 31 characters: digits of a double, as they are mostly written.
  void take_wide(size_t row, size_t count) {
    if constexpr (To::kBytes == sizeof(float)) {
      const uint32_t* at = text_.ends + row * text_.columns + column_;
      if (text_.text + at[0] - text_.readable >= 2 * kWidth) {
        __m128i bytes[2 * kRows], keep[2 * kRows];
        uint32_t longest = 0;
        for (size_t lane = 0; lane < kRows; ++lane) {
          uint32_t length = at[0] - at[-1] - 1, here = length % (2 * kWidth);
          longest |= length;
          bytes[lane] = load(text_.text + at[0] - kWidth);
          bytes[kRows + lane] = load(text_.text + at[0] - 2 * kWidth);
          keep[lane] = load(kShuffles.keep + (here < kWidth ? here : kWidth));
          keep[kRows + lane] = load(kShuffles.keep + (here < kWidth ? 0 : here - kWidth));
          if (lane + 1 < count) at += text_.columns;
        }
        if (longest < 2 * kWidth) {
          Numbers low = read_numbers(Lanes::of(bytes[0], bytes[1], bytes[2], bytes[3]),
                                     Lanes::of(keep[0], keep[1], keep[2], keep[3]));
          Numbers high = read_numbers(Lanes::of(bytes[4], bytes[5], bytes[6], bytes[7]),
                                      Lanes::of(keep[4], keep[5], keep[6], keep[7]));
          To converted;
          uint64_t wrong = low.wrong | low.empty | high.wrong | converted.convert(low, high);
          wrong |= low.negative & kOnes;  // in the middle, or not looked at: 16 characters
          store(converted, target_.data + row * target_.stride, count);
          if (wrong != 0) [[unlikely]]
            list(row, count, wrong);
          return;
        }
      }
    }
    list(row, count, ~uint64_t(0));
  }

  void list(size_t row, size_t count, uint64_t wrong) {
    for (size_t lane = 0; lane < count; ++lane)
      if ((wrong >> 16 * lane & 0xFFFF) != 0) *next_++ = uint32_t(row + lane);
  }

  ColumnText text_;
  size_t column_;
  NumberTarget target_;
  uint32_t *others_, *next_;
};

size_t column_numbers(const ColumnText& text, size_t column, const NumberTarget& target,
                      uint32_t* others) {
  if (target.kind == NumberKind::float32)
    return Column<ToFloat>(text, column, target, others).take();
  return Column<ToInt64>(text, column, target, others).take();
}

#else

// Without field_ends there is no column to read.
size_t column_numbers(const ColumnText& text, size_t, const NumberTarget&, uint32_t* others) {
  for (size_t row = 0; row < text.rows; ++row) others[row] = uint32_t(row);
  return text.rows;
}

#endif

}  // namespace

void add_column_numbers(Kernels& table) { table.column_numbers = column_numbers; }

}  // namespace stoker::csv_scan::STOKER_ISA
