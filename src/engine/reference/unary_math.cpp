#include "engine/reference/unary_math.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include <stoker/error.h>

namespace stoker::reference {

namespace {

// Klambauer et al., "Self-normalizing neural networks", 2017.
constexpr Number kSeluAlpha = 1.6732632423543772;
constexpr Number kSeluScale = 1.0507009873554805;
// gelu's tanh form: tanh(sqrt(2 / pi) (x + 0.044715 x^3)).
constexpr Number kGeluCubic = 0.044715;
const Number kGeluScale = std::sqrt(2 / std::numbers::pi);

Number sigmoid(Number x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
Number softplus(Number x) { return std::max(x, Number(0)) + std::log1p(std::exp(-std::abs(x))); }
Number sign(Number x) { return x > 0 ? 1 : x < 0 ? -1 : x == x ? 0 : x; }
Number normal_cdf(Number x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
Number normal_pdf(Number x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
Number gelu_tanh_inner(Number x) { return std::tanh(kGeluScale * (x + kGeluCubic * x * x * x)); }
// Not std::clamp: NaN passes, and low > high is defined.
Number clip(Number x, Number low, Number high) { return x < low ? low : x > high ? high : x; }
// (x + s) / 2 with s = sqrt(x² + alpha); for negative x as alpha / 2 (s - x), where nothing
// cancels.
Number squareplus(Number x, Number alpha) {
  Number s = std::sqrt(x * x + alpha);
  return x < 0 ? alpha / 2 / (s - x) : (x + s) / 2;
}
// The root of erf(y) = x by Newton's method; of the small complement where x is near 1.
Number erfinv(Number x) {
  if (!(std::abs(x) < 1))
    return std::abs(x) == 1 ? x * std::numeric_limits<Number>::infinity() : NAN;
  Number size = std::abs(x), w = -std::log((1 - size) * (1 + size)), y = std::sqrt(w) * 0.75;
  for (int step = 0; step < 40; ++step) {
    Number off = size < 0.5 ? std::erf(y) - size : (1 - size) - std::erfc(y);
    y -= off / (2 * std::numbers::inv_sqrtpi * std::exp(-y * y));
  }
  return std::copysign(y, x);
}
bool inside(Number x, Number low, Number high) { return low < x && x < high; }

}  // namespace

// One function a line, which clang-format would spread over two.
// clang-format off
Number unary_value(UnaryFn fn, Number x, Number alpha, Number beta) {
  switch (fn) {
    case UnaryFn::abs: return std::abs(x);
    case UnaryFn::neg: return -x;
    case UnaryFn::exp: return std::exp(x);
    case UnaryFn::log: return std::log(x);
    case UnaryFn::log1p: return std::log1p(x);
    case UnaryFn::sqrt: return std::sqrt(x);
    case UnaryFn::rsqrt: return 1 / std::sqrt(x);
    case UnaryFn::square: return x * x;
    case UnaryFn::reciprocal: return 1 / x;
    case UnaryFn::sign: return sign(x);
    case UnaryFn::floor: return std::floor(x);
    case UnaryFn::sin: return std::sin(x);
    case UnaryFn::cos: return std::cos(x);
    case UnaryFn::erf: return std::erf(x);
    case UnaryFn::clip: return clip(x, alpha, beta);
    case UnaryFn::relu: return x < 0 ? 0 : x;
    case UnaryFn::relu6: return clip(x, 0, 6);
    case UnaryFn::leaky_relu: return x < 0 ? alpha * x : x;
    case UnaryFn::elu: return x < 0 ? alpha * std::expm1(x) : x;
    case UnaryFn::celu: return x < 0 ? alpha * std::expm1(x / alpha) : x;
    case UnaryFn::selu: return kSeluScale * (x < 0 ? kSeluAlpha * std::expm1(x) : x);
    case UnaryFn::gelu: return x * normal_cdf(x);
    case UnaryFn::gelu_tanh: return 0.5 * x * (1 + gelu_tanh_inner(x));
    case UnaryFn::sigmoid: return sigmoid(x);
    case UnaryFn::hard_sigmoid: return clip(x + 3, 0, 6) / 6;
    case UnaryFn::silu: return x * sigmoid(x);
    case UnaryFn::hard_silu: return x * clip(x + 3, 0, 6) / 6;
    case UnaryFn::softplus: return softplus(x);
    case UnaryFn::softsign: return x / (1 + std::abs(x));
    case UnaryFn::tanh: return std::tanh(x);
    case UnaryFn::hard_tanh: return clip(x, -1, 1);
    case UnaryFn::mish: return x * std::tanh(softplus(x));
    case UnaryFn::log_sigmoid: return -softplus(-x);
    case UnaryFn::squareplus: return squareplus(x, alpha);
    case UnaryFn::hard_shrink: return inside(x, -alpha, alpha) || std::abs(x) == alpha ? 0 : x;
    case UnaryFn::soft_shrink: return x > alpha ? x - alpha : x < -alpha ? x + alpha : x == x ? 0 : x;
    case UnaryFn::tanh_shrink: return x - std::tanh(x);
    case UnaryFn::threshold: return x <= alpha ? beta : x;
    case UnaryFn::round: return std::rint(x);
    case UnaryFn::expm1: return std::expm1(x);
    case UnaryFn::atan: return std::atan(x);
    case UnaryFn::erfinv: return erfinv(x);
  }
  throw ValueError("unary: unknown function");
}

Number derivative_from_input(UnaryFn fn, Number x, Number alpha, Number beta) {
  switch (fn) {
    case UnaryFn::abs: return sign(x);
    case UnaryFn::neg: return -1;
    case UnaryFn::exp: return std::exp(x);
    case UnaryFn::log: return 1 / x;
    case UnaryFn::log1p: return 1 / (1 + x);
    case UnaryFn::sqrt: return 0.5 / std::sqrt(x);
    case UnaryFn::rsqrt: return -0.5 / (x * std::sqrt(x));
    case UnaryFn::square: return 2 * x;
    case UnaryFn::reciprocal: return -1 / (x * x);
    case UnaryFn::sign:
    case UnaryFn::floor: return 0;
    case UnaryFn::sin: return std::cos(x);
    case UnaryFn::cos: return -std::sin(x);
    case UnaryFn::erf: return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x);
    case UnaryFn::clip: return inside(x, alpha, beta);
    case UnaryFn::relu: return x > 0;
    case UnaryFn::relu6: return inside(x, 0, 6);
    case UnaryFn::leaky_relu: return x > 0 ? 1 : alpha;
    case UnaryFn::elu: return x > 0 ? 1 : alpha * std::exp(x);
    case UnaryFn::celu: return x > 0 ? 1 : std::exp(x / alpha);
    case UnaryFn::selu: return kSeluScale * (x > 0 ? 1 : kSeluAlpha * std::exp(x));
    case UnaryFn::gelu: return normal_cdf(x) + x * normal_pdf(x);
    case UnaryFn::gelu_tanh: {
      Number t = gelu_tanh_inner(x);
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kGeluScale * (1 + 3 * kGeluCubic * x * x);
    }
    case UnaryFn::sigmoid: return sigmoid(x) * sigmoid(-x);
    case UnaryFn::hard_sigmoid: return inside(x, -3, 3) ? 1.0 / 6 : 0;
    case UnaryFn::silu: return sigmoid(x) * (1 + x * sigmoid(-x));
    case UnaryFn::hard_silu: return inside(x, -3, 3) ? (2 * x + 3) / 6 : Number(x > 0);
    case UnaryFn::softplus: return sigmoid(x);
    case UnaryFn::softsign: return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
    case UnaryFn::tanh: return 1 - std::tanh(x) * std::tanh(x);
    case UnaryFn::hard_tanh: return inside(x, -1, 1);
    case UnaryFn::mish: {
      Number t = std::tanh(softplus(x));
      return t + x * (1 - t * t) * sigmoid(x);
    }
    case UnaryFn::log_sigmoid: return sigmoid(-x);
    case UnaryFn::squareplus: return squareplus(x, alpha) / std::sqrt(x * x + alpha);
    case UnaryFn::hard_shrink:
    case UnaryFn::soft_shrink: return std::abs(x) > alpha;
    case UnaryFn::tanh_shrink: return std::tanh(x) * std::tanh(x);
    case UnaryFn::threshold: return x > alpha;
    case UnaryFn::round: return 0;
    case UnaryFn::expm1: return std::exp(x);
    case UnaryFn::atan: return 1 / (1 + x * x);
    case UnaryFn::erfinv: return std::exp(erfinv(x) * erfinv(x)) / (2 * std::numbers::inv_sqrtpi);
  }
  (void)beta;
  throw ValueError("unary_grad: unknown function");
}

Number derivative_from_output(UnaryFn fn, Number y, Number alpha, Number beta) {
  switch (fn) {
    case UnaryFn::neg: return -1;
    case UnaryFn::exp: return y;
    case UnaryFn::sqrt: return 0.5 / y;
    case UnaryFn::rsqrt: return -0.5 * y * y * y;
    case UnaryFn::reciprocal: return -y * y;
    case UnaryFn::sign:
    case UnaryFn::floor: return 0;
    case UnaryFn::clip: return inside(y, alpha, beta);
    case UnaryFn::relu: return y > 0;
    case UnaryFn::relu6: return inside(y, 0, 6);
    case UnaryFn::leaky_relu: return y > 0 ? 1 : alpha;
    case UnaryFn::elu: return y > 0 ? 1 : y + alpha;
    case UnaryFn::celu: return y > 0 ? 1 : y / alpha + 1;
    case UnaryFn::selu: return y > 0 ? kSeluScale : y + kSeluScale * kSeluAlpha;
    case UnaryFn::sigmoid: return y * (1 - y);
    case UnaryFn::hard_sigmoid: return inside(y, 0, 1) ? 1.0 / 6 : 0;
    case UnaryFn::softplus: return -std::expm1(-y);
    case UnaryFn::softsign: return (1 - std::abs(y)) * (1 - std::abs(y));
    case UnaryFn::tanh: return 1 - y * y;
    case UnaryFn::hard_tanh: return inside(y, -1, 1);
    case UnaryFn::log_sigmoid: return -std::expm1(y);
    // y = (x + s) / 2 with s² = x² + alpha gives x = y - alpha / 4y and s = y + alpha / 4y.
    case UnaryFn::squareplus: return y * y / (y * y + alpha / 4);
    case UnaryFn::hard_shrink:
    case UnaryFn::soft_shrink: return y != 0;
    case UnaryFn::erfinv: return std::exp(y * y) / (2 * std::numbers::inv_sqrtpi);
    default: break;
  }
  throw ValueError("unary_grad: \"" + std::string(unary_info(fn).name) +
                   "\" has no derivative in terms of its output");
}

// clang-format on

Activation::Activation(const Attrs& attrs) {
  auto name = attrs.get_or<std::string>("activation", "");
  if (name.empty()) return;
  present_ = true;
  fn_ = unary_info(name).fn;
  alpha_ = attrs.get_or<double>("alpha", 0);
  beta_ = attrs.get_or<double>("beta", 0);
}

Number Activation::operator()(Number x) const {
  return present_ ? unary_value(fn_, x, alpha_, beta_) : x;
}

}  // namespace stoker::reference
