#include "graph/unary.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <stoker/error.h>

#include "graph/text.h"

namespace stoker {

namespace {

constexpr bool kFromOutput = true, kFromInput = false;

// In the order of UnaryFn. The derivative comes from y only where y tells it without losing digits
// that x would have kept: softplus, softsign and log_sigmoid could be written with y, but cancel
// for large |x|.
constexpr auto kFunctions = std::to_array<UnaryInfo>({
    {UnaryFn::abs, "abs", kFromInput, 1},
    {UnaryFn::neg, "neg", kFromInput, 1},
    {UnaryFn::exp, "exp", kFromOutput, 8},
    {UnaryFn::log, "log", kFromInput, 8},
    {UnaryFn::log1p, "log1p", kFromInput, 8},
    {UnaryFn::sqrt, "sqrt", kFromOutput, 4},
    {UnaryFn::rsqrt, "rsqrt", kFromOutput, 4},
    {UnaryFn::square, "square", kFromInput, 1},
    {UnaryFn::reciprocal, "reciprocal", kFromOutput, 4},
    {UnaryFn::sign, "sign", kFromInput, 1},
    {UnaryFn::floor, "floor", kFromInput, 1},
    {UnaryFn::sin, "sin", kFromInput, 8},
    {UnaryFn::cos, "cos", kFromInput, 8},
    {UnaryFn::erf, "erf", kFromInput, 12},
    {UnaryFn::clip, "clip", kFromInput, 2},
    {UnaryFn::relu, "relu", kFromOutput, 1},
    {UnaryFn::relu6, "relu6", kFromOutput, 2},
    {UnaryFn::leaky_relu, "leaky_relu", kFromOutput, 2},
    {UnaryFn::elu, "elu", kFromOutput, 10},
    {UnaryFn::celu, "celu", kFromOutput, 11},
    {UnaryFn::selu, "selu", kFromOutput, 11},
    {UnaryFn::gelu, "gelu", kFromInput, 16},
    {UnaryFn::gelu_tanh, "gelu_tanh", kFromInput, 16},
    {UnaryFn::sigmoid, "sigmoid", kFromOutput, 10},
    {UnaryFn::hard_sigmoid, "hard_sigmoid", kFromOutput, 4},
    {UnaryFn::silu, "silu", kFromInput, 11},
    {UnaryFn::hard_silu, "hard_silu", kFromInput, 5},
    {UnaryFn::softplus, "softplus", kFromInput, 16},
    {UnaryFn::softsign, "softsign", kFromInput, 6},
    {UnaryFn::tanh, "tanh", kFromOutput, 10},
    {UnaryFn::hard_tanh, "hard_tanh", kFromOutput, 2},
    {UnaryFn::mish, "mish", kFromInput, 28},
    {UnaryFn::log_sigmoid, "log_sigmoid", kFromInput, 16},
    {UnaryFn::squareplus, "squareplus", kFromInput, 8},
    {UnaryFn::hard_shrink, "hard_shrink", kFromInput, 2},
    {UnaryFn::soft_shrink, "soft_shrink", kFromInput, 3},
    {UnaryFn::tanh_shrink, "tanh_shrink", kFromInput, 11},
    {UnaryFn::threshold, "threshold", kFromInput, 1},
    {UnaryFn::round, "round", kFromInput, 1},
    {UnaryFn::expm1, "expm1", kFromInput, 10},
    {UnaryFn::atan, "atan", kFromInput, 12},
    {UnaryFn::erfinv, "erfinv", kFromOutput, 24},
});

constexpr bool in_order() {
  for (size_t i = 0; i < kFunctions.size(); ++i)
    if (size_t(kFunctions[i].fn) != i) return false;
  return true;
}
static_assert(in_order());

}  // namespace

std::span<const UnaryInfo> unary_functions() { return kFunctions; }

const UnaryInfo& unary_info(UnaryFn fn) { return kFunctions.at(size_t(fn)); }

const UnaryInfo& unary_info(std::string_view name) {
  auto found = std::ranges::find(kFunctions, name, &UnaryInfo::name);
  if (found != kFunctions.end()) return *found;
  std::string names = list_text(kFunctions, [](const UnaryInfo& info) { return info.name; });
  throw ValueError(fmt::format("unknown elementwise function \"{}\"; there are {}", name, names));
}

}  // namespace stoker
