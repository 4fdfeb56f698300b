// Functions of whole numbers.
#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>
#include <stoker/ops_loops.h>
#include <stoker/ops_math.h>
#include <stoker/ops_statistics.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"

namespace stoker::ops {

namespace {

// Both of one dtype and of one shape, without their signs.
Values magnitudes(const char* what, const Value& a, const Value& b) {
  if (!is_integer(a.dtype()) || !is_integer(b.dtype()))
    throw ShapeError(fmt::format("{}: expected whole numbers, got {} and {}", what,
                                 to_string(a.spec()), to_string(b.spec())));
  DType dtype =
      a.dtype() == DType::int64 || b.dtype() == DType::int64 ? DType::int64 : DType::int32;
  Value x = absolute_of(emit::cast(a, dtype)), y = absolute_of(emit::cast(b, dtype));
  return {x + y * 0, y + x * 0};
}

Value divisor(const Values& of) {
  // Consecutive Fibonacci numbers take the most steps: 46 below 2^31, 92 below 2^63.
  int64_t most = of[0].dtype() == DType::int64 ? 92 : 46;
  auto goes_on = [](const Values& pair) { return any(not_equal(pair[1], 0)); };
  auto step = [](const Values& pair) -> Values {
    Value is_zero = equal(pair[1], 0);
    return {where(is_zero, pair[0], pair[1]),
            where(is_zero, 0, mod(pair[0], where(is_zero, 1, pair[1])))};
  };
  return while_loop(goes_on, step, of, {.maximum_iterations = most})[0];
}

}  // namespace

Value gcd(const Value& a, const Value& b) { return divisor(magnitudes("gcd", a, b)); }

Value lcm(const Value& a, const Value& b) {
  Values pair = magnitudes("lcm", a, b);
  Value common = divisor(pair);
  return pair[0] * floor_divide(pair[1], where(equal(common, 0), 1, common));
}

}  // namespace stoker::ops
