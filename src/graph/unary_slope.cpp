#include "graph/unary_slope.h"

#include <cmath>
#include <numbers>

#include "graph/emit.h"

namespace stoker {

namespace {

Value of(const char* fn, const Value& x) { return emit::unary(fn, x); }

Value where_positive(const Value& x, const Value& a, const Value& b) {
  return emit::select(emit::compare("greater", x, 0.0), a, b);
}

// Φ(x) + x · φ(x), with the distribution and the density of the normal distribution.
Value gelu_slope(const Value& x) {
  Value cdf = (of("erf", x * std::numbers::sqrt2 * 0.5) + 1.0) * 0.5;
  Value pdf = of("exp", of("square", x) * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return cdf + x * pdf;
}

// gelu_tanh(x) = x / 2 · (1 + t), t = tanh(c (x + k x³))
Value gelu_tanh_slope(const Value& x) {
  const double c = std::sqrt(2 / std::numbers::pi), k = 0.044715;
  Value squared = of("square", x);
  Value t = of("tanh", x * (squared * k + 1.0) * c);
  Value inner = (squared * (3 * k) + 1.0) * c;
  return (t + 1.0) * 0.5 + x * 0.5 * (-of("square", t) + 1.0) * inner;
}

// mish(x) = x · t, t = tanh(softplus(x))
Value mish_slope(const Value& x) {
  Value t = of("tanh", of("softplus", x));
  return t + x * (-of("square", t) + 1.0) * of("sigmoid", x);
}

Value silu_slope(const Value& x) {
  Value s = of("sigmoid", x);
  return s * (x * (-s + 1.0) + 1.0);
}

Value hard_silu_slope(const Value& x) {
  Value inside = emit::compare("less", of("abs", x), 3.0);
  return emit::select(inside, x * (1.0 / 3) + 0.5, emit::unary("clip", x, 0, 1));
}

}  // namespace

// `s` is x or y, as the table of functions says.
Value unary_slope(const UnaryInfo& function, const Value& s, double alpha) {
  constexpr double kSeluAlpha = 1.6732632423543772, kSeluScale = 1.0507009873554805;
  switch (function.fn) {
    case UnaryFn::exp:
      return s;
    case UnaryFn::log:
      return of("reciprocal", s);
    case UnaryFn::log1p:
      return of("reciprocal", s + 1.0);
    case UnaryFn::sqrt:
      return of("reciprocal", s) * 0.5;
    case UnaryFn::rsqrt:
      return s * of("square", s) * -0.5;
    case UnaryFn::square:
      return s * 2.0;
    case UnaryFn::reciprocal:
      return -of("square", s);
    case UnaryFn::sin:
      return of("cos", s);
    case UnaryFn::cos:
      return -of("sin", s);
    case UnaryFn::erf:
      return of("exp", -of("square", s)) * (2 * std::numbers::inv_sqrtpi);
    case UnaryFn::elu:
      return where_positive(s, 1.0, s + alpha);
    case UnaryFn::celu:
      return where_positive(s, 1.0, s * (1 / alpha) + 1.0);
    case UnaryFn::selu:
      return where_positive(s, kSeluScale, s + kSeluScale * kSeluAlpha);
    case UnaryFn::gelu:
      return gelu_slope(s);
    case UnaryFn::gelu_tanh:
      return gelu_tanh_slope(s);
    case UnaryFn::sigmoid:
      return s * (-s + 1.0);
    case UnaryFn::silu:
      return silu_slope(s);
    case UnaryFn::hard_silu:
      return hard_silu_slope(s);
    case UnaryFn::softplus:
      return of("sigmoid", s);
    case UnaryFn::softsign:
      return of("reciprocal", of("square", of("abs", s) + 1.0));
    case UnaryFn::tanh:
      return -of("square", s) + 1.0;
    case UnaryFn::mish:
      return mish_slope(s);
    case UnaryFn::log_sigmoid:
      return of("sigmoid", -s);
    case UnaryFn::squareplus:
      return s * of("rsqrt", of("square", s) + alpha) * 0.5 + 0.5;
    case UnaryFn::tanh_shrink:
      return of("square", of("tanh", s));
    case UnaryFn::expm1:
      return of("exp", s);
    case UnaryFn::atan:
      return of("reciprocal", of("square", s) + 1.0);
    case UnaryFn::erfinv:
      return of("exp", of("square", s)) * (0.5 / std::numbers::inv_sqrtpi);
    case UnaryFn::abs:
    case UnaryFn::neg:
    case UnaryFn::sign:
    case UnaryFn::floor:
    case UnaryFn::clip:
    case UnaryFn::relu:
    case UnaryFn::relu6:
    case UnaryFn::leaky_relu:
    case UnaryFn::hard_sigmoid:
    case UnaryFn::hard_tanh:
    case UnaryFn::hard_shrink:
    case UnaryFn::soft_shrink:
    case UnaryFn::threshold:
    case UnaryFn::round:
      return {};
  }
  return {};
}

}  // namespace stoker
