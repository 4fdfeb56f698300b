// Reductions that are written with others.
#include <limits>

#include <fmt/format.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_math.h>
#include <stoker/ops_statistics.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"

namespace stoker::ops {

namespace {

Value counted_truth(const Value& x) { return emit::cast(truth(x), DType::int32); }

Reduce kept(const Reduce& options) { return {.axes = options.axes, .keepdims = true}; }

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value without_nan(const Value& x, double instead) {
  if (!is_floating(x.dtype())) return x;
  return where(isnan(x), Value(Tensor::full({}, instead, x.dtype())), x);
}

// NaN where all elements are.
Value where_some(const Value& x, const Value& y, const Reduce& options) {
  if (!is_floating(x.dtype())) return y;
  return where(all(isnan(x), options),
               Value(Tensor::full({}, std::numeric_limits<double>::quiet_NaN(), x.dtype())), y);
}

}  // namespace

Value any(const Value& x, const Reduce& options) { return truth(max(counted_truth(x), options)); }
Value all(const Value& x, const Reduce& options) { return truth(min(counted_truth(x), options)); }
Value amax(const Value& x, const Reduce& options) { return max(x, options); }
Value amin(const Value& x, const Reduce& options) { return min(x, options); }
Value ptp(const Value& x, const Reduce& options) { return max(x, options) - min(x, options); }
Value count_nonzero(const Value& x, const Reduce& options) {
  return sum(counted_truth(x), options);
}

// In float32 whatever the dtype: the squares of 16-bit floats overflow.
Value var(const Value& x, const Reduce& options) {
  Value wide = emit::cast(x, DType::float32);
  Value spread = mean(square(wide - mean(wide, kept(options))), options);
  return is_floating(x.dtype()) ? emit::cast(spread, x.dtype()) : spread;
}

Value std(const Value& x, const Reduce& options) { return sqrt(var(x, options)); }

Value average(const Value& x, const Value& weights, const Reduce& options) {
  Value wide = float_of(x), heavy = float_of(weights);
  if (weights.shape().rank() == 1 && options.axes.size() == 1 && x.shape().rank() > 1) {
    Ints alone(size_t(x.shape().rank()), 1);
    alone[size_t(normalize_axis("average", options.axes[0], x.shape().rank()))] =
        weights.shape()[0];
    heavy = emit::reshape(heavy, Shape(std::span<const int64_t>(alone)));
  }
  return sum(wide * heavy, options) / sum(emit::broadcast_to(heavy, x.shape()), options);
}

// The largest element is taken out, unless it is infinite.
Value logsumexp(const Value& x, const Reduce& options) {
  Value wide = float_of(x);
  Value largest = max(wide, kept(options));
  Value shift = stop_gradient(where(isfinite(largest), largest, 0.0));
  Value kept_sum = log(sum(exp(wide - shift), kept(options))) + shift;
  if (options.keepdims) return kept_sum;
  return sum(kept_sum, options);  // over ones: only drops the axes
}

// The gradient of a zero vector is 0.
Value norm(const Value& x, const Reduce& options) {
  Value squares = sum(square(float_of(x)), options);
  Value is_zero = equal(squares, 0.0);
  return where(is_zero, 0.0, sqrt(where(is_zero, 1.0, squares)));
}

Moments moments(const Value& x, const Reduce& options) {
  return {mean(x, options), var(x, options)};
}

Value corrcoef(const Value& x) {
  Value rows = x.shape().rank() == 1 ? expand_dims(x, 0) : x;
  if (rows.shape().rank() != 2)
    throw ShapeError(fmt::format("corrcoef: expected [n, samples], got {}", to_string(x.shape())));
  Value wide = float_of(rows);
  Value centred = wide - mean(wide, {.axes = {1}, .keepdims = true});
  Value covariance = emit::matmul(centred, centred, false, true);
  Value scale = rsqrt(sum(square(centred), {.axes = {1}, .keepdims = true}));
  return covariance * scale * emit::transpose(scale, {1, 0});
}

Value correlate(const Value& a, const Value& b, const std::string& mode) {
  if (a.shape().rank() != 1 || b.shape().rank() != 1 || a.shape()[0] == 0 || b.shape()[0] == 0)
    throw ShapeError(fmt::format("correlate: expected two vectors, got {} and {}",
                                 to_string(a.shape()), to_string(b.shape())));
  int64_t n = a.shape()[0], m = b.shape()[0];
  if (n < m) return flip(correlate(b, a, mode), {0});
  int64_t left = 0, right = 0;
  if (mode == "full") {
    left = right = m - 1;
  } else if (mode == "same") {
    left = m / 2;
    right = m - 1 - m / 2;
  } else if (mode != "valid") {
    throw ValueError(fmt::format("correlate: mode must be valid, same or full, got \"{}\"", mode));
  }
  Value windows = extract_sequences(pad(float_of(a), {left}, {right}), m, 1);
  return sum(windows * float_of(b), {.axes = {-1}});
}

// --- without NaN ---

Value nansum(const Value& x, const Reduce& options) { return sum(without_nan(x, 0), options); }
Value nanprod(const Value& x, const Reduce& options) { return prod(without_nan(x, 1), options); }
Value nanmax(const Value& x, const Reduce& options) {
  return where_some(x, max(without_nan(x, -kInfinity), options), options);
}
Value nanmin(const Value& x, const Reduce& options) {
  return where_some(x, min(without_nan(x, kInfinity), options), options);
}

Value nanmean(const Value& x, const Reduce& options) {
  if (!is_floating(x.dtype())) return mean(x, options);
  Value there = cast(logical_not(isnan(x)), x.dtype());
  return sum(without_nan(x, 0), options) / sum(there, options);
}

Value nanvar(const Value& x, const Reduce& options) {
  Value wide = emit::cast(x, DType::float32);
  Value centre = nanmean(wide, kept(options));
  // No NaN is squared: its gradient would be one, whatever it is multiplied with.
  Value gap = isnan(wide), off = where(gap, 0.0, without_nan(wide, 0) - centre);
  return nanmean(where(gap, std::numeric_limits<double>::quiet_NaN(), square(off)), options);
}

Value nanstd(const Value& x, const Reduce& options) { return sqrt(nanvar(x, options)); }
Value nanargmax(const Value& x, int axis) { return argmax(without_nan(x, -kInfinity), axis); }
Value nanargmin(const Value& x, int axis) { return argmin(without_nan(x, kInfinity), axis); }
Value nancumsum(const Value& x, int axis) { return cumsum(without_nan(x, 0), axis); }
Value nancumprod(const Value& x, int axis) { return cumprod(without_nan(x, 1), axis); }

}  // namespace stoker::ops
