// What is chosen, ordered and accumulated along an axis.
#include "graph/ops/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/reference/indexing.h"
#include "engine/reference/kernel.h"

namespace stoker::reference {

namespace {

// The element of [outer, extent] that index `item` of [outer, count] names; the nearest one where
// it lies outside.
int64_t taken(const TakeShape& shape, const Array& indices, int64_t item) {
  int64_t block = item / shape.count;
  Number index = indices[shape.shared ? item % shape.count : item];
  return block * shape.extent +
         int64_t(std::clamp(index, Number(0), Number(std::max<int64_t>(shape.extent - 1, 0))));
}

void take(const Call& call) {
  TakeShape shape(call.in(0).shape(), call.in(1).shape(), int(call.attrs.get<int64_t>("axis")));
  for (int64_t item = 0; item < shape.outer * shape.count; ++item)
    for (int64_t column = 0; column < shape.inner; ++column)
      call.out()[item * shape.inner + column] =
          call.in(0)[taken(shape, call.in(1), item) * shape.inner + column];
}

void take_grad(const Call& call) {
  TakeShape shape(call.out().shape(), call.in(0).shape(), int(call.attrs.get<int64_t>("axis")));
  for (int64_t item = 0; item < shape.outer * shape.count; ++item)
    for (int64_t column = 0; column < shape.inner; ++column)
      call.out()[taken(shape, call.in(0), item) * shape.inner + column] +=
          call.in(1)[item * shape.inner + column];
}

// NaN is the largest number.
bool is_less(Number a, Number b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

void argsort(const Call& call) {
  const Array& x = call.in(0);
  auto k = call.attrs.get<int64_t>("k");
  bool descending = call.attrs.get<bool>("descending");
  Rows rows(x.shape());
  std::vector<int64_t> order(static_cast<size_t>(rows.columns));
  for (int64_t row = 0; row < rows.rows; ++row) {
    std::iota(order.begin(), order.end(), row * rows.columns);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return descending ? is_less(x[b], x[a]) : is_less(x[a], x[b]);
    });
    for (int64_t place = 0; place < k; ++place)
      call.out()[row * k + place] = Number(order[size_t(place)] - row * rows.columns);
  }
}

void cumulate(const Call& call) {
  const Array& x = call.in(0);
  bool reverse = call.attrs.get_or("reverse", false), scaled = call.inputs.size() == 2;
  Rows rows(x.shape());
  for (int64_t row = 0; row < rows.rows; ++row) {
    Number carry = 0;
    for (int64_t step = 0; step < rows.columns; ++step) {
      int64_t at = row * rows.columns + (reverse ? rows.columns - 1 - step : step);
      carry = step == 0 ? x[at] : x[at] + (scaled ? call.in(1)[at] * carry : carry);
      call.out()[at] = carry;
    }
  }
}

// The result for an empty segment.
Number start_of(const std::string& fn, DType dtype) {
  if (fn == "sum") return 0;
  constexpr Number kInfinity = std::numeric_limits<Number>::infinity();
  bool lowest = fn == "max";
  if (is_floating(dtype)) return lowest ? -kInfinity : kInfinity;
  bool brief = dtype == DType::int32;
  if (lowest) return brief ? Number(INT32_MIN) : Number(INT64_MIN);
  return brief ? Number(INT32_MAX) : Number(INT64_MAX);
}

void segment_reduce(const Call& call) {
  const auto& fn = call.attrs.get<std::string>("fn");
  const Array &data = call.in(0), &ids = call.in(1);
  Array& y = call.out();
  int64_t rows = y.shape()[0], width = y.size() / rows;
  std::ranges::fill(y.data, start_of(fn, y.spec.dtype));
  for (int64_t item = 0; item < ids.size(); ++item) {
    if (ids[item] < 0 || ids[item] >= Number(rows)) continue;
    for (int64_t column = 0; column < width; ++column) {
      Number &to = y[int64_t(ids[item]) * width + column], value = data[item * width + column];
      if (fn == "sum")
        to += value;
      else if (std::isnan(value) || (fn == "max" ? value > to : value < to))
        to = value;
    }
  }
}

}  // namespace

void add_order_kernels(KernelTable& table) {
  table["take"] = take;
  table["take_grad"] = take_grad;
  table["argsort"] = argsort;
  table["cumulate"] = cumulate;
  table["segment_reduce"] = segment_reduce;
}

}  // namespace stoker::reference
