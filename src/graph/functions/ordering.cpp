// Sorting, what is read off sorted values, and running sums.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_math.h>
#include <stoker/ops_statistics.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/op.h"

namespace stoker::ops {

namespace {

Value ordered(const char* what, const Value& x, int64_t k, bool descending) {
  if (x.shape().rank() == 0)
    throw ShapeError(fmt::format("{}: expected [.., n], got a scalar", what));
  bool brief = !is_floating(x.dtype()) && x.dtype() != DType::int64;
  return apply1("argsort", {brief ? emit::cast(x, DType::int32) : x},
                {{"k", k}, {"descending", descending}});
}

Value along_last(const Value& x, const Value& indices) {
  return apply1("take", {x, indices}, {{"axis", int64_t(x.shape().rank() - 1)}});
}

// An op over the last axis, applied to any.
Value over(const char* what, const Value& x, int axis,
           const std::function<Value(const Value&)>& op) {
  int64_t at = normalize_axis(what, axis, x.shape().rank());
  return from_last(op(to_last(x, at)), at);
}

Value brief_as_int32(const Value& x) {
  return is_floating(x.dtype()) ? x : emit::cast(x, promoted(x.dtype(), DType::int32));
}

}  // namespace

Value argsort(const Value& x, int axis) {
  return over("argsort", x, axis,
              [](const Value& last) { return ordered("argsort", last, last.shape()[-1], false); });
}

Value sort(const Value& x, int axis) {
  return over("sort", x, axis, [](const Value& last) {
    return along_last(last, ordered("sort", last, last.shape()[-1], false));
  });
}

Value argpartition(const Value& x, int64_t kth, int axis) {
  int64_t n = x.shape()[int(normalize_axis("argpartition", axis, x.shape().rank()))];
  if (kth < -n || kth >= n)
    throw ValueError(fmt::format("argpartition: there is no element {} of {}", kth, n));
  return argsort(x, axis);
}

// -1 - x has no overflow.
Value argmin(const Value& x, int axis) {
  return argmax(is_floating(x.dtype()) ? -x : brief_as_int32(x) * -1 - 1, axis);
}

TopK top_k(const Value& x, int64_t k) {
  Value indices = ordered("top_k", x, k, true);
  return {along_last(x, indices), indices};
}

// --- quantiles ---

namespace {

// The axes as one, at the end.
Value joined_last(const Value& x, const Ints& axes) {
  Ints perm, dims;
  for (int64_t axis = 0; axis < x.shape().rank(); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) {
      perm.push_back(axis);
      dims.push_back(x.shape()[int(axis)]);
    }
  perm.insert(perm.end(), axes.begin(), axes.end());
  int64_t joined = 1;
  for (int64_t axis : axes) joined *= x.shape()[int(axis)];
  dims.push_back(joined);
  return emit::reshape(emit::transpose(x, perm), Shape(std::span<const int64_t>(dims)));
}

Value element_of_last(const Value& x, int64_t at) {
  Ints begin(size_t(x.shape().rank()), 0), size(begin.size(), -1);
  begin.back() = at;
  size.back() = 1;
  return squeeze(emit::slice(x, begin, size), -1);
}

Value at_place(const Value& sorted, double place, const std::string& method) {
  auto element = [&](double at) { return element_of_last(sorted, int64_t(at)); };
  double low = std::floor(place), high = std::ceil(place), part = place - low;
  if (low == high || method == "lower") return element(low);
  if (method == "higher") return element(high);
  if (method == "nearest") return element(std::nearbyint(place));
  if (method == "midpoint") return (element(low) + element(high)) * 0.5;
  return element(low) * (1 - part) + element(high) * part;
}

// The reduced axes back as ones.
Value with_axes_kept(const Value& y, const Shape& x, const Ints& axes) {
  Ints dims = emit::dims(x);
  for (int64_t axis : axes) dims[size_t(axis)] = 1;
  return emit::reshape(y, Shape(std::span<const int64_t>(dims)));
}

// One of sorted rows [.., n], n > 0, by the share q.
using Pick = std::function<Value(const Value& sorted, double q, const std::string& method)>;

Values quantiles(const Value& x, const std::vector<double>& q, const Quantile& options,
                 const Pick& pick) {
  constexpr std::array kMethods = {"linear", "lower", "higher", "midpoint", "nearest"};
  if (std::ranges::find(kMethods, options.method) == kMethods.end())
    throw ValueError(fmt::format("quantile: method \"{}\"; there are {}", options.method,
                                 fmt::join(kMethods, ", ")));
  Ints axes = normalize_axes("quantile", options.axes, x.shape().rank());
  Value sorted = sort(joined_last(float_of(x), axes));
  if (sorted.shape()[-1] == 0) throw ShapeError("quantile: there are no elements");
  Values found;
  for (double each : q) {
    if (!(each >= 0 && each <= 1))
      throw ValueError(fmt::format("quantile: q lies in [0, 1], got {}", each));
    Value y = pick(sorted, each, options.method);
    found.push_back(options.keepdims ? with_axes_kept(y, x.shape(), axes) : y);
  }
  return found;
}

Value of_all(const Value& sorted, double q, const std::string& method) {
  auto last = double(sorted.shape()[-1] - 1);
  Value largest = at_place(sorted, last, "lower");  // NaN where there is one
  return where(isnan(largest), largest, at_place(sorted, q * last, method));
}

// NaN stands at the end, so that a row's numbers are its first ones; how many differs by row.
Value of_numbers(const Value& sorted, double q, const std::string& method) {
  Value count = sum(emit::cast(logical_not(isnan(sorted)), DType::float32), {.axes = {-1}});
  Value place = maximum(count - 1.0, 0.0) * q, low = floor(place), high = ceil(place);
  auto element = [&](const Value& at) {
    Value index = expand_dims(emit::cast(at, DType::int32), -1);
    return squeeze(take_along_axis(sorted, index, -1), -1);
  };
  if (method == "lower") return element(low);
  if (method == "higher") return element(high);
  if (method == "nearest") return element(round(place));
  if (method == "midpoint") return (element(low) + element(high)) * 0.5;
  Value part = stop_gradient(place - low);
  return element(low) * (1.0 - part) + element(high) * part;
}

}  // namespace

Value quantile(const Value& x, double q, const Quantile& options) {
  return quantiles(x, {q}, options, of_all)[0];
}
Value quantile(const Value& x, const std::vector<double>& q, const Quantile& options) {
  return stack(quantiles(x, q, options, of_all), 0);
}
Value percentile(const Value& x, double q, const Quantile& options) {
  return quantile(x, q / 100, options);
}
Value median(const Value& x, const Quantile& options) { return quantile(x, 0.5, options); }

Value nanquantile(const Value& x, double q, const Quantile& options) {
  return quantiles(x, {q}, options, of_numbers)[0];
}
Value nanquantile(const Value& x, const std::vector<double>& q, const Quantile& options) {
  return stack(quantiles(x, q, options, of_numbers), 0);
}
Value nanpercentile(const Value& x, double q, const Quantile& options) {
  return nanquantile(x, q / 100, options);
}
Value nanmedian(const Value& x, const Quantile& options) { return nanquantile(x, 0.5, options); }

// How many elements stand before each value.
Value searchsorted(const Value& sorted, const Value& values, const std::string& side) {
  if (side != "left" && side != "right")
    throw ValueError(
        fmt::format("searchsorted: side must be \"left\" or \"right\", got \"{}\"", side));
  if (sorted.shape().rank() != 1)
    throw ShapeError(
        fmt::format("searchsorted: expected a vector, got {}", to_string(sorted.shape())));
  Value apart = expand_dims(values, -1);
  Value before = side == "left" ? less(sorted, apart) : less_equal(sorted, apart);
  return sum(before, {.axes = {-1}});
}

Value digitize(const Value& x, const Value& bins) { return searchsorted(bins, x, "right"); }

Histogram histogram(const Value& x, int64_t bins, double low, double high) {
  if (bins < 1 || !(low < high))
    throw ValueError(fmt::format("histogram: {} bins from {} to {}", bins, low, high));
  Value edges = linspace(low, high, {.num = bins + 1}), flat = float_of(ravel(x));
  Value inside = logical_and(greater_equal(flat, low), less_equal(flat, high));
  Value bin = minimum(digitize(flat, edges) - 1, bins - 1);
  return {bincount(where(inside, bin, -1), bins), edges};
}

// --- running sums ---

Value cumsum(const Value& x, int axis) {
  return over("cumsum", brief_as_int32(x), axis, [](const Value& last) {
    return apply1("cumulate", {last}, {{"reverse", false}});
  });
}

// y[t] = x[t] · y[t - 1]: the first element alone is added.
Value cumprod(const Value& x, int axis) {
  return over("cumprod", float_of(x), axis, [](const Value& last) {
    int64_t n = last.shape()[-1];
    std::vector<bool> first(size_t(n), false);
    if (n > 0) first[0] = true;
    Value start = emit::select(Tensor::from(first, {n}), last, 0.0);
    return apply1("cumulate", {start, last}, {{"reverse", false}});
  });
}

Value linear_recurrence(const Value& x, const Value& factor, const Recurrence& options) {
  Value wide = float_of(x), factors = factor.scalar() ? full_like(wide, factor) : factor;
  int64_t at = normalize_axis("linear_recurrence", options.axis, x.shape().rank());
  factors = emit::broadcast_to(emit::cast(factors, wide.dtype()), wide.shape());
  return from_last(
      apply1("cumulate", {to_last(wide, at), to_last(factors, at)}, {{"reverse", options.reverse}}),
      at);
}

Value diff(const Value& x, int order, int axis) {
  if (order < 0)
    throw ValueError(fmt::format("diff: the order must not be negative, got {}", order));
  int64_t at = normalize_axis("diff", axis, x.shape().rank());
  Value y = x;
  for (int time = 0; time < order; ++time) {
    Ints none(size_t(x.shape().rank()), 0), all(none.size(), -1), from = none, count = all;
    from[size_t(at)] = 1;
    count[size_t(at)] = std::max<int64_t>(y.shape()[int(at)] - 1, 0);
    Value later = emit::slice(y, from, all), earlier = emit::slice(y, none, count);
    y = y.dtype() == DType::bool_ ? not_equal(later, earlier) : later - earlier;
  }
  return y;
}

Value trapezoid(const Value& y, double dx, int axis) {
  int64_t at = normalize_axis("trapezoid", axis, y.shape().rank());
  Ints none(size_t(y.shape().rank()), 0), all(none.size(), -1), from = none, count = all;
  from[size_t(at)] = 1;
  count[size_t(at)] = std::max<int64_t>(y.shape()[int(at)] - 1, 0);
  Value wide = float_of(y);
  return sum(emit::slice(wide, from, all) + emit::slice(wide, none, count), {.axes = {axis}}) *
         (dx / 2);
}

}  // namespace stoker::ops
