// Distributions as functions of random bits, for every engine: the same bits give the same number
// to the last bit. Only + - × ÷ on doubles, in a fixed order: compile without contraction into
// fused multiply-adds (--fmad=false; x86-64 without -mfma has none). Constexpr, so that device code
// may call them.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace stoker::draws {

// What the 32 bits of a word mean: the middle of one of 2^32 parts of (0, 1).
constexpr double open_unit(uint32_t bits) { return (double(bits) + 0.5) * 0x1p-32; }

constexpr double kLn2 = 0.6931471805599453;

// log(x) for positive normal x: x = m · 2^e, and 2 artanh((m - 1) / (m + 1)) as a series.
constexpr double log(double x) {
  auto bits = __builtin_bit_cast(uint64_t, x);
  int exponent = int(bits >> 52) - 1023;
  double m = __builtin_bit_cast(double, (bits & 0xfffffffffffffU) | 0x3ff0000000000000U);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  double t = (m - 1) / (m + 1), s = t * t, sum = 0;
  for (int term = 21; term >= 1; term -= 2) sum = sum * s + 1.0 / term;
  return 2 * t * sum + exponent * kLn2;
}

// e^x for |x| < 700: 2^n · e^r with |r| at most ln2 / 2.
constexpr double exp(double x) {
  auto n = int(x / kLn2 + (x < 0 ? -0.5 : 0.5));
  double r = x - n * kLn2, sum = 1;
  for (int term = 14; term >= 1; --term) sum = 1 + sum * r / term;
  return sum * __builtin_bit_cast(double, uint64_t(n + 1023) << 52);
}

// Newton's method from half the exponent.
constexpr double sqrt(double x) {
  if (x == 0) return 0;
  double y =
      __builtin_bit_cast(double, (__builtin_bit_cast(uint64_t, x) >> 1) + 0x1ff8000000000000U);
  for (int step = 0; step < 5; ++step) y = 0.5 * (y + x / y);
  return y;
}

constexpr double polynomial(const double* falling, int count, double x) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum = sum * x + falling[i];
  return sum;
}

// The normal distribution's quantile of p in (0, 1), to a relative error of 1.2e-9 (Acklam's
// rational functions).
constexpr double normal_quantile(double p) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                          6.680131188771972e+01,  -1.328068155288572e+01, 1};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                          3.754408661907416e+00, 1};
  constexpr double kTail = 0.02425;
  if (p >= kTail && p <= 1 - kTail) {
    double q = p - 0.5, r = q * q;
    return polynomial(a, 6, r) * q / polynomial(b, 6, r);
  }
  double q = sqrt(-2 * log(p < 0.5 ? p : 1 - p));
  double z = polynomial(c, 6, q) / polynomial(d, 5, q);
  return p < 0.5 ? z : -z;
}

// Cut off at two deviations: the quantile of a probability between Φ(-2) and Φ(2).
constexpr double truncated_normal_quantile(double p) {
  constexpr double kBelow = 0.022750131948179195;
  return normal_quantile(kBelow + p * (1 - 2 * kBelow));
}

constexpr double gumbel_quantile(double p) { return -log(-log(p)); }

// [0, range) from 64 bits; the bias is range / 2^64.
constexpr uint64_t below(uint64_t bits, uint64_t range) {
  uint64_t low = (bits & 0xffffffffU) * (range & 0xffffffffU);
  uint64_t middle = (bits >> 32) * (range & 0xffffffffU) + (low >> 32);
  uint64_t other = (bits & 0xffffffffU) * (range >> 32) + (middle & 0xffffffffU);
  return (bits >> 32) * (range >> 32) + (middle >> 32) + (other >> 32);
}

// --- by rejection: element `index` of a sequence takes attempt after attempt ---

// Four words of one attempt; attempts are far apart, so that elements never share any.
constexpr PhiloxBlock attempt(uint64_t seed, uint64_t sequence, uint64_t index, uint64_t number) {
  return random_block(seed, sequence, (number << 40) + index);
}

// Gamma with shape `alpha` and scale 1 (Marsaglia and Tsang, 2000); below 1 by way of alpha + 1.
constexpr double gamma(double alpha, uint64_t seed, uint64_t sequence, uint64_t index) {
  if (!(alpha > 0 && alpha < 1e300)) return alpha == 0 ? 0 : __builtin_nan("");
  double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / sqrt(9 * d);
  for (uint64_t number = 0; number < 4096; ++number) {
    PhiloxBlock bits = attempt(seed, sequence, index, number);
    double x = normal_quantile(open_unit(bits[0])), v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    if (log(open_unit(bits[1])) >= 0.5 * x * x + d - d * v + d * log(v)) continue;
    if (alpha >= 1) return d * v;
    double power = log(open_unit(bits[2])) / alpha;
    return power < -690 ? 0 : d * v * exp(power);
  }
  return d;  // not met: an attempt fails one time in twenty
}

// Successes of `count` trials of probability p, each with a word of its own; NaN for more than 1e9.
constexpr double binomial(double count, double p, uint64_t seed, uint64_t sequence,
                          uint64_t index) {
  if (!(count >= 0 && count <= 1e9 && p >= 0 && p <= 1)) return __builtin_nan("");
  auto trials = uint64_t(count);
  double successes = 0;
  for (uint64_t trial = 0; trial < trials; trial += 4) {
    PhiloxBlock bits = attempt(seed, sequence, index, trial / 4);
    for (uint64_t word = 0; word < 4 && trial + word < trials; ++word)
      successes += open_unit(bits[word]) < p ? 1 : 0;
  }
  return successes;
}

// --- one element of the op "random" ---

enum class Fn : int { uniform, normal, truncated_normal, gumbel, integer, gamma, binomial };

// What a draw needs beside its parameters. `low` and `high` are a range (uniform, integer: high
// excluded), or a centre and a scale.
struct Draw {
  Fn fn = Fn::uniform;
  double low = 0, high = 1;
  int64_t first = 0;   // integer
  uint64_t range = 1;  // integer
};

constexpr double number(const Draw& draw, uint64_t seed, uint64_t sequence, uint64_t index,
                        double parameter, double second) {
  if (draw.fn == Fn::gamma) return gamma(parameter, seed, sequence, index);
  if (draw.fn == Fn::binomial) return binomial(parameter, second, seed, sequence, index);
  uint32_t bits = random_block(seed, sequence, index / 4)[index % 4];
  if (draw.fn == Fn::uniform)
    return draw.low + (draw.high - draw.low) * (double(bits >> 8) * 0x1p-24);
  double p = open_unit(bits);
  double z = draw.fn == Fn::normal             ? normal_quantile(p)
             : draw.fn == Fn::truncated_normal ? truncated_normal_quantile(p)
                                               : gumbel_quantile(p);
  return draw.low + draw.high * z;
}

constexpr int64_t integer(const Draw& draw, uint64_t seed, uint64_t sequence, uint64_t index) {
  PhiloxBlock block = random_block(seed, sequence, index / 2);
  uint64_t bits = uint64_t(block[index % 2 * 2]) << 32 | block[index % 2 * 2 + 1];
  return int64_t(uint64_t(draw.first) + below(bits, draw.range));
}

// The next float towards minus infinity, of a finite one.
constexpr float below_float(float y) {
  auto bits = __builtin_bit_cast(uint32_t, y);
  if (y == 0) return -0x1p-149F;
  return __builtin_bit_cast(float, y > 0 ? bits - 1 : bits + 1);
}

// The float that is stored; a uniform one stays below its end, which rounding might reach.
constexpr float stored(const Draw& draw, double value) {
  auto y = float(value);
  if (draw.fn != Fn::uniform || !(y >= float(draw.high)) || !(draw.low < draw.high)) return y;
  return float(draw.low) < y ? below_float(y) : y;
}

}  // namespace stoker::draws
