#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/emit.h"

namespace stoker::ops {

Value abs(const Value& x) { return emit::unary("abs", x); }
Value exp(const Value& x) { return emit::unary("exp", x); }
Value log(const Value& x) { return emit::unary("log", x); }
Value log1p(const Value& x) { return emit::unary("log1p", x); }
Value sqrt(const Value& x) { return emit::unary("sqrt", x); }
Value rsqrt(const Value& x) { return emit::unary("rsqrt", x); }
Value square(const Value& x) { return emit::unary("square", x); }
Value reciprocal(const Value& x) { return emit::unary("reciprocal", x); }
Value sign(const Value& x) { return emit::unary("sign", x); }
Value floor(const Value& x) { return emit::unary("floor", x); }
Value sin(const Value& x) { return emit::unary("sin", x); }
Value cos(const Value& x) { return emit::unary("cos", x); }
Value erf(const Value& x) { return emit::unary("erf", x); }

Value clip(const Value& x, double low, double high) {
  if (!(low <= high))
    throw ValueError(fmt::format("clip: the lower bound {} is above the upper one {}", low, high));
  return emit::unary("clip", x, low, high);
}

Value pow(const Value& a, const Value& b) { return emit::binary("pow", a, b); }
Value maximum(const Value& a, const Value& b) { return emit::binary("maximum", a, b); }
Value minimum(const Value& a, const Value& b) { return emit::binary("minimum", a, b); }

Value equal(const Value& a, const Value& b) { return emit::compare("equal", a, b); }
Value not_equal(const Value& a, const Value& b) { return emit::compare("not_equal", a, b); }
Value less(const Value& a, const Value& b) { return emit::compare("less", a, b); }
Value less_equal(const Value& a, const Value& b) { return emit::compare("less_equal", a, b); }
Value greater(const Value& a, const Value& b) { return emit::compare("greater", a, b); }
Value greater_equal(const Value& a, const Value& b) { return emit::compare("greater_equal", a, b); }

Value where(const Value& condition, const Value& a, const Value& b) {
  return emit::select(condition, a, b);
}

Value cast(const Value& x, DType dtype) { return emit::cast(x, dtype); }

}  // namespace stoker::ops
