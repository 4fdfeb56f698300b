// nonzero and unique, at a size that is known before the values are.
#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_math.h>
#include <stoker/ops_statistics.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"

namespace stoker::ops {

namespace {

Value numbers_below(int64_t count) { return arange(Step(0), Step(count), Step(1), DType::int32); }

int64_t checked_size(const char* what, const std::optional<int64_t>& size, int64_t most) {
  if (size && *size < 1)
    throw ValueError(fmt::format("{}: size must be 1 or more, got {}", what, *size));
  return size.value_or(most);
}

// The first `size` elements of a vector; zeros behind its end.
Value of_size(const Value& vector, int64_t size) {
  int64_t have = vector.shape()[0];
  if (have > size) return emit::slice(vector, {0}, {size});
  return have < size ? pad(vector, {0}, {size - have}) : vector;
}

}  // namespace

Values nonzero(const Value& x, const Nonzero& options) {
  const Shape& shape = x.shape();
  if (shape.rank() == 0) throw ShapeError("nonzero: expected [n, ..], got a scalar");
  int64_t size = checked_size("nonzero", options.size, shape.elements());
  Value is_zero = emit::cast(logical_not(ravel(x)), DType::int32);
  // Equal elements keep their order: what is not zero comes first, by its place.
  Values found = unravel_index(of_size(argsort(is_zero), size), shape);
  Value is_there = emit::compare("less", numbers_below(size), count_nonzero(x));
  for (Value& places : found)
    places = where(is_there, emit::cast(places, DType::int32), Value(options.fill_value));
  return found;
}

namespace {

// Rows [n, m] in lexicographic order: sorted by the last column first, each time keeping the order of
// equals.
Value lexicographic(const Value& rows) {
  int64_t n = rows.shape()[0];
  if (rows.shape()[1] == 1) return argsort(squeeze(rows, 1), 0);
  auto by_column = [](const Values& order, const Values& column) {
    return ScanStep{{gather(order[0], argsort(gather(column[0], order[0]), 0))}, {}};
  };
  return scan(by_column, {numbers_below(n)}, {emit::transpose(rows, {1, 0})}, {.reverse = true})
      .carry[0];
}

// Of the rows [n, m], m > 0.
Unique unique_rows(const Value& rows, int64_t size) {
  int64_t n = rows.shape()[0];
  Value order = lexicographic(rows), sorted = gather(rows, order);
  Value differs = n < 2 ? zeros({0}, DType::int32)
                        : count_nonzero(not_equal(emit::slice(sorted, {1, 0}, {n - 1, -1}),
                                                  emit::slice(sorted, {0, 0}, {n - 1, -1})),
                                        {.axes = {1}});
  Value begins = emit::cast(truth(differs), DType::int32);
  Value groups = n < 2 ? zeros({n}, DType::int32)
                       : cumsum(concatenate({zeros({1}, DType::int32), begins}, 0), 0);
  Unique found;
  found.counts = segment_sum(ones({n}, DType::int32), groups, size);
  Value is_there = emit::compare("greater", found.counts, 0.0);
  found.index = where(is_there, segment_min(emit::cast(order, DType::int32), groups, size), 0);
  found.inverse = gather(groups, argsort(order, 0));
  found.values = gather(rows, found.index);
  return found;
}

}  // namespace

Unique unique(const Value& x, const UniqueOptions& options) {
  const Shape& shape = x.shape();
  int64_t axis = options.axis ? normalize_axis("unique", *options.axis, shape.rank()) : int64_t(0);
  int64_t n = options.axis ? shape[int(axis)] : shape.elements();
  if (n == 0 || shape.elements() == 0)
    throw ShapeError(fmt::format("unique: there are no elements in {}", to_string(shape)));
  int64_t size = checked_size("unique", options.size, n);
  Value front = options.axis ? moveaxis(x, {axis}, {0}) : ravel(x);
  Unique found = unique_rows(emit::reshape(front, {n, shape.elements() / n}), size);
  Value is_there = emit::reshape(emit::compare("greater", found.counts, 0.0), {size, 1});
  Value fill = Tensor::full({}, options.fill_value, x.dtype());
  Value filled =
      emit::reshape(emit::select(is_there, found.values, fill), front.shape().with(0, size));
  found.values = options.axis ? moveaxis(filled, {0}, {axis}) : filled;
  if (!options.axis) found.inverse = emit::reshape(found.inverse, shape);
  return found;
}

}  // namespace stoker::ops
