// Numbers as text. Each parser begins at `at`, takes as much as is a number and returns the place
// behind it; null: there is none, or the type cannot hold it. Floats are rounded correctly, as
// strtof does it, in any locale.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>

namespace stoker {

inline bool is_digit(char c) { return uint8_t(c - '0') < 10; }

// Any float: "inf", "nan", twenty digits, exponents of any size.
const char* parse_any_float(const char* at, const char* end, float& value);

inline const char* parse_float(const char* at, const char* end, float& value) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* begin = at;
  bool negative = at < end && *at == '-';
  if (negative) ++at;
  uint64_t digits = 0;
  const char* first = at;
  while (at < end && is_digit(*at)) digits = digits * 10 + uint64_t(*at++ - '0');
  int64_t count = at - first, scale = 0;
  if (at < end && *at == '.') {
    const char* point = ++at;
    while (at < end && is_digit(*at)) digits = digits * 10 + uint64_t(*at++ - '0');
    scale = point - at;
    count -= scale;
  }
  bool exponent = at < end && (*at == 'e' || *at == 'E');
  if (count == 0 || count > 19 || exponent || digits > uint64_t(1) << 53 || scale < -22)
    return parse_any_float(begin, end, value);
  // Exact operands and one rounding: the nearest double. Rounding that to float is right unless it
  // lies halfway between two floats.
  double nearest = double(digits) / kPowers[-scale];
  if ((std::bit_cast<uint64_t>(nearest) & 0x1FFFFFFFU) == 0x10000000U)
    return parse_any_float(begin, end, value);
  value = float(negative ? -nearest : nearest);
  return at;
}

template <class T>
const char* parse_integer(const char* at, const char* end, T& value) {
  if (at < end && *at == '+' && at + 1 < end && is_digit(at[1])) ++at;
  auto [behind, error] = std::from_chars(at, end, value);
  return error == std::errc() ? behind : nullptr;
}

}  // namespace stoker
