// A whole number from 64 random bits.
#pragma once

#include <cstdint>

namespace stoker {

// [0, range) for range > 0: multiply and shift, redrawing the few values that would be drawn more
// often than the others (Lemire, "Fast random integer generation in an interval", 2019).
// `draw()` gives the next 64 bits.
template <class Draw>
uint64_t random_below(Draw&& draw, uint64_t range) {
  __extension__ using Uint128 = unsigned __int128;
  while (true) {
    Uint128 product = Uint128(draw()) * range;
    // 2^64 mod range is less than range: the division is hardly ever needed.
    if (uint64_t(product) >= range || uint64_t(product) >= -range % range)
      return uint64_t(product >> 64);
  }
}

}  // namespace stoker
