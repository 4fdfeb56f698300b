// Truth values, what is not a finite number, and bits.
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_math.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"

namespace stoker::ops {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

const Value& no() {
  static const Value kNo = Tensor::full({}, 0, DType::bool_);
  return kNo;
}
const Value& yes() {
  static const Value kYes = Tensor::full({}, 1, DType::bool_);
  return kYes;
}

// A constant of x's own dtype: a number would be taken for one that 16 bits cannot hold.
Value infinity_of(const Value& x, double sign) {
  return Tensor::full({}, sign * kInfinite, x.dtype());
}

Value never(const Value& x) { return emit::compare("not_equal", truth(x), truth(x)); }

Value bits(const char* fn, const Value& a, const Value& b) {
  for (const Value* operand : {&a, &b})
    if (operand->scalar() == nullptr && is_floating(operand->dtype()))
      throw ShapeError(fmt::format("{}: expected integers, got {}; ops::cast converts them", fn,
                                   to_string(operand->spec())));
  return emit::binary(fn, a, b);
}

}  // namespace

// --- logic ---

Value logical_and(const Value& a, const Value& b) { return emit::select(truth(a), truth(b), no()); }
Value logical_or(const Value& a, const Value& b) { return emit::select(truth(a), yes(), truth(b)); }
Value logical_xor(const Value& a, const Value& b) {
  return emit::compare("not_equal", truth(a), truth(b));
}
Value logical_not(const Value& x) { return emit::compare("equal", truth(x), no()); }

Value isnan(const Value& x) {
  return is_floating(x.dtype()) ? emit::compare("not_equal", x, x) : never(x);
}
Value isfinite(const Value& x) {
  return is_floating(x.dtype()) ? emit::is_finite(x) : logical_not(never(x));
}
Value isposinf(const Value& x) {
  return is_floating(x.dtype()) ? emit::compare("equal", x, infinity_of(x, 1)) : never(x);
}
Value isneginf(const Value& x) {
  return is_floating(x.dtype()) ? emit::compare("equal", x, infinity_of(x, -1)) : never(x);
}
Value isinf(const Value& x) {
  return is_floating(x.dtype()) ? emit::compare("equal", abs(x), infinity_of(x, 1)) : never(x);
}
Value isreal(const Value& x) { return logical_not(never(x)); }

// 1 / -0 is -infinity.
Value signbit(const Value& x) {
  Value below = emit::compare("less", x, 0.0);
  if (!is_floating(x.dtype())) return below;
  Value is_zero = emit::compare("equal", x, 0.0);
  Value inverse = reciprocal(emit::select(is_zero, x, 1.0));
  return emit::select(is_zero, emit::compare("less", inverse, 0.0), below);
}

Value isin(const Value& x, const Value& elements) {
  Value each = emit::reshape(elements, {elements.shape().elements()});
  Value found = emit::cast(equal(expand_dims(x, -1), each), DType::int32);
  int64_t last = found.shape().rank() - 1;
  return truth(emit::reduce("max", found, {last}, false));
}

Value isclose(const Value& a, const Value& b, const Close& options) {
  Value x = float_of(a), y = float_of(b);
  Value near = less_equal(abs(x - y), abs(y) * options.rtol + options.atol);
  // Infinities are close to themselves alone.
  Value close = logical_or(equal(x, y), logical_and(near, logical_and(isfinite(x), isfinite(y))));
  return options.equal_nan ? logical_or(close, logical_and(isnan(x), isnan(y))) : close;
}

Value allclose(const Value& a, const Value& b, const Close& options) {
  Value close = emit::cast(isclose(a, b, options), DType::int32);
  return truth(
      emit::reduce("min", close, normalize_axes("allclose", {}, close.shape().rank()), false));
}

Value heaviside(const Value& x, const Value& at_zero) {
  Value wide = float_of(x);
  Value step = where(greater(wide, 0.0), 1.0, where(less(wide, 0.0), 0.0, wide * 0.0));
  return where(equal(wide, 0.0), at_zero, step);
}

Value nan_to_num(const Value& x, const NanToNum& options) {
  if (!is_floating(x.dtype())) return x;
  double most = x.dtype() == DType::float16 ? 65504 : 3.3895313892515355e38;
  bool brief = x.dtype() != DType::float32;
  auto held = [&](double number) {
    double fits = brief ? std::fmin(std::fmax(number, -most), most) : number;
    return Value(Tensor::full({}, fits, x.dtype()));
  };
  Value y = where(isnan(x), held(options.nan), x);
  y = where(isposinf(x), held(options.posinf), y);
  return where(isneginf(x), held(options.neginf), y);
}

// --- bits ---

Value bitwise_and(const Value& a, const Value& b) { return bits("bit_and", a, b); }
Value bitwise_or(const Value& a, const Value& b) { return bits("bit_or", a, b); }
Value bitwise_xor(const Value& a, const Value& b) { return bits("bit_xor", a, b); }
Value bitwise_not(const Value& x) { return bits("bit_xor", x, -1); }
Value bitwise_invert(const Value& x) { return bitwise_not(x); }
Value left_shift(const Value& x, const Value& by) { return bits("shift_left", x, by); }
Value right_shift(const Value& x, const Value& by) { return bits("shift_right", x, by); }
Value bitwise_left_shift(const Value& x, const Value& by) { return left_shift(x, by); }
Value bitwise_right_shift(const Value& x, const Value& by) { return right_shift(x, by); }

}  // namespace stoker::ops
