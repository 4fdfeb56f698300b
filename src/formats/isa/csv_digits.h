// Tables for digits in vectors of 16 bytes.
#pragma once

#include <stdint.h>

namespace stoker::csv_scan::STOKER_ISA {

constexpr int kWidth = 16;

// Decimal numbers, right-aligned in 16 bytes.
struct Shuffles {
  alignas(16) uint8_t align[2 * kWidth] = {};  // from byte n on: moves n bytes to the end
  alignas(16) uint8_t keep[2 * kWidth] = {};   // from byte n on: the last n bytes, as a mask
  alignas(16) uint8_t without[kWidth + 1][kWidth] = {};  // closes the gap at a place; 16: none
  double powers[kWidth + 1] = {};                        // of ten
  double divisors[kWidth + 1] = {};                      // for a point at a place; 16: none
  // Of 32 bytes: what the first 16 count for, by the place of a point in the others; divisors, by the
  // place in the others, or 16 + the place in the first 16.
  double scales[kWidth + 1] = {};
  double wide_divisors[2 * kWidth + 1] = {};
};

constexpr Shuffles make_shuffles() {
  constexpr uint8_t kZero = 0x80;
  Shuffles made;
  for (int i = 0; i < kWidth; ++i) {
    made.align[i] = kZero;
    made.align[kWidth + i] = uint8_t(i);
    made.keep[kWidth + i] = 0xFF;
  }
  for (int gap = 0; gap <= kWidth; ++gap)
    for (int i = 0; i < kWidth; ++i)
      made.without[gap][i] = gap == kWidth || i > gap ? uint8_t(i)
                             : i == 0                 ? kZero
                                                      : uint8_t(i - 1);
  double power = 1;
  for (int i = 0; i <= kWidth; ++i, power *= 10) made.powers[i] = power;  // exact up to 1e22
  for (int point = 0; point < kWidth; ++point)
    made.divisors[point] = made.powers[kWidth - 1 - point];
  made.divisors[kWidth] = 1;
  for (int point = 0; point < kWidth; ++point) {
    made.scales[point] = made.powers[kWidth - 1];
    made.wide_divisors[point] = made.divisors[point];
    made.wide_divisors[kWidth + point] = made.divisors[point] * made.powers[kWidth];
  }
  made.scales[kWidth] = made.powers[kWidth];
  made.wide_divisors[2 * kWidth] = 1;
  return made;
}
constexpr Shuffles kShuffles = make_shuffles();

}  // namespace stoker::csv_scan::STOKER_ISA
