// The functions of graph/unary.h and their derivatives for one float. The derivative comes from the
// output where the table says so, as in the reference. Generated kernels include it as well: nothing
// but the list of functions may be needed here.
#pragma once

#include "graph/unary_fn.h"

// The interpreter calls them, generated kernels know which one they want.
#ifndef STOKER_UNARY_CALL
#define STOKER_UNARY_CALL __noinline__ static
#endif

namespace stoker::cuda {

// How exponentials and quotients are computed: to the last bit or two of a float, or as well as
// a 16-bit float can show.
struct PreciseMath {
  __device__ static float exp(float x) { return expf(x); }
  __device__ static float divide(float a, float b) { return a / b; }
  __device__ static float normal_cdf(float x) { return 0.5F * erfcf(-x * 0.7071067811865476F); }
};
struct FastMath {
  __device__ static float exp(float x) { return __expf(x); }
  __device__ static float divide(float a, float b) { return __fdividef(a, b); }
  // erfc(z) · exp(z²) as a polynomial in t = 1 / (1 + 0.43 z), fitted for z up to 6.5: 3e-6.
  __device__ static float normal_cdf(float x) {
    float z = fabsf(x) * 0.7071067811865476F, t = divide(0.5F, 0.5F + 0.215F * z);
    float p = -0.15879745F;
    p = p * t + 0.4233814F;
    p = p * t - 0.029669064F;
    p = p * t + 0.29176015F;
    p = p * t + 0.22979664F;
    p = p * t + 0.24352542F;
    float tail = 0.5F * t * p * exp(-z * z);
    return x < 0 ? tail : 1 - tail;
  }
};

// σ(x) and σ(-x), from one exponential and one quotient.
struct Sigmoids {
  float up, down;
};
template <class Math>
__device__ inline Sigmoids sigmoids(float x) {
  float e = Math::exp(-fabsf(x)), large = Math::divide(1, 1 + e), small = e * large;
  return x >= 0 ? Sigmoids{large, small} : Sigmoids{small, large};
}
template <class Math>
__device__ inline float sigmoid(float x) {
  return sigmoids<Math>(x).up;
}
__device__ inline float softplus(float x) { return fmaxf(x, 0.0F) + log1pf(expf(-fabsf(x))); }
__device__ inline float clipped(float x, float low, float high) {
  return x < low ? low : x > high ? high : x;  // NaN passes
}
__device__ inline bool inside(float x, float low, float high) { return low < x && x < high; }
__device__ inline float sign_of(float x) { return x > 0 ? 1 : x < 0 ? -1 : x == x ? 0 : x; }

constexpr float kSeluAlpha = 1.6732632423543772F, kSeluScale = 1.0507009873554805F;
constexpr float kGeluCubic = 0.044715F, kGeluScale = 0.7978845608028654F;

__device__ inline float gelu_inner(float x) {
  return tanhf(kGeluScale * (x + kGeluCubic * x * x * x));
}
template <class Math>
__device__ inline float normal_pdf(float x) {
  return 0.3989422804014327F * Math::exp(-x * x / 2);
}

// One function a line, which clang-format would spread over two.
// clang-format off
template <class Math>
__device__ STOKER_UNARY_CALL float unary_value(UnaryFn fn, float x, float alpha, float beta) {
  switch (fn) {
    case UnaryFn::abs: return fabsf(x);
    case UnaryFn::neg: return -x;
    case UnaryFn::exp: return Math::exp(x);
    case UnaryFn::log: return logf(x);
    case UnaryFn::log1p: return log1pf(x);
    case UnaryFn::sqrt: return sqrtf(x);
    case UnaryFn::rsqrt: return 1 / sqrtf(x);
    case UnaryFn::square: return x * x;
    case UnaryFn::reciprocal: return 1 / x;
    case UnaryFn::sign: return sign_of(x);
    case UnaryFn::floor: return floorf(x);
    case UnaryFn::sin: return sinf(x);
    case UnaryFn::cos: return cosf(x);
    case UnaryFn::erf: return erff(x);
    case UnaryFn::clip: return clipped(x, alpha, beta);
    case UnaryFn::relu: return x < 0 ? 0 : x;
    case UnaryFn::relu6: return clipped(x, 0, 6);
    case UnaryFn::leaky_relu: return x < 0 ? alpha * x : x;
    case UnaryFn::elu: return x < 0 ? alpha * expm1f(x) : x;
    case UnaryFn::celu: return x < 0 ? alpha * expm1f(x / alpha) : x;
    case UnaryFn::selu: return kSeluScale * (x < 0 ? kSeluAlpha * expm1f(x) : x);
    case UnaryFn::gelu: return x * Math::normal_cdf(x);
    case UnaryFn::gelu_tanh: return 0.5F * x * (1 + gelu_inner(x));
    case UnaryFn::sigmoid: return sigmoid<Math>(x);
    case UnaryFn::hard_sigmoid: return clipped(x + 3, 0, 6) / 6;
    case UnaryFn::silu: return x * sigmoid<Math>(x);
    case UnaryFn::hard_silu: return x * clipped(x + 3, 0, 6) / 6;
    case UnaryFn::softplus: return softplus(x);
    case UnaryFn::softsign: return x / (1 + fabsf(x));
    case UnaryFn::tanh: return tanhf(x);
    case UnaryFn::hard_tanh: return clipped(x, -1, 1);
    case UnaryFn::mish: return x * tanhf(softplus(x));
    case UnaryFn::log_sigmoid: return -softplus(-x);
    // For x < 0 the sum cancels; its conjugate does not.
    case UnaryFn::squareplus: {
      float root = sqrtf(x * x + alpha);
      return x >= 0 ? (x + root) / 2 : alpha / (2 * (root - x));
    }
    case UnaryFn::hard_shrink: return fabsf(x) <= alpha ? 0 : x;
    case UnaryFn::soft_shrink: return x > alpha ? x - alpha : x < -alpha ? x + alpha : x == x ? 0 : x;
    case UnaryFn::tanh_shrink: {
      // x - tanh x cancels near zero: x³/3 - 2x⁵/15 + 17x⁷/315 - 62x⁹/2835 + 1382x¹¹/155925 there.
      if (fabsf(x) > 0.4F) return x - tanhf(x);
      float s = x * x;
      return x * s * (0.33333334F + s * (-0.13333334F + s * (0.053968254F + s * (-0.021869488F +
             s * (0.0088632355F - s * 0.0035921280F)))));
    }
    case UnaryFn::threshold: return x <= alpha ? beta : x;
    case UnaryFn::round: return rintf(x);
    case UnaryFn::expm1: return expm1f(x);
    case UnaryFn::atan: return atanf(x);
    case UnaryFn::erfinv: return erfinvf(x);
  }
  return 0;
}

template <class Math>
__device__ STOKER_UNARY_CALL float unary_slope(UnaryFn fn, float v, float alpha, float beta) {
  switch (fn) {
    // from the input
    case UnaryFn::abs: return sign_of(v);
    case UnaryFn::neg: return -1;
    case UnaryFn::log: return 1 / v;
    case UnaryFn::log1p: return 1 / (1 + v);
    case UnaryFn::square: return 2 * v;
    case UnaryFn::sign:
    case UnaryFn::floor: return 0;
    case UnaryFn::sin: return cosf(v);
    case UnaryFn::cos: return -sinf(v);
    case UnaryFn::erf: return 1.1283791670955126F * expf(-v * v);
    case UnaryFn::clip: return inside(v, alpha, beta);
    case UnaryFn::gelu: return Math::normal_cdf(v) + v * normal_pdf<Math>(v);
    case UnaryFn::gelu_tanh: {
      float t = gelu_inner(v);
      return 0.5F * (1 + t) +
             0.5F * v * (1 - t * t) * kGeluScale * (1 + 3 * kGeluCubic * v * v);
    }
    case UnaryFn::silu: {
      Sigmoids s = sigmoids<Math>(v);
      return s.up * (1 + v * s.down);
    }
    case UnaryFn::hard_silu: return inside(v, -3, 3) ? (2 * v + 3) / 6 : float(v > 0);
    case UnaryFn::softplus: return sigmoid<Math>(v);
    case UnaryFn::softsign: return 1 / ((1 + fabsf(v)) * (1 + fabsf(v)));
    case UnaryFn::mish: {
      float t = tanhf(softplus(v));
      return t + v * (1 - t * t) * sigmoid<Math>(v);
    }
    case UnaryFn::log_sigmoid: return sigmoid<Math>(-v);
    case UnaryFn::squareplus: {
      float root = sqrtf(v * v + alpha);
      return v >= 0 ? 0.5F * (1 + v / root) : 0.5F * alpha / (root * (root - v));
    }
    case UnaryFn::hard_shrink:
    case UnaryFn::soft_shrink: return fabsf(v) > alpha;
    case UnaryFn::tanh_shrink: return tanhf(v) * tanhf(v);
    case UnaryFn::threshold: return v > alpha;
    case UnaryFn::round: return 0;
    case UnaryFn::expm1: return Math::exp(v);
    case UnaryFn::atan: return 1 / (1 + v * v);
    // from the output
    case UnaryFn::exp: return v;
    case UnaryFn::sqrt: return 0.5F / v;
    case UnaryFn::rsqrt: return -0.5F * v * v * v;
    case UnaryFn::reciprocal: return -v * v;
    case UnaryFn::relu: return v > 0;
    case UnaryFn::relu6: return inside(v, 0, 6);
    case UnaryFn::leaky_relu: return v > 0 ? 1 : alpha;
    case UnaryFn::elu: return v > 0 ? 1 : v + alpha;
    case UnaryFn::celu: return v > 0 ? 1 : v / alpha + 1;
    case UnaryFn::selu: return v > 0 ? kSeluScale : v + kSeluScale * kSeluAlpha;
    case UnaryFn::sigmoid: return v * (1 - v);
    case UnaryFn::hard_sigmoid: return inside(v, 0, 1) ? 1.0F / 6 : 0;
    case UnaryFn::tanh: return 1 - v * v;
    case UnaryFn::hard_tanh: return inside(v, -1, 1);
    case UnaryFn::erfinv: return 0.88622693F * expf(v * v);
  }
  return 0;
}
// clang-format on

}  // namespace stoker::cuda
