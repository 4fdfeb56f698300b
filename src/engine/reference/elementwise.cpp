// One number out for one number of each input.
#include <cmath>

#include <stoker/error.h>

#include "base/convert.h"
#include "base/integer_math.h"
#include "base/visit_dtype.h"
#include "engine/reference/indexing.h"
#include "engine/reference/kernel.h"
#include "engine/reference/unary_math.h"

namespace stoker::reference {

namespace {

void unary(const Call& call) {
  UnaryFn fn = unary_info(call.attrs.get<std::string>("fn")).fn;
  auto alpha = call.attrs.get_or<double>("alpha", 0), beta = call.attrs.get_or<double>("beta", 0);
  for (int64_t i = 0; i < call.out().size(); ++i)
    call.out()[i] = unary_value(fn, call.in(0)[i], alpha, beta);
}

void unary_grad(const Call& call) {
  const UnaryInfo& info = unary_info(call.attrs.get<std::string>("fn"));
  auto alpha = call.attrs.get_or<double>("alpha", 0), beta = call.attrs.get_or<double>("beta", 0);
  auto derivative = info.gradient_from_output ? derivative_from_output : derivative_from_input;
  for (int64_t i = 0; i < call.out().size(); ++i)
    call.out()[i] = call.in(1)[i] * derivative(info.fn, call.in(0)[i], alpha, beta);
}

// y[i] = function(a[i], b[i]) under broadcasting.
template <class Function>
void zip(const Call& call, Function function) {
  const Array &a = call.in(0), &b = call.in(1);
  Array& y = call.out();
  for (int64_t i = 0; i < y.size(); ++i) {
    Index index = unravel(i, y.shape());
    y[i] = function(a[broadcast_position(index, y.shape(), a.shape())],
                    b[broadcast_position(index, y.shape(), b.shape())]);
  }
}

// The rest has the sign of b.
Number float_mod(Number a, Number b) {
  Number rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

void binary(const Call& call) {
  const auto& fn = call.attrs.get<std::string>("fn");
  bool integer = is_integer(call.in(0).spec.dtype);
  if (fn == "add") return zip(call, [](Number a, Number b) { return a + b; });
  if (fn == "sub") return zip(call, [](Number a, Number b) { return a - b; });
  if (fn == "mul") return zip(call, [](Number a, Number b) { return a * b; });
  if (fn == "div" && integer)
    return zip(call, [](Number a, Number b) { return b == 0 ? 0 : std::trunc(a / b); });
  if (fn == "div") return zip(call, [](Number a, Number b) { return a / b; });
  if (fn == "pow") return zip(call, [](Number a, Number b) { return std::pow(a, b); });
  // Written so that NaN in either operand is the result.
  if (fn == "maximum")
    return zip(call, [](Number a, Number b) { return a >= b || std::isnan(a) ? a : b; });
  if (fn == "minimum")
    return zip(call, [](Number a, Number b) { return a <= b || std::isnan(a) ? a : b; });
  if (fn == "mod" && !integer) return zip(call, float_mod);
  if (fn == "floor_div" && !integer)
    return zip(call, [](Number a, Number b) {
      return b == 0 ? a / b : std::rint((a - float_mod(a, b)) / b);
    });
  auto whole = [&](int64_t (*function)(int64_t, int64_t)) {
    zip(call, [=](Number a, Number b) { return Number(function(int64_t(a), int64_t(b))); });
  };
  if (fn == "mod") return whole(floor_mod);
  if (fn == "floor_div") return whole(floor_div);
  if (fn == "shift_left") return whole(shift_left);
  if (fn == "shift_right") return whole(shift_right);
  if (fn == "bit_and") return whole([](int64_t a, int64_t b) { return a & b; });
  if (fn == "bit_or") return whole([](int64_t a, int64_t b) { return a | b; });
  if (fn == "bit_xor") return whole([](int64_t a, int64_t b) { return a ^ b; });
  throw ValueError("binary: unknown function \"" + fn + "\"");
}

void compare(const Call& call) {
  const auto& fn = call.attrs.get<std::string>("fn");
  if (fn == "equal") return zip(call, [](Number a, Number b) { return Number(a == b); });
  if (fn == "not_equal") return zip(call, [](Number a, Number b) { return Number(a != b); });
  if (fn == "less") return zip(call, [](Number a, Number b) { return Number(a < b); });
  if (fn == "less_equal") return zip(call, [](Number a, Number b) { return Number(a <= b); });
  if (fn == "greater") return zip(call, [](Number a, Number b) { return Number(a > b); });
  if (fn == "greater_equal") return zip(call, [](Number a, Number b) { return Number(a >= b); });
  throw ValueError("compare: unknown function \"" + fn + "\"");
}

void select(const Call& call) {
  const Array &condition = call.in(0), &a = call.in(1), &b = call.in(2);
  Array& y = call.out();
  for (int64_t i = 0; i < y.size(); ++i) {
    Index index = unravel(i, y.shape());
    const Array& chosen =
        condition[broadcast_position(index, y.shape(), condition.shape())] != 0 ? a : b;
    y[i] = chosen[broadcast_position(index, y.shape(), chosen.shape())];
  }
}

// A float goes to an integer towards zero and stops at the integer's limits. The rounding that
// every result gets does the rest: integers wrap, all but zero is true.
void cast(const Call& call) {
  Array& y = call.out();
  y.data = call.in(0).data;
  if (!is_floating(call.in(0).spec.dtype) || !is_integer(y.spec.dtype)) return;
  visit_numeric(y.spec.dtype, [&]<class T>(std::type_identity<T>) {
    for (Number& value : y.data) value = convert<Number>(convert<T>(value));
  });
}

void moving_average(const Call& call) {
  auto momentum = call.attrs.get<double>("momentum");
  for (int64_t i = 0; i < call.out().size(); ++i)
    call.out()[i] = call.in(0)[i] * momentum + call.in(1)[i] * (1 - momentum);
}

}  // namespace

void add_elementwise_kernels(KernelTable& table) {
  table["unary"] = unary;
  table["unary_grad"] = unary_grad;
  table["binary"] = binary;
  table["compare"] = compare;
  table["select"] = select;
  table["cast"] = cast;
  table["moving_average"] = moving_average;
}

}  // namespace stoker::reference
