// What looks at the bits of numbers: view, nextafter.
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_math.h>

#include "graph/emit.h"
#include "graph/op.h"

namespace stoker::ops {

namespace {

constexpr double kMagnitude = 0x7fffffff;   // all bits but the sign
constexpr double kInfinity = 0x7f800000;    // magnitudes above are NaN
constexpr double kSignBit = -2147483648.0;  // as int32

// Floats in their order as whole numbers without gaps; both zeros are 0.
Value ranks_of(const Value& bits) {
  return where(less(bits, 0), -bitwise_and(bits, kMagnitude), bits);
}

Value is_nan_bits(const Value& bits) { return greater(bitwise_and(bits, kMagnitude), kInfinity); }

}  // namespace

Value view(const Value& x, DType dtype) {
  return apply1("bitcast", {x}, {{"dtype", std::string(name(dtype))}});
}

// In integers, because arithmetic of floats may flush tiny ones to zero.
Value nextafter(const Value& x1, const Value& x2) {
  Value from_bits = view(emit::cast(x1, DType::float32), DType::int32),
        to_bits = view(emit::cast(x2, DType::float32), DType::int32);
  Value here = ranks_of(from_bits), there = ranks_of(to_bits);
  Value up = emit::cast(greater(there, here), DType::int32),
        down = emit::cast(less(there, here), DType::int32);
  Value next = here + up - down;
  Value negative_zero = logical_and(equal(next, 0), less(from_bits, 0));
  Value bits = where(logical_or(less(next, 0), negative_zero), kSignBit - next, next);
  Value result = where(equal(here, there), to_bits, bits);
  result = where(is_nan_bits(to_bits), to_bits, result);
  return view(where(is_nan_bits(from_bits), from_bits, result), DType::float32);
}

}  // namespace stoker::ops
