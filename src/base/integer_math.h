// Integer arithmetic whose corner cases are defined: every engine computes with these. Results of
// narrower integers wrap when they are stored.
#pragma once

#include <cstdint>

namespace stoker {

// The rest with the sign of b; 0 for b = 0.
constexpr int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// Rounded down; 0 for b = 0.
constexpr int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return int64_t(0 - uint64_t(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// By 64 or more: all bits go. By less than 0: none moves.
constexpr int64_t shift_left(int64_t a, int64_t bits) {
  return bits < 0 ? a : bits > 63 ? 0 : int64_t(uint64_t(a) << bits);
}
constexpr int64_t shift_right(int64_t a, int64_t bits) {  // keeps the sign
  return bits < 0 ? a : a >> (bits > 63 ? 63 : bits);
}

}  // namespace stoker
