// Elementary functions as straight-line code that the compiler turns into vectors. Own polynomials,
// so that results depend neither on the C library's version nor on which of its variants a loop
// gets. Errors stay below 2 units in the last place over the whole range (the contract allows 16).
// -ffast-math may reorder sums, so every step whose rounding matters is an fma() or an exact
// operation.
#pragma once

#include <stdint.h>

namespace stoker::cpu::STOKER_ISA {

#define STOKER_INLINE static inline __attribute__((always_inline))

STOKER_INLINE float fma(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return float(double(a) * double(b) + double(c));
#endif
}
STOKER_INLINE float from_bits(int32_t bits) { return __builtin_bit_cast(float, bits); }
STOKER_INLINE int32_t to_bits(float x) { return __builtin_bit_cast(int32_t, x); }
// a + (n << bits) in two's complement, whatever NaN has made of them.
STOKER_INLINE int32_t plus(int32_t a, int32_t n, int bits = 0) {
  return int32_t(uint32_t(a) + (uint32_t(n) << bits));
}
// condition ? a : b, both computed: of two long formulas GCC would skip one by a branch.
STOKER_INLINE float choose(bool condition, float a, float b) {
  int32_t mask = -int32_t(condition);
  return from_bits((to_bits(a) & mask) | (to_bits(b) & ~mask));
}
STOKER_INLINE float abs(float x) { return __builtin_fabsf(x); }
STOKER_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
STOKER_INLINE float sign(float x) { return x > 0 ? 1.0F : x < 0 ? -1.0F : x == x ? 0.0F : x; }
STOKER_INLINE float clip(float x, float low, float high) {
  return x < low ? low : x > high ? high : x;
}

// The nearest integer of a number that fits one; rintf itself is no vector instruction before
// SSE 4.1.
STOKER_INLINE int32_t nearest(float x) { return int32_t(x + (x < 0 ? -0.5F : 0.5F)); }
// 2^n for n in [-126, 127]
STOKER_INLINE float power_of_two(int32_t n) { return from_bits(plus(127 << 23, n, 23)); }

// r in [-ln2 / 2, ln2 / 2] and n with x = r + n ln2.
struct Reduced {
  float r;
  int32_t n;
};
STOKER_INLINE Reduced reduce_ln2(float x) {
  int32_t n = nearest(x * 1.44269504F);
  float r = fma(float(n), -0.693359375F, x);
  return {fma(float(n), 2.12194440e-4F, r), n};
}

// (e^r - 1 - r) / r² for |r| <= ln2 / 2 (Cephes' expf)
STOKER_INLINE float exp_tail(float r) {
  float p = fma(1.9875691500e-4F, r, 1.3981999507e-3F);
  p = fma(p, r, 8.3334519073e-3F);
  p = fma(p, r, 4.1665795894e-2F);
  p = fma(p, r, 1.6666665459e-1F);
  return fma(p, r, 5.0000001201e-1F);
}

// e^x; 0 below -103.97, inf above 88.72, NaN for NaN.
STOKER_INLINE float exp(float x) {
  Reduced a = reduce_ln2(x < -104 ? -104.0F : x > 89 ? 89.0F : x);
  float e = fma(exp_tail(a.r), a.r * a.r, a.r) + 1;
  // 2^n in two steps, so that results below 2^-126 and just below 2^128 come out right; the first
  // one in the exponent's bits, or the compiler would join the two.
  int32_t half = a.n >> 1;
  float y = from_bits(plus(to_bits(e), half, 23)) * power_of_two(a.n - half);
  return x == x ? y : x;
}

// e^x - 1 for x <= 0, without cancellation around 0.
STOKER_INLINE float expm1_negative(float x) {
  Reduced a = reduce_ln2(x < -104 ? -104.0F : x);
  float tail = fma(exp_tail(a.r), a.r * a.r, a.r);  // e^r - 1
  float scale = a.n < -126 ? 0.0F : power_of_two(a.n);
  float y = a.n == 0 ? tail : fma(tail, scale, scale - 1);
  return x == x ? y : x;
}

// m in [sqrt(1/2), sqrt(2)) and e with x = m 2^e, for positive normal x.
struct Split {
  float m;
  int32_t e;
};
STOKER_INLINE Split split(float x) {
  constexpr int32_t kSqrtHalf = 0x3f3504f3;
  int32_t bits = plus(to_bits(x), -kSqrtHalf);
  int32_t e = bits >> 23;
  return {from_bits(plus(to_bits(x), -e, 23)), e};
}

// log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1), plus e ln2 (Cephes' logf)
STOKER_INLINE float log_tail(float f, float e) {
  float p = fma(7.0376836292e-2F, f, -1.1514610310e-1F);
  p = fma(p, f, 1.1676998740e-1F);
  p = fma(p, f, -1.2420140846e-1F);
  p = fma(p, f, 1.4249322787e-1F);
  p = fma(p, f, -1.6668057665e-1F);
  p = fma(p, f, 2.0000714765e-1F);
  p = fma(p, f, -2.4999993993e-1F);
  p = fma(p, f, 3.3333331174e-1F);
  float square = f * f;
  float y = fma(e, -2.12194440e-4F, p * f * square);
  y = fma(square, -0.5F, y);
  y = fma(1, f, y);
  return fma(e, 0.693359375F, y);
}

STOKER_INLINE float log(float x) {
  bool tiny = x < 1.17549435e-38F;  // subnormal: scaled up first
  Split s = split(tiny ? x * 0x1p25F : x);
  float y = log_tail(s.m - 1, float(s.e - (tiny ? 25 : 0)));
  y = x == 0 ? -__builtin_inff() : y;
  y = x < 0 ? __builtin_nanf("") : y;
  return x < __builtin_inff() ? y : x;  // inf and NaN stay
}

// log(1 + x). Around 0 the fraction is x itself; further out, what rounding 1 + x loses does not
// matter.
STOKER_INLINE float log1p(float x) {
  float u = 1 + x;
  Split s = split(u);
  float y = log_tail(s.e == 0 ? x : s.m - 1, float(s.e));
  y = u == 0 ? -__builtin_inff() : y;
  y = u < 0 ? __builtin_nanf("") : y;
  return x < __builtin_inff() ? y : x;
}

// e^x - 1: without cancellation up to 1/2, by the exponential itself from there on.
STOKER_INLINE float expm1(float x) {
  float low = expm1_negative(x > 0 ? -x : x);
  float high = exp(x > 0.5F ? x : 0.5F) - 1;
  return x > 0.5F ? high : x > 0 ? -low / (1 + low) : low;
}

// Cephes' atanf: the argument is brought below tan(π/8).
STOKER_INLINE float atan(float x) {
  float t = abs(x);
  bool far = t > 2.41421356F, middle = t > 0.41421356F;
  float z = far ? -1 / t : middle ? (t - 1) / (t + 1) : t;
  float base = far ? 1.57079633F : middle ? 0.785398163F : 0.0F;
  float s = z * z;
  float p = fma(8.05374449538e-2F, s, -1.38776856032e-1F);
  p = fma(p, s, 1.99777106478e-1F);
  p = fma(p, s, -3.33329491539e-1F);
  float y = base + fma(p * s, z, z);
  return x < 0 ? -y : y;
}

// Giles, "Approximating the erfinv function", 2010: polynomials in -log(1 - x²) and its root.
STOKER_INLINE float erfinv(float x) {
  float w = -log(fma(-x, x, 1));
  float a = w - 2.5F, b = sqrt(w < 5 ? 5.0F : w) - 3;
  float p = fma(2.81022636e-08F, a, 3.43273939e-07F);
  p = fma(p, a, -3.5233877e-06F);
  p = fma(p, a, -4.39150654e-06F);
  p = fma(p, a, 0.00021858087F);
  p = fma(p, a, -0.00125372503F);
  p = fma(p, a, -0.00417768164F);
  p = fma(p, a, 0.246640727F);
  p = fma(p, a, 1.50140941F);
  float q = fma(-0.000200214257F, b, 0.000100950558F);
  q = fma(q, b, 0.00134934322F);
  q = fma(q, b, -0.00367342844F);
  q = fma(q, b, 0.00573950773F);
  q = fma(q, b, -0.0076224613F);
  q = fma(q, b, 0.00943887047F);
  q = fma(q, b, 1.00167406F);
  q = fma(q, b, 2.83297682F);
  float y = (w < 5 ? p : q) * x;
  return abs(x) == 1 ? x * __builtin_inff() : abs(x) > 1 ? __builtin_nanf("") : y;
}

STOKER_INLINE float sigmoid(float x) {
  float e = exp(-abs(x));
  return (x < 0 ? e : 1.0F) / (1 + e);
}
STOKER_INLINE float softplus(float x) { return (x > 0 ? x : 0.0F) + log1p(exp(-abs(x))); }
STOKER_INLINE float tanh(float x) {
  float e = expm1_negative(-2 * abs(x));
  float y = -e / (2 + e);
  return x < 0 ? -y : y;
}

// 1 - erf(t) for t >= 0.92, as e^r.
STOKER_INLINE float erf_exponent(float t) {
  float s = t * t;
  float r = fma(-1.72853470e-5F, t, 3.83197126e-4F);
  float u = fma(-3.88396438e-3F, t, 2.42546219e-2F);
  r = fma(r, s, u);
  r = fma(r, t, -1.06777877e-1F);
  r = fma(r, t, -6.34846687e-1F);
  r = fma(r, t, -1.28717512e-1F);
  return fma(r, t, -t);
}

STOKER_INLINE float erf(float x) {
  float t = abs(x), s = x * x;
  float large = 1 - exp(erf_exponent(t > 4 ? 4.0F : t));
  float p = fma(-5.96761703e-4F, s, 4.99119423e-3F);
  p = fma(p, s, -2.67681349e-2F);
  p = fma(p, s, 1.12819925e-1F);
  p = fma(p, s, -3.76125336e-1F);
  p = fma(p, s, 1.28379166e-1F);
  float small = fma(p, x, x);
  float signed_large = x < 0 ? -large : large;
  return t > 0.927734375F ? signed_large : x == x ? small : x;
}

}  // namespace stoker::cpu::STOKER_ISA
