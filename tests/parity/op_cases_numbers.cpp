// Cases of elementwise functions, of order and statistics.
#include <limits>

#include "parity/op_cases.h"

namespace stoker::test {

namespace {

Value with_gaps(const Value& x) {
  return ops::where(ops::greater(x, 1.2), std::numeric_limits<double>::quiet_NaN(), x);
}

}  // namespace

OpCases elementwise_cases() {
  return {
      {"expm1", STOKER_ONE("x", expm1)},
      {"exp2", STOKER_ONE("x", exp2)},
      {"log2", STOKER_ONE("p", log2)},
      {"log10", STOKER_ONE("p", log10)},
      {"tan", STOKER_ONE("u", tan)},
      {"arcsin", STOKER_ONE("u", arcsin)},
      {"arccos", STOKER_ONE("u", arccos)},
      {"arctan", STOKER_ONE("x", arctan)},
      {"arctan2", STOKER_TWO("x y", arctan2)},
      {"sinh", STOKER_ONE("x", sinh)},
      {"cosh", STOKER_ONE("x", cosh)},
      {"arcsinh", STOKER_ONE("x", arcsinh)},
      {"arccosh", STOKER_CASE("p", {ops::arccosh(i[0] + 1.0)})},
      {"arctanh", STOKER_ONE("u", arctanh)},
      {"erfinv", STOKER_ONE("u", erfinv)},
      {"erfc", STOKER_ONE("x", erfc)},
      {"logaddexp", STOKER_TWO("x y", logaddexp)},
      {"logaddexp2", STOKER_TWO("x y", logaddexp2)},
      {"hypot", STOKER_TWO("x y", hypot)},
      {"cbrt", STOKER_ONE("p", cbrt)},
      {"sinc", STOKER_ONE("x", sinc)},
      {"ceil", STOKER_ONE("x", ceil)},
      {"round", STOKER_ONE("x", round)},
      {"round_2", STOKER_CASE("x", {ops::round(i[0], 2)})},
      {"trunc", STOKER_ONE("x", trunc)},
      {"mod", STOKER_TWO("x p", mod)},
      {"floor_divide", STOKER_TWO("x p", floor_divide)},
      {"fmod", STOKER_TWO("x p", fmod)},
      {"mod_whole", STOKER_TWO("whole other", mod)},
      {"floor_divide_whole", STOKER_TWO("whole other", floor_divide)},
      {"divide_no_nan",
       STOKER_CASE("x y", {ops::divide_no_nan(i[0], ops::where(ops::greater(i[1], 0), i[1], 0))})},
      {"deg2rad", STOKER_ONE("x", deg2rad)},
      {"rad2deg", STOKER_ONE("x", rad2deg)},
      {"heaviside", STOKER_CASE("x", {ops::heaviside(i[0], 0.5)})},
      {"fmax", STOKER_TWO("x y", fmax)},
      {"fmin", STOKER_TWO("x y", fmin)},
      {"signbit", STOKER_ONE("x", signbit)},
      {"i0", STOKER_ONE("x", i0)},
      {"bitwise_and", STOKER_TWO("whole other", bitwise_and)},
      {"bitwise_or", STOKER_TWO("whole other", bitwise_or)},
      {"bitwise_xor", STOKER_TWO("whole other", bitwise_xor)},
      {"bitwise_not", STOKER_ONE("whole", bitwise_not)},
      {"left_shift", STOKER_TWO("whole other", left_shift)},
      {"right_shift", STOKER_TWO("whole other", right_shift)},
      {"gcd", STOKER_TWO("whole other", gcd)},
      {"lcm", STOKER_TWO("whole other", lcm)},
      {"logical_and",
       STOKER_CASE("x y", {ops::logical_and(ops::greater(i[0], 0), ops::greater(i[1], 0))})},
      {"logical_or",
       STOKER_CASE("x y", {ops::logical_or(ops::greater(i[0], 0), ops::greater(i[1], 0))})},
      {"logical_xor",
       STOKER_CASE("x y", {ops::logical_xor(ops::greater(i[0], 0), ops::greater(i[1], 0))})},
      {"logical_not", STOKER_CASE("x", {ops::logical_not(ops::greater(i[0], 0))})},
      {"isclose", STOKER_CASE("x y", {ops::isclose(i[0], i[1], {.rtol = 0.5})})},
  };
}

OpCases statistics_cases() {
  return {
      {"sort", STOKER_CASE("x", {ops::sort(i[0], 0)})},
      {"argsort", STOKER_ONE("x", argsort)},
      {"argmin", STOKER_CASE("x", {ops::argmin(i[0], 1)})},
      {"top_k",
       {"x",
        [](const Values& i) -> Values {
          ops::TopK found = ops::top_k(i[0], 3);
          return {found.values, found.indices};
        }}},
      {"median", STOKER_CASE("x", {ops::median(i[0], {.axes = {1}})})},
      {"quantile",
       STOKER_CASE("x", {ops::quantile(i[0], std::vector<double>{0.1, 0.75}, {.axes = {0}})})},
      {"cumsum", STOKER_CASE("x", {ops::cumsum(i[0], 0)})},
      {"cumprod", STOKER_CASE("x", {ops::cumprod(i[0], 1)})},
      {"diff", STOKER_CASE("x", {ops::diff(i[0], 2, 1)})},
      {"searchsorted", STOKER_CASE("v w", {ops::searchsorted(ops::sort(i[0]), i[1])})},
      {"trapezoid", STOKER_ONE("x", trapezoid)},
      {"any", STOKER_CASE("x", {ops::any(ops::greater(i[0], 1.5), {.axes = {1}})})},
      {"all", STOKER_CASE("x", {ops::all(ops::greater(i[0], -1.5), {.axes = {1}})})},
      {"ptp", STOKER_CASE("x", {ops::ptp(i[0], {.axes = {1}})})},
      {"count_nonzero", STOKER_ONE("ids", count_nonzero)},
      {"var", STOKER_CASE("x", {ops::var(i[0], {.axes = {1}})})},
      {"std", STOKER_CASE("x", {ops::std(i[0], {.axes = {0}, .keepdims = true})})},
      {"average", STOKER_CASE("x p", {ops::average(i[0], i[1], {.axes = {1}})})},
      {"logsumexp", STOKER_CASE("x", {ops::logsumexp(i[0], {.axes = {1}})})},
      {"norm", STOKER_CASE("x", {ops::norm(i[0], {.axes = {1}})})},
      {"norm_1", STOKER_CASE("x", {ops::linalg::norm(i[0], {.ord = "1", .axes = {1}})})},
      {"norm_nuc", STOKER_CASE("a", {ops::linalg::norm(i[0], {.ord = "nuc", .axes = {1, 2}})})},
      {"norm_inf", STOKER_CASE("a", {ops::linalg::norm(i[0], {.ord = "inf", .axes = {1, 2}})})},
      {"moments",
       {"x",
        [](const Values& i) -> Values {
          ops::Moments found = ops::moments(i[0], {.axes = {0}});
          return {found.mean, found.variance};
        }}},
      {"corrcoef", STOKER_ONE("rows", corrcoef)},
      {"nanmedian", STOKER_CASE("x", {ops::nanmedian(with_gaps(i[0]), {.axes = {1}})})},
      {"nanquantile",
       STOKER_CASE("x", {ops::nanquantile(with_gaps(i[0]), std::vector<double>{0.1, 0.75},
                                          {.axes = {0}})})},
      {"nanquantile_higher",
       STOKER_CASE("x", {ops::nanquantile(with_gaps(i[0]), 0.3, {.method = "higher"})})},
      {"nanpercentile",
       STOKER_CASE("x", {ops::nanpercentile(with_gaps(i[0]), 40,
                                            {.axes = {1}, .keepdims = true})})},
      {"correlate",
       STOKER_CASE("signal v", {ops::correlate(ops::squeeze(part(i[0], {{.end = 1}}), 0), i[1],
                                               "same")})},
  };
}

}  // namespace stoker::test
