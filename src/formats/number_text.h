// Numbers as text. Each parser begins at `at`, takes as much as is a number and returns the place
// behind it; null: there is none, or the type cannot hold it. Floats are rounded correctly, as
// strtof does it, in any locale.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>

namespace stoker {

inline bool is_digit(char c) { return uint8_t(c - '0') < 10; }

// Takes up to 8 digits at `at` into `digits` in one step, where 8 bytes can be read.
inline const char* take_digits(const char* at, const char* end, uint64_t& digits) {
  if constexpr (std::endian::native == std::endian::little) {
    static constexpr uint64_t kPowers[] = {1,      10,      100,      1000,     10000,
                                           100000, 1000000, 10000000, 100000000};
    while (end - at >= 8) {
      uint64_t bytes = 0;
      std::memcpy(&bytes, at, 8);
      bytes ^= 0x3030303030303030U;  // a digit is its value
      uint64_t others = (bytes | (bytes + 0x7676767676767676U)) & 0x8080808080808080U;
      int count = others == 0 ? 8 : std::countr_zero(others) / 8;
      if (count == 0) return at;
      bytes <<= 8 * (8 - count);
      bytes = (bytes * 10 + (bytes >> 8)) & 0x00FF00FF00FF00FFU;
      bytes = (bytes * 100 + (bytes >> 16)) & 0x0000FFFF0000FFFFU;
      bytes = (bytes * 10000 + (bytes >> 32)) & 0xFFFFFFFFU;
      digits = digits * kPowers[count] + bytes;
      at += count;
      if (count < 8) return at;
    }
  }
  while (at < end && is_digit(*at)) digits = digits * 10 + uint64_t(*at++ - '0');
  return at;
}

// Any float: "inf", "nan", twenty digits, exponents of any size.
const char* parse_any_float(const char* at, const char* end, float& value);

inline const char* parse_float(const char* at, const char* end, float& value) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  static constexpr float kFloatPowers[] = {1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F,
                                           1e6F, 1e7F, 1e8F, 1e9F, 1e10F};
  const char* begin = at;
  bool negative = at < end && *at == '-';
  at += negative ? 1 : 0;
  uint64_t digits = 0;
  const char* first = at;
  while (at < end && is_digit(*at)) digits = digits * 10 + uint64_t(*at++ - '0');
  int64_t count = at - first, scale = 0;
  if (at < end && *at == '.') {
    const char* point = ++at;
    at = take_digits(at, end, digits);
    scale = point - at;
    count -= scale;
  }
  bool exponent = at < end && (*at == 'e' || *at == 'E');
  if (count == 0 || count > 19 || exponent || scale < -22)
    return parse_any_float(begin, end, value);
  // Signs are random: no branch on them.
  auto set = [&](float positive) {
    value = std::bit_cast<float>(std::bit_cast<uint32_t>(positive) | uint32_t(negative) << 31);
    return at;
  };
  // Exact operands and one rounding: the nearest float.
  if (digits <= uint64_t(1) << 24 && scale >= -10)
    return set(float(int64_t(digits)) / kFloatPowers[-scale]);
  // The nearest double, or, where the digits exceed 2^53, one of its neighbours: two roundings are off by
  // less than two units in the last place. Rounding that to float is right unless it lies about
  // halfway between two floats.
  constexpr uint64_t kHalfway = 0x10000000U, kNear = 4;
  double near = double(digits) / kPowers[-scale];
  if ((std::bit_cast<uint64_t>(near) & 0x1FFFFFFFU) - (kHalfway - kNear) <= 2 * kNear)
    return parse_any_float(begin, end, value);
  return set(float(near));
}

template <class T>
const char* parse_integer(const char* at, const char* end, T& value) {
  if (at < end && *at == '+' && at + 1 < end && is_digit(at[1])) ++at;
  auto [behind, error] = std::from_chars(at, end, value);
  return error == std::errc() ? behind : nullptr;
}

}  // namespace stoker
