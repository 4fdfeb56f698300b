// The elementwise functions of the op "unary" {fn, alpha, beta}, in one table. A backend implements
// value(fn) and derivative(fn) for each entry; the derivative is taken from the output where that
// is enough, so that the input need not be kept.
#pragma once

#include <span>
#include <string_view>

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
};
// clang-format on

struct UnaryInfo {
  UnaryFn fn;
  std::string_view name;
  bool gradient_from_output;  // unary_grad's first operand is y, not x
  double flops;               // an estimate, per element
};

std::span<const UnaryInfo> unary_functions();
const UnaryInfo& unary_info(std::string_view name);  // ValueError lists the names
const UnaryInfo& unary_info(UnaryFn fn);

}  // namespace stoker
