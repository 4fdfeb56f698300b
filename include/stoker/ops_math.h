// Elementwise functions beside those of <stoker/ops.h>: arithmetic by name, rounding, logarithms,
// trigonometry, logic, bits and what is not a number. Operands broadcast as NumPy's do and meet by
// the rules of docs/guide/precision.md.
#pragma once

#include <stoker/value.h>

namespace stoker::ops {

// --- arithmetic ------------------------------------------------------------------------------
Value add(const Value& a, const Value& b);
Value subtract(const Value& a, const Value& b);
Value multiply(const Value& a, const Value& b);
Value divide(const Value& a, const Value& b);
Value true_divide(const Value& a, const Value& b);
Value divide_no_nan(const Value& a, const Value& b);  // 0 where b is 0
Value floor_divide(const Value& a, const Value& b);
Value mod(const Value& a, const Value& b);   // has the sign of b, as Python's %
Value fmod(const Value& a, const Value& b);  // has the sign of a, as C's
Value power(const Value& a, const Value& b);
Value negative(const Value& x);
Value absolute(const Value& x);
Value fabs(const Value& x);
Value cbrt(const Value& x);
Value hypot(const Value& a, const Value& b);         // sqrt(a² + b²) without overflow
Value ldexp(const Value& x, const Value& exponent);  // x · 2^exponent
Value fmax(const Value& a, const Value& b);          // the other one where one is NaN
Value fmin(const Value& a, const Value& b);
// Of whole numbers; not negative. Euclid's steps are a loop (ops::while_loop).
Value gcd(const Value& a, const Value& b);
Value lcm(const Value& a, const Value& b);
Value clip(const Value& x, const Value& low, const Value& high);
// The next float32 after x1 in the direction of x2; no gradient.
Value nextafter(const Value& x1, const Value& x2);
// The same bytes as numbers of another dtype; elements of another size change the last dimension:
// float32 [.., 4] is int16 [.., 8]. No gradient.
Value view(const Value& x, DType dtype);

// --- rounding --------------------------------------------------------------------------------
Value ceil(const Value& x);
Value round(const Value& x, int decimals = 0);  // halves to even
Value trunc(const Value& x);

// --- exponentials, logarithms, error functions -----------------------------------------------
Value exp2(const Value& x);
Value expm1(const Value& x);
Value log2(const Value& x);
Value log10(const Value& x);
Value logaddexp(const Value& a, const Value& b);   // log(e^a + e^b)
Value logaddexp2(const Value& a, const Value& b);  // log2(2^a + 2^b)
Value erfc(const Value& x);                        // 1 - erf(x), also where that is tiny
Value erfinv(const Value& x);
Value i0(const Value& x);  // the modified Bessel function of order 0

// --- trigonometry ----------------------------------------------------------------------------
Value tan(const Value& x);
Value arcsin(const Value& x);
Value arccos(const Value& x);
Value arctan(const Value& x);
Value arctan2(const Value& y, const Value& x);
Value sinh(const Value& x);
Value cosh(const Value& x);
Value arcsinh(const Value& x);
Value arccosh(const Value& x);
Value arctanh(const Value& x);
Value deg2rad(const Value& x);
Value rad2deg(const Value& x);
Value sinc(const Value& x);  // sin(πx) / (πx)

// --- logic: bool results; a number counts as true where it is not 0 --------------------------
Value logical_and(const Value& a, const Value& b);
Value logical_or(const Value& a, const Value& b);
Value logical_xor(const Value& a, const Value& b);
Value logical_not(const Value& x);
Value isnan(const Value& x);
Value isinf(const Value& x);
Value isfinite(const Value& x);
Value isposinf(const Value& x);
Value isneginf(const Value& x);
Value isreal(const Value& x);   // true: there are no complex tensors
Value signbit(const Value& x);  // also of -0
Value isin(const Value& x, const Value& elements);
struct Close {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;
};
Value isclose(const Value& a, const Value& b, const Close& options = {});
Value allclose(const Value& a, const Value& b, const Close& options = {});  // []
Value heaviside(const Value& x, const Value& at_zero);
struct NanToNum {
  double nan = 0;
  double posinf = 3.4028234663852886e38;
  double neginf = -3.4028234663852886e38;
};
Value nan_to_num(const Value& x, const NanToNum& options = {});

// --- bits of int32 and int64 -----------------------------------------------------------------
Value bitwise_and(const Value& a, const Value& b);
Value bitwise_or(const Value& a, const Value& b);
Value bitwise_xor(const Value& a, const Value& b);
Value bitwise_not(const Value& x);
Value bitwise_invert(const Value& x);
Value left_shift(const Value& x, const Value& bits);
Value right_shift(const Value& x, const Value& bits);  // keeps the sign
Value bitwise_left_shift(const Value& x, const Value& bits);
Value bitwise_right_shift(const Value& x, const Value& bits);

}  // namespace stoker::ops
