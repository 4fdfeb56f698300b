// unary and unary_grad: every function of src/graph/unary.h, on its domain and at its extremes.
#include "graph/unary.h"

#include <fmt/format.h>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

// Simple arithmetic is held to 4 units in the last place, what needs exp or log to 16.
constexpr double kSimple = 4, kTranscendental = 16;

struct Domain {
  Fill fill;
  double alpha = 0, beta = 0;
  double ulps = kTranscendental;
  double floor = 0;       // see ulps() in op_bounds.h
  bool saturates = true;  // may be called with any number
};

Domain domain(UnaryFn fn) {
  Fill around_zero{-4, 4}, positive{0.1, 4}, no_zero{-2, 2, {0}};
  switch (fn) {
    case UnaryFn::abs:
      return {no_zero, 0, 0, kSimple};
    case UnaryFn::sign:
      return {no_zero, 0, 0, kSimple};
    case UnaryFn::neg:
    case UnaryFn::square:
      return {around_zero, 0, 0, kSimple};
    case UnaryFn::floor:
      return {{-2, 2, {-2, -1, 0, 1, 2}}, 0, 0, kSimple};
    case UnaryFn::exp:
      return {around_zero, 0, 0, kTranscendental, 0, false};
    case UnaryFn::log:
      return {positive, 0, 0, kTranscendental, 0, false};
    case UnaryFn::log1p:
      return {{-0.5, 3}, 0, 0, kTranscendental, 0, false};
    case UnaryFn::sqrt:
    case UnaryFn::rsqrt:
      return {positive, 0, 0, kSimple, 0, false};
    case UnaryFn::reciprocal:
      return {{0.3, 3}, 0, 0, kSimple, 0, false};
    // The argument is reduced by multiples of pi: near a zero its rounding is all that is left.
    case UnaryFn::sin:
    case UnaryFn::cos:
      return {around_zero, 0, 0, kTranscendental, 1};
    case UnaryFn::clip:
      return {{-2, 2, {-0.5, 0.75}}, -0.5, 0.75, kSimple};
    case UnaryFn::relu:
      return {no_zero, 0, 0, kSimple};
    case UnaryFn::relu6:
      return {{-2, 8, {0, 6}}, 0, 0, kSimple};
    case UnaryFn::leaky_relu:
      return {no_zero, 0.2, 0, kSimple};
    case UnaryFn::elu:
      return {{-4, 4, {0}}, 1.3};
    case UnaryFn::celu:
      return {{-4, 4, {0}}, 1.5};
    case UnaryFn::selu:
      return {{-4, 4, {0}}};
    case UnaryFn::hard_sigmoid:
    case UnaryFn::hard_silu:
      return {{-5, 5, {-3, 3}}, 0, 0, kSimple, 1};
    case UnaryFn::hard_tanh:
      return {{-2, 2, {-1, 1}}, 0, 0, kSimple};
    case UnaryFn::squareplus:
      return {around_zero, 4, 0, kSimple, 4};
    case UnaryFn::hard_shrink:
    case UnaryFn::soft_shrink:
      return {{-2, 2, {-0.5, 0.5}}, 0.5, 0, kSimple};
    case UnaryFn::tanh_shrink:
      return {around_zero, 0, 0, kTranscendental, 1};
    case UnaryFn::threshold:
      return {{-2, 2, {0.3}}, 0.3, -1, kSimple};
    // 1 + erf and 1 + tanh cancel below zero.
    case UnaryFn::gelu:
    case UnaryFn::gelu_tanh:
      return {around_zero, 0, 0, kTranscendental, 1};
    case UnaryFn::round:
      return {{-2, 2, {-1.5, -0.5, 0.5, 1.5}}, 0, 0, kSimple};
    case UnaryFn::expm1:
      return {around_zero, 0, 0, kTranscendental, 0, false};
    case UnaryFn::erfinv:
      return {{-0.99, 0.99}, 0, 0, kTranscendental, 0, false};
    case UnaryFn::atan:
    case UnaryFn::mish:
    case UnaryFn::softplus:
    case UnaryFn::log_sigmoid:
    case UnaryFn::erf:
    case UnaryFn::sigmoid:
    case UnaryFn::silu:
    case UnaryFn::softsign:
    case UnaryFn::tanh:
      return {around_zero};
  }
  return {};
}

Attrs attributes(const UnaryInfo& info, const Domain& domain) {
  return {{"fn", std::string(info.name)}, {"alpha", domain.alpha}, {"beta", domain.beta}};
}

void add_unary(OpCases& cases, const UnaryInfo& info) {
  Domain where = domain(info.fn);
  Attrs attrs = attributes(info, where);
  std::string name(info.name);
  Bound bound = ulps(where.ulps, where.floor);
  cases.good.push_back({name, attrs, {{{3, 11}, where.fill}}, bound});
  if (!where.saturates) return;
  // Zero and kinks included, and far enough out for exp to overflow. Where squareplus should fall
  // to zero, x and the root of its square cancel.
  Fill extremes{
      .values = {-1e4, -200, -89, -30, -6, -3, -1, -0.5, 0, 0.5, 1, 3, 6, 30, 89, 200, 1e4}};
  cases.good.push_back({.name = name + "_extremes",
                        .attrs = attrs,
                        .inputs = {{{17}, extremes}},
                        .bound = ulps(where.ulps, info.fn == UnaryFn::squareplus ? 1e4 : 1),
                        .gradient = false,
                        .dtypes = {DType::float32}});
}

// Functions whose y lies on a kink of the slope for many x: differences across it mean nothing.
// That their second derivative is zero is checked with unary, by x.
bool rests_on_a_kink(UnaryFn fn) {
  return fn == UnaryFn::relu || fn == UnaryFn::relu6 || fn == UnaryFn::hard_sigmoid ||
         fn == UnaryFn::hard_tanh;
}

// dy * fn'(v): of 1 - y² and its like, units in the last place of the 1.
void add_unary_grad(OpCases& cases, const UnaryInfo& info) {
  Domain where = domain(info.fn);
  Attrs attrs = attributes(info, where);
  InputCase v{{3, 11}, where.fill};
  if (info.gradient_from_output) v.derived = Derived{"unary", attrs};
  cases.good.push_back({std::string(info.name),
                        attrs,
                        {v, {{3, 11}}},
                        ulps(kTranscendental, 1),
                        !rests_on_a_kink(info.fn)});
  if (!where.saturates) return;
  Fill extremes{.values = {-1e4, -200, -89, -30, -7, -4, -2, 0.2, 2, 4, 7, 30, 89, 200, 1e4}};
  InputCase far{{15}, extremes};
  far.derived = v.derived;
  cases.good.push_back({.name = std::string(info.name) + "_extremes",
                        .attrs = attrs,
                        .inputs = {far, {{15}}},
                        .bound = ulps(kTranscendental, info.fn == UnaryFn::square ? 0 : 1),
                        .gradient = false,
                        .dtypes = {DType::float32}});
}

}  // namespace

void add_unary_cases(OpCaseTable& table) {
  OpCases unary, unary_grad;
  for (const UnaryInfo& info : unary_functions()) {
    add_unary(unary, info);
    add_unary_grad(unary_grad, info);
  }
  Attrs relu = {{"fn", "relu"}, {"alpha", 0.0}, {"beta", 0.0}};
  Attrs tanh = {{"fn", "tanh"}, {"alpha", 0.0}, {"beta", 0.0}};
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{8}, Shape{33}, Shape{2, 7, 7, 3}, Shape{1000}})
    unary.good.push_back({fmt::format("relu_of_{}_elements", shape.elements()) +
                              (shape.rank() == 0 ? "_scalar" : ""),
                          relu,
                          {{shape, {-2, 2, {0}}}},
                          ulps(kSimple)});
  Shape large{67, 1021};
  unary.good.push_back({"tanh_large", tanh, {{large}}, ulps(kTranscendental)});
  unary_grad.good.push_back(
      {"tanh_large", tanh, {{large, {-0.99, 0.99}}, {large}}, ulps(kTranscendental, 1)});
  unary.bad = {{"an integer", relu, {{DType::int32, {3}}}},
               {"two inputs", relu, {{DType::float32, {3}}, {DType::float32, {3}}}}};
  unary_grad.bad = {{"one input", tanh, {{DType::float32, {3}}}},
                    {"shapes that differ", tanh, {{DType::float32, {3}}, {DType::float32, {4}}}},
                    {"dtypes that differ", tanh, {{DType::float32, {3}}, {DType::float16, {3}}}}};
  table["unary"] = std::move(unary);
  table["unary_grad"] = std::move(unary_grad);
}

}  // namespace stoker::test
