// The elementwise functions of the op "unary" by number. Without includes, so that code which is
// compiled at run time can have it; graph/unary.h says what each is.
#pragma once

namespace stoker {

// clang-format off
enum class UnaryFn : int {
  abs, neg, exp, log, log1p, sqrt, rsqrt, square, reciprocal, sign, floor, sin, cos, erf,
  clip,           // to [alpha, beta]
  relu, relu6,
  leaky_relu,     // alpha: slope below zero
  elu, celu,      // alpha
  selu, gelu, gelu_tanh, sigmoid,
  hard_sigmoid,   // relu6(x + 3) / 6
  silu, hard_silu, softplus, softsign, tanh,
  hard_tanh,      // to [-1, 1]
  mish, log_sigmoid,
  squareplus,     // (x + sqrt(x² + alpha)) / 2
  hard_shrink, soft_shrink,  // alpha: threshold
  tanh_shrink,    // x - tanh(x)
  threshold,      // x > alpha ? x : beta
  round,          // halves to even
  expm1, atan, erfinv,
};
// clang-format on

}  // namespace stoker
