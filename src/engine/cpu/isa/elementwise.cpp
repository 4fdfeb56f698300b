// The functions of graph/unary.h and their derivatives, and arithmetic on two operands.
#include "base/ivdep.h"
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/math.h"
#include "graph/unary.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

constexpr float kSeluAlpha = 1.6732632423543772F, kSeluScale = 1.0507009873554805F;
constexpr float kGeluCubic = 0.044715F, kGeluScale = 0.7978845608F;  // sqrt(2 / pi)
constexpr float kSqrtHalf = 0.70710678F, kInvSqrtTwoPi = 0.39894228F, kTwoInvSqrtPi = 1.12837917F;

// x above 0 (and NaN) and x below it: functions of two sides are sums of the two, without a branch.
STOKER_INLINE float above(float x) { return x < 0 ? 0.0F : x; }
STOKER_INLINE float below(float x) { return x < 0 ? x : 0.0F; }
STOKER_INLINE bool inside(float x, float low, float high) { return (low < x) & (x < high); }

// erfc(t) for t >= 0 with a small relative error everywhere (Numerical Recipes, 6.2.2): 1 - erf(t)
// would lose the tail of gelu.
STOKER_INLINE float erfc_positive(float t) {
  float u = 1 / fma(0.5F, t, 1);
  float p = fma(0.17087277F, u, -0.82215223F);
  p = fma(p, u, 1.48851587F);
  p = fma(p, u, -1.13520398F);
  p = fma(p, u, 0.27886807F);
  p = fma(p, u, -0.18628806F);
  p = fma(p, u, 0.09678418F);
  p = fma(p, u, 0.37409196F);
  p = fma(p, u, 1.00002368F);
  p = fma(p, u, -1.26551223F);
  return u * exp(fma(-t, t, p));
}
STOKER_INLINE float normal_cdf(float x) {
  float tail = 0.5F * erfc_positive(abs(x) * kSqrtHalf);
  return x < 0 ? tail : 1 - tail;
}
STOKER_INLINE float gelu_inner(float x) { return kGeluScale * x * fma(kGeluCubic * x, x, 1); }
// tanh(softplus(x)) = n / (n + 2) with n = e^x (e^x + 2); 1 beyond x = 20.
STOKER_INLINE float mish_n(float x) {
  float e = exp(x > 20 ? 20.0F : x);
  return e * (e + 2);
}
// x - tanh(x), whose digits cancel around 0: there its series.
STOKER_INLINE float tanh_shrink(float x) {
  float s = x * x;
  float p = fma(s, 0.0014558344F, -0.0035921280F);
  p = fma(p, s, 0.0088632355F);
  p = fma(p, s, -0.021869488F);
  p = fma(p, s, 0.053968254F);
  p = fma(p, s, -0.133333333F);
  p = fma(p, s, 0.333333333F);
  return choose(abs(x) < 0.5F, p * s * x, x - tanh(x));
}

// (x + s) / 2 with s = sqrt(x² + alpha); for negative x as alpha / 2 (s - x), where nothing
// cancels.
STOKER_INLINE float squareplus(float x, float alpha) {
  float s = sqrt(fma(x, x, alpha));
  return x < 0 ? 0.5F * alpha / (s - x) : 0.5F * (x + s);
}

// value(x, alpha, beta), and slope(v, alpha, beta): the derivative from y where the table in
// graph/unary.h says so, else from x. One function a line.
// clang-format off
#define STOKER_FUNCTION(Name, value_of_x, slope_of_v)                                                              \
  struct Name {                                                                                                    \
    STOKER_INLINE float value(float x, [[maybe_unused]] float a, [[maybe_unused]] float b) { return value_of_x; }                                   \
    STOKER_INLINE float slope([[maybe_unused]] float v, [[maybe_unused]] float a, [[maybe_unused]] float b) { return slope_of_v; }                                   \
  };
STOKER_FUNCTION(Abs, abs(x), sign(v))
STOKER_FUNCTION(Neg, -x, -1)
STOKER_FUNCTION(Exp, exp(x), v)
STOKER_FUNCTION(Log, log(x), 1 / v)
STOKER_FUNCTION(Log1p, log1p(x), 1 / (1 + v))
STOKER_FUNCTION(Sqrt, sqrt(x), 0.5F / v)
STOKER_FUNCTION(Rsqrt, 1 / sqrt(x), -0.5F * v * v * v)
STOKER_FUNCTION(Square, x * x, 2 * v)
STOKER_FUNCTION(Reciprocal, 1 / x, -v * v)
STOKER_FUNCTION(Sign, sign(x), 0)
STOKER_FUNCTION(Floor, __builtin_floorf(x), 0)
STOKER_FUNCTION(Sin, __builtin_sinf(x), __builtin_cosf(v))
STOKER_FUNCTION(Cos, __builtin_cosf(x), -__builtin_sinf(v))
STOKER_FUNCTION(Erf, erf(x), kTwoInvSqrtPi * exp(-v * v))
STOKER_FUNCTION(Clip, clip(x, a, b), inside(v, a, b) ? 1.0F : 0.0F)
STOKER_FUNCTION(Relu, x < 0 ? 0.0F : x, v > 0 ? 1.0F : 0.0F)
STOKER_FUNCTION(Relu6, clip(x, 0, 6), inside(v, 0, 6) ? 1.0F : 0.0F)
STOKER_FUNCTION(LeakyRelu, x < 0 ? a * x : x, v > 0 ? 1.0F : a)
STOKER_FUNCTION(Elu, above(x) + a * expm1_negative(below(x)), v > 0 ? 1.0F : v + a)
STOKER_FUNCTION(Celu, above(x) + a * expm1_negative(below(x) / a), v > 0 ? 1.0F : v / a + 1)
STOKER_FUNCTION(Selu, kSeluScale * (above(x) + kSeluAlpha * expm1_negative(below(x))), v > 0 ? kSeluScale : v + kSeluScale * kSeluAlpha)
STOKER_FUNCTION(Gelu, x * normal_cdf(x), fma(v * kInvSqrtTwoPi, exp(-0.5F * v * v), normal_cdf(v)))
STOKER_FUNCTION(GeluTanh, x * sigmoid(2 * gelu_inner(x)), sigmoid(2 * gelu_inner(v)) * fma(2 * v * sigmoid(-2 * gelu_inner(v)), kGeluScale * fma(3 * kGeluCubic * v, v, 1), 1))
STOKER_FUNCTION(Sigmoid, sigmoid(x), v * (1 - v))
STOKER_FUNCTION(HardSigmoid, clip(x + 3, 0, 6) / 6, inside(v, 0, 1) ? 1.0F / 6 : 0.0F)
STOKER_FUNCTION(Silu, x * sigmoid(x), sigmoid(v) * fma(v, sigmoid(-v), 1))
STOKER_FUNCTION(HardSilu, x * clip(x + 3, 0, 6) / 6, inside(v, -3, 3) ? (2 * v + 3) / 6 : v > 0 ? 1.0F : 0.0F)
STOKER_FUNCTION(Softplus, softplus(x), sigmoid(v))
STOKER_FUNCTION(Softsign, x / (1 + abs(x)), 1 / ((1 + abs(v)) * (1 + abs(v))))
STOKER_FUNCTION(Tanh, tanh(x), fma(-v, v, 1))
STOKER_FUNCTION(HardTanh, clip(x, -1, 1), inside(v, -1, 1) ? 1.0F : 0.0F)
STOKER_FUNCTION(Mish, x * (mish_n(x) / (mish_n(x) + 2)), mish_n(v) / (mish_n(v) + 2) + v * sigmoid(v) * 4 * (mish_n(v) + 1) / ((mish_n(v) + 2) * (mish_n(v) + 2)))
STOKER_FUNCTION(LogSigmoid, -softplus(-x), sigmoid(-v))
STOKER_FUNCTION(Squareplus, squareplus(x, a), squareplus(v, a) / sqrt(fma(v, v, a)))
STOKER_FUNCTION(HardShrink, abs(x) <= a ? 0.0F : x, abs(v) > a ? 1.0F : 0.0F)
STOKER_FUNCTION(SoftShrink, x > a ? x - a : x < -a ? x + a : x == x ? 0.0F : x, abs(v) > a ? 1.0F : 0.0F)
STOKER_FUNCTION(TanhShrink, tanh_shrink(x), tanh(v) * tanh(v))
STOKER_FUNCTION(Threshold, x <= a ? b : x, v > a ? 1.0F : 0.0F)
STOKER_FUNCTION(Round, __builtin_rintf(x), 0)
STOKER_FUNCTION(Expm1, expm1(x), exp(v))
STOKER_FUNCTION(Atan, atan(x), 1 / fma(v, v, 1))
STOKER_FUNCTION(Erfinv, erfinv(x), 0.88622693F * exp(v * v))

struct Add { STOKER_INLINE float of(float a, float b) { return a + b; } };
struct Sub { STOKER_INLINE float of(float a, float b) { return a - b; } };
struct Mul { STOKER_INLINE float of(float a, float b) { return a * b; } };
struct Div { STOKER_INLINE float of(float a, float b) { return a / b; } };
struct Pow { STOKER_INLINE float of(float a, float b) { return __builtin_powf(a, b); } };
// NaN in either operand is the result.
struct Maximum { STOKER_INLINE float of(float a, float b) { return ((a >= b) | (a != a)) ? a : b; } };
struct Minimum { STOKER_INLINE float of(float a, float b) { return ((a <= b) | (a != a)) ? a : b; } };
// The rest has the sign of b.
struct Mod {
  STOKER_INLINE float of(float a, float b) {
    float rest = __builtin_fmodf(a, b);
    return ((rest != 0) & ((rest < 0) != (b < 0))) ? rest + b : rest;
  }
};
// By way of the rest: a quotient that rounding brings to the next integer would be one too many.
struct FloorDiv {
  STOKER_INLINE float of(float a, float b) { return b == 0 ? a / b : __builtin_rintf((a - Mod::of(a, b)) / b); }
};
// clang-format on
#undef STOKER_FUNCTION

// ivdep: an output may be one of the inputs, element for element, which is no reason not to
// vectorise.
template <class F>
void unary(const float* x, float* y, int64_t n, float alpha, float beta) {
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = F::value(x[i], alpha, beta);
}

template <class F>
void unary_grad(const float* v, const float* dy, float* dx, int64_t n, float alpha, float beta) {
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * F::slope(v[i], alpha, beta);
}

template <class F>
void binary(const float* a, const float* b, float* y, int64_t n) {
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = F::of(a[i], b[i]);
}

template <class F>
void binary_scalar_a(const float* a, const float* b, float* y, int64_t n) {
  float left = *a;
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = F::of(left, b[i]);
}

template <class F>
void binary_scalar_b(const float* a, const float* b, float* y, int64_t n) {
  float right = *b;
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = F::of(a[i], right);
}

// x², the usual exponent, is one multiplication.
void pow_scalar_b(const float* a, const float* b, float* y, int64_t n) {
  if (*b == 2)
    unary<Square>(a, y, n, 0, 0);
  else
    binary_scalar_b<Pow>(a, b, y, n);
}

// max(x, 0) - x z + log(1 + e^-|x|)
void sigmoid_cross_entropy(const float* x, const float* targets, float* loss, int64_t n) {
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    float v = x[i];
    loss[i] = (v > 0 ? v : 0.0F) - v * targets[i] + log1p(exp(-abs(v)));
  }
}

template <class F>
void set_unary(KernelTable& table, UnaryFn fn) {
  table.unary[int(fn)] = unary<F>;
  table.unary_grad[int(fn)] = unary_grad<F>;
}

template <class F>
void set_binary(KernelTable& table, BinaryFn fn) {
  table.binary[fn] = binary<F>;
  table.binary_scalar_a[fn] = binary_scalar_a<F>;
  table.binary_scalar_b[fn] = binary_scalar_b<F>;
}

}  // namespace

void add_elementwise(KernelTable& table) {
  static_assert(int(UnaryFn::erfinv) + 1 == kUnaryFunctions);
  set_unary<Abs>(table, UnaryFn::abs);
  set_unary<Neg>(table, UnaryFn::neg);
  set_unary<Exp>(table, UnaryFn::exp);
  set_unary<Log>(table, UnaryFn::log);
  set_unary<Log1p>(table, UnaryFn::log1p);
  set_unary<Sqrt>(table, UnaryFn::sqrt);
  set_unary<Rsqrt>(table, UnaryFn::rsqrt);
  set_unary<Square>(table, UnaryFn::square);
  set_unary<Reciprocal>(table, UnaryFn::reciprocal);
  set_unary<Sign>(table, UnaryFn::sign);
  set_unary<Floor>(table, UnaryFn::floor);
  set_unary<Sin>(table, UnaryFn::sin);
  set_unary<Cos>(table, UnaryFn::cos);
  set_unary<Erf>(table, UnaryFn::erf);
  set_unary<Clip>(table, UnaryFn::clip);
  set_unary<Relu>(table, UnaryFn::relu);
  set_unary<Relu6>(table, UnaryFn::relu6);
  set_unary<LeakyRelu>(table, UnaryFn::leaky_relu);
  set_unary<Elu>(table, UnaryFn::elu);
  set_unary<Celu>(table, UnaryFn::celu);
  set_unary<Selu>(table, UnaryFn::selu);
  set_unary<Gelu>(table, UnaryFn::gelu);
  set_unary<GeluTanh>(table, UnaryFn::gelu_tanh);
  set_unary<Sigmoid>(table, UnaryFn::sigmoid);
  set_unary<HardSigmoid>(table, UnaryFn::hard_sigmoid);
  set_unary<Silu>(table, UnaryFn::silu);
  set_unary<HardSilu>(table, UnaryFn::hard_silu);
  set_unary<Softplus>(table, UnaryFn::softplus);
  set_unary<Softsign>(table, UnaryFn::softsign);
  set_unary<Tanh>(table, UnaryFn::tanh);
  set_unary<HardTanh>(table, UnaryFn::hard_tanh);
  set_unary<Mish>(table, UnaryFn::mish);
  set_unary<LogSigmoid>(table, UnaryFn::log_sigmoid);
  set_unary<Squareplus>(table, UnaryFn::squareplus);
  set_unary<HardShrink>(table, UnaryFn::hard_shrink);
  set_unary<SoftShrink>(table, UnaryFn::soft_shrink);
  set_unary<TanhShrink>(table, UnaryFn::tanh_shrink);
  set_unary<Threshold>(table, UnaryFn::threshold);
  set_unary<Round>(table, UnaryFn::round);
  set_unary<Expm1>(table, UnaryFn::expm1);
  set_unary<Atan>(table, UnaryFn::atan);
  set_unary<Erfinv>(table, UnaryFn::erfinv);
  set_binary<Add>(table, kAdd);
  set_binary<Sub>(table, kSub);
  set_binary<Mul>(table, kMul);
  set_binary<Div>(table, kDiv);
  set_binary<Pow>(table, kPow);
  set_binary<Maximum>(table, kMaximum);
  set_binary<Minimum>(table, kMinimum);
  set_binary<Mod>(table, kMod);
  set_binary<FloorDiv>(table, kFloorDiv);
  table.binary_scalar_b[kPow] = pow_scalar_b;
  table.sigmoid_cross_entropy = sigmoid_cross_entropy;
}

}  // namespace stoker::cpu::STOKER_ISA
