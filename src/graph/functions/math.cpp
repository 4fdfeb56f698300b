// Elementwise functions, most of them written with a few that have kernels.
#include <cmath>
#include <limits>
#include <numbers>

#include <stoker/ops.h>
#include <stoker/ops_math.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"

namespace stoker::ops {

namespace {

constexpr double kLn2 = std::numbers::ln2, kPi = std::numbers::pi;

// In the way of NumPy, where an exact zero or a sign decides.
Value where_zero(const Value& x, const Value& a, const Value& b) {
  return emit::select(emit::compare("equal", x, 0.0), a, b);
}
Value where_negative(const Value& x, const Value& a, const Value& b) {
  return emit::select(emit::compare("less", x, 0.0), a, b);
}

// Two floats of one dtype, as a binary op would have them.
struct Pair {
  Value a, b;
};
Pair floats_of(const Value& a, const Value& b) { return {float_of(a), float_of(b)}; }

}  // namespace

// --- arithmetic ---

Value add(const Value& a, const Value& b) { return a + b; }
Value subtract(const Value& a, const Value& b) { return a - b; }
Value multiply(const Value& a, const Value& b) { return a * b; }
Value divide(const Value& a, const Value& b) { return a / b; }
Value true_divide(const Value& a, const Value& b) { return a / b; }
Value power(const Value& a, const Value& b) { return pow(a, b); }
Value negative(const Value& x) { return -x; }
Value absolute(const Value& x) { return abs(x); }
Value fabs(const Value& x) { return abs(float_of(x)); }

Value divide_no_nan(const Value& a, const Value& b) {
  return where_zero(b, 0.0, a / where_zero(b, 1.0, b));
}

Value mod(const Value& a, const Value& b) { return emit::binary("mod", a, b); }

Value fmod(const Value& a, const Value& b) {
  Value rest = emit::binary("mod", absolute_of(a), absolute_of(b));
  return where_negative(a, -rest, rest);
}

Value floor_divide(const Value& a, const Value& b) { return emit::binary("floor_div", a, b); }

Value cbrt(const Value& x) {
  Value root = pow(abs(float_of(x)), 1.0 / 3);
  return where_negative(x, -root, root);
}

Value hypot(const Value& a, const Value& b) {
  auto [x, y] = floats_of(a, b);
  Value large = maximum(abs(x), abs(y)), small = minimum(abs(x), abs(y));
  Value ratio = small / where_zero(large, 1.0, large);
  return large * sqrt(square(ratio) + 1.0);
}

Value ldexp(const Value& x, const Value& exponent) { return float_of(x) * exp2(exponent); }

Value fmax(const Value& a, const Value& b) {
  return emit::select(isnan(a), b, emit::select(isnan(b), a, maximum(a, b)));
}

Value fmin(const Value& a, const Value& b) {
  return emit::select(isnan(a), b, emit::select(isnan(b), a, minimum(a, b)));
}

Value clip(const Value& x, const Value& low, const Value& high) {
  return minimum(maximum(x, low), high);
}

// --- rounding: whole numbers stay as they are ---

Value ceil(const Value& x) { return is_floating(x.dtype()) ? -floor(-x) : x; }

Value trunc(const Value& x) {
  return is_floating(x.dtype()) ? where_negative(x, ceil(x), floor(x)) : x;
}

Value round(const Value& x, int decimals) {
  if (!is_floating(x.dtype())) return x;
  if (decimals == 0) return emit::unary("round", x);
  double scale = std::pow(10.0, std::abs(decimals));
  return decimals > 0 ? emit::unary("round", x * scale) / scale
                      : emit::unary("round", x / scale) * scale;
}

// --- exponentials, logarithms, error functions ---

Value exp2(const Value& x) { return exp(float_of(x) * kLn2); }
Value expm1(const Value& x) { return emit::unary("expm1", float_of(x)); }
Value log2(const Value& x) { return log(float_of(x)) * (1 / kLn2); }
Value log10(const Value& x) { return log(float_of(x)) * std::numbers::log10e; }

// Equal infinities have no difference.
Value logaddexp(const Value& a, const Value& b) {
  auto [x, y] = floats_of(a, b);
  Value large = maximum(x, y);
  Value apart = emit::select(emit::compare("equal", x, y), 0.0, abs(x - y));
  return large + emit::unary("softplus", -apart);
}

Value logaddexp2(const Value& a, const Value& b) {
  return logaddexp(float_of(a) * kLn2, float_of(b) * kLn2) * (1 / kLn2);
}

// Twice the normal distribution's tail, which gelu(z) = z · Φ(z) has exactly.
Value erfc(const Value& x) {
  Value wide = float_of(x);
  Value is_small = emit::compare("less", wide, 0.5);
  Value z = emit::select(is_small, -1.0, wide * -std::numbers::sqrt2);
  return emit::select(is_small, 1.0 - erf(wide), emit::unary("gelu", z) * 2.0 / z);
}

Value erfinv(const Value& x) { return emit::unary("erfinv", float_of(x)); }

namespace {

Value polynomial(const Value& x, std::initializer_list<double> falling) {
  Value sum;
  for (double coefficient : falling)
    sum = sum.defined() ? sum * x + coefficient : x * 0.0 + coefficient;
  return sum;
}

}  // namespace

// Abramowitz and Stegun, 9.8.1 and 9.8.2.
Value i0(const Value& x) {
  Value wide = abs(float_of(x));
  Value is_small = emit::compare("less", wide, 3.75);
  Value s = square(emit::select(is_small, wide, 0.0) * (1 / 3.75));
  Value near = polynomial(s, {0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1});
  Value far = emit::select(is_small, 3.75, wide), t = 3.75 / far;
  Value tail = polynomial(t, {0.00392377, -0.01647633, 0.02635537, -0.02057706, 0.00916281,
                              -0.00157565, 0.00225319, 0.01328592, 0.39894228});
  return emit::select(is_small, near, tail * exp(far) * rsqrt(far));
}

// --- trigonometry ---

Value tan(const Value& x) { return sin(float_of(x)) / cos(float_of(x)); }
Value arctan(const Value& x) { return emit::unary("atan", float_of(x)); }

Value arcsin(const Value& x) {
  Value wide = float_of(x);
  return arctan(wide / (sqrt((1.0 - wide) * (1.0 + wide)) + 1.0)) * 2.0;
}

Value arccos(const Value& x) {
  Value wide = float_of(x);
  return arctan(sqrt((1.0 - wide) / (1.0 + wide))) * 2.0;
}

// The angle below 45 degrees, then mirrored into its octant: no quotient is infinite.
Value arctan2(const Value& y, const Value& x) {
  auto [up, right] = floats_of(y, x);
  Value height = abs(up), width = abs(right);
  Value large = maximum(height, width), small = minimum(height, width);
  Value is_even = emit::compare("equal", small, large);  // both infinite, or both 0
  Value ratio =
      emit::select(is_even, where_zero(large, 0.0, 1.0), small / emit::select(is_even, 1.0, large));
  Value angle = arctan(ratio);
  angle = emit::select(emit::compare("greater", height, width), kPi / 2 - angle, angle);
  angle = emit::select(signbit(right), kPi - angle, angle);
  return emit::select(signbit(up), -angle, angle);
}

Value sinh(const Value& x) {
  Value e = expm1(abs(float_of(x)));
  Value half = (e + e / (e + 1.0)) * 0.5;
  // e / (e + 1) of infinity is 1 at its limit.
  Value sum = emit::select(isinf(e), e, half);
  return where_negative(x, -sum, sum);
}

Value cosh(const Value& x) {
  Value e = exp(abs(float_of(x)));
  return (e + reciprocal(e)) * 0.5;
}

Value arcsinh(const Value& x) {
  Value wide = float_of(x), size = abs(wide);
  Value far = emit::compare("greater", size, 1e8);  // where x² + 1 is x²
  Value s = emit::select(far, 1.0, size), root = sqrt(square(s) + 1.0);
  Value near = log1p(s + square(s) / (root + 1.0));
  Value found = emit::select(far, log(emit::select(far, size, 1.0)) + kLn2, near);
  return where_negative(wide, -found, found);
}

Value arccosh(const Value& x) {
  Value over = float_of(x) - 1.0;
  return log1p(over + sqrt(over) * sqrt(over + 2.0));
}

Value arctanh(const Value& x) {
  Value wide = float_of(x);
  return (log1p(wide) - log1p(-wide)) * 0.5;
}

Value deg2rad(const Value& x) { return float_of(x) * (kPi / 180); }
Value rad2deg(const Value& x) { return float_of(x) * (180 / kPi); }

Value sinc(const Value& x) {
  Value angle = float_of(x) * kPi;
  return where_zero(angle, 1.0, sin(angle) / where_zero(angle, 1.0, angle));
}

}  // namespace stoker::ops
