// Complex numbers as pairs of real ones.
#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_fft.h>
#include <stoker/ops_math.h>

namespace stoker::ops {

Value magnitude(const Complex& x) { return hypot(x.real, x.imag); }
Value angle(const Complex& x) { return arctan2(x.imag, x.real); }
Value real(const Complex& x) { return x.real; }
Value imag(const Complex& x) { return x.imag; }
Complex conjugate(const Complex& x) { return {x.real, -x.imag}; }
Complex conj(const Complex& x) { return conjugate(x); }

Complex polar(const Value& magnitude, const Value& angle) {
  return {magnitude * cos(angle), magnitude * sin(angle)};
}

Complex view_as_complex(const Value& x) {
  if (x.shape().rank() < 1 || x.shape()[-1] != 2)
    throw ShapeError(
        fmt::format("view_as_complex: expected [.., 2], got {}", to_string(x.shape())));
  Values parts = split(x, 2, -1);
  return {squeeze(parts[0], -1), squeeze(parts[1], -1)};
}

Value view_as_real(const Complex& x) { return stack({x.real, x.imag}, -1); }

}  // namespace stoker::ops
