// Elements by index: take, scatter, segments.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_math.h>
#include <stoker/ops_statistics.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/op.h"

namespace stoker::ops {

namespace {

Shape shaped(const Ints& dims) { return Shape(std::span<const int64_t>(dims)); }

Value places(int64_t count) { return arange(Step(0), Step(count), Step(1), DType::int32); }

Value as_index(const char* what, const Value& indices) {
  if (indices.scalar()) return Tensor::full({}, *indices.scalar(), DType::int64);
  DType dtype = indices.dtype();
  if (dtype == DType::int32 || dtype == DType::int64) return indices;
  if (!is_integer(dtype))
    throw ShapeError(
        fmt::format("{}: expected integers for indices, got {}; ops::cast converts them", what,
                    to_string(indices.spec())));
  return emit::cast(indices, DType::int32);
}

// Negative ones count from the end.
Value from_the_front(const Value& indices, int64_t extent) {
  if (const Tensor* known = indices.constant()) {
    if (known->elements() == 0 || known->min() >= 0) return indices;
    std::vector<int64_t> places = known->to_vector<int64_t>();
    for (int64_t& place : places) place += place < 0 ? extent : 0;
    return Tensor::from(places, known->shape());
  }
  return emit::select(emit::compare("less", indices, 0.0), indices + extent, indices);
}

// Segment ids with those outside at `rows`.
Value or_beyond(const Value& ids, int64_t rows) {
  Value inside = logical_and(emit::compare("greater_equal", ids, 0.0),
                             emit::compare("less", ids, double(rows)));
  return emit::select(inside, ids, double(rows));
}

Value segments(const char* fn, const Value& data, const Value& ids, int64_t rows) {
  return apply1("segment_reduce", {data, ids}, {{"fn", std::string(fn)}, {"rows", rows}});
}

// The last of the `count` items with each id; below 0 where there is none.
Value last_item(const Value& ids, int64_t count, int64_t rows) {
  return segments("max", places(count), ids, rows);
}

Value expect_ids(const char* what, const Value& data, const Value& ids, int64_t rows) {
  if (rows < 1) throw ValueError(fmt::format("{}: expected 1 segment or more, got {}", what, rows));
  if (data.shape().rank() < 1 || ids.shape().rank() != 1 || ids.shape()[0] != data.shape()[0])
    throw ShapeError(fmt::format("{}: expected data [n, ..] and ids [n], got {} and {}", what,
                                 to_string(data.shape()), to_string(ids.shape())));
  return as_index(what, ids);
}

// Indices [.., d] of a tensor as places [N] of its first d axes together, -1 for those outside.
struct FlatIndices {
  Value ids;            // [N]
  int64_t count;        // N
  int64_t rows, width;  // what the places count, and what each holds
};

FlatIndices flat_indices(const char* what, const Value& given, const Shape& shape,
                         const Value& updates) {
  Value indices = as_index(what, given);
  const Shape& by = indices.shape();
  if (by.rank() < 1 || by[-1] < 1 || by[-1] > shape.rank())
    throw ShapeError(fmt::format("{}: expected indices [.., d] with d from 1 to {}, got {}", what,
                                 shape.rank(), to_string(by)));
  auto depth = int(by[-1]);
  Ints expected(by.begin(), by.end() - 1);
  expected.insert(expected.end(), shape.begin() + depth, shape.end());
  if (!(updates.shape() == shaped(expected)))
    throw ShapeError(fmt::format("{}: expected values {} for indices {} of {}, got {}", what,
                                 to_string(shaped(expected)), to_string(by), to_string(shape),
                                 to_string(updates.shape())));
  FlatIndices flat{{}, by.elements() / depth, 1, 1};
  for (int axis = 0; axis < shape.rank(); ++axis)
    (axis < depth ? flat.rows : flat.width) *= shape[axis];
  Value table = emit::reshape(indices, {flat.count, depth}), inside;
  for (int axis = 0; axis < depth; ++axis) {
    Value index = emit::reshape(emit::slice(table, {0, axis}, {-1, 1}), {flat.count});
    Value held = logical_and(emit::compare("greater_equal", index, 0.0),
                             emit::compare("less", index, double(shape[axis])));
    inside = inside.defined() ? logical_and(inside, held) : held;
    flat.ids = flat.ids.defined() ? flat.ids * shape[axis] + index : index;
  }
  flat.ids = emit::select(inside, flat.ids, -1.0);
  return flat;
}

}  // namespace

Value take(const Value& x, const Value& indices, std::optional<int> axis) {
  if (!axis) return take(ravel(x), indices, 0);
  int64_t at = normalize_axis("take", *axis, x.shape().rank());
  Value ids = from_the_front(as_index("take", indices), x.shape()[int(at)]);
  bool is_number = is_floating(x.dtype()) || x.dtype() == DType::int32 || x.dtype() == DType::int64;
  if (at == 0 && is_number) return gather(x, ids);
  Ints dims = emit::dims(x.shape()), inner = emit::dims(ids.shape());
  dims.erase(dims.begin() + at);
  dims.insert(dims.begin() + at, inner.begin(), inner.end());
  Value taken = apply1("take", {x, ravel(ids)}, {{"axis", at}});
  return emit::reshape(taken, shaped(dims));
}

Value take_along_axis(const Value& x, const Value& indices, std::optional<int> axis) {
  if (!axis) return take_along_axis(ravel(x), ravel(indices), 0);
  int rank = x.shape().rank();
  int64_t at = normalize_axis("take_along_axis", *axis, rank);
  if (indices.shape().rank() != rank)
    throw ShapeError(fmt::format("take_along_axis: expected as many axes as {}, got indices {}",
                                 to_string(x.shape()), to_string(indices.shape())));
  Value ids = from_the_front(as_index("take_along_axis", indices), x.shape()[int(at)]);
  Value data = to_last(x, at), which = to_last(ids, at);
  Shape both = broadcast(data.shape().with(-1, 1), which.shape().with(-1, 1));
  data = emit::broadcast_to(data, both.with(-1, data.shape()[-1]));
  which = emit::broadcast_to(which, both.with(-1, which.shape()[-1]));
  return from_last(apply1("take", {data, which}, {{"axis", int64_t(rank - 1)}}), at);
}

// --- parts that values name ---

namespace {

// The start of a window of `size`, inside of `shape`: [rank].
Value start_inside(const char* what, const Value& start, const Shape& shape,
                   const std::vector<int64_t>& size) {
  if (start.shape() != Shape{shape.rank()} || int(size.size()) != shape.rank())
    throw ShapeError(
        fmt::format("{}: expected a start and a size per axis of {}, got {} and {} sizes", what,
                    to_string(shape), to_string(start.shape()), size.size()));
  std::vector<int64_t> most;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (size[size_t(axis)] < 0 || size[size_t(axis)] > shape[axis])
      throw ShapeError(fmt::format("{}: {} elements of axis {} of {}", what, size[size_t(axis)],
                                   axis, to_string(shape)));
    most.push_back(shape[axis] - size[size_t(axis)]);
  }
  Value at = from_the_front(as_index(what, start), 0);
  return minimum(maximum(at, 0), Value(Tensor::from(most, {shape.rank()})));
}

Value element(const Value& vector, int64_t at) {
  return emit::reshape(emit::slice(vector, {at}, {1}), {1});
}

}  // namespace

Value dynamic_slice(const Value& x, const Value& start, const std::vector<int64_t>& size) {
  Value from = start_inside("dynamic_slice", start, x.shape(), size), y = x;
  for (int64_t axis = 0; axis < x.shape().rank(); ++axis)
    if (size[size_t(axis)] != x.shape()[int(axis)])
      y = apply1("take", {y, element(from, axis) + places(size[size_t(axis)])}, {{"axis", axis}});
  return y;
}

namespace {

// `x` with `updates` from `start` on, on this axis and those behind it.
Value replaced(const Value& x, const std::vector<int64_t>& start, const Value& updates, int axis) {
  if (axis == x.shape().rank()) return updates;
  auto cut = [&](int64_t begin, int64_t size) {
    Ints from(size_t(x.shape().rank()), 0), count(from.size(), -1);
    from[size_t(axis)] = begin;
    count[size_t(axis)] = size;
    return emit::slice(x, from, count);
  };
  int64_t begin = start[size_t(axis)], size = updates.shape()[axis], extent = x.shape()[axis];
  if (begin == 0 && size == extent) return replaced(x, start, updates, axis + 1);
  Values parts;
  if (begin > 0) parts.push_back(cut(0, begin));
  parts.push_back(replaced(cut(begin, size), start, updates, axis + 1));
  if (begin + size < extent) parts.push_back(cut(begin + size, -1));
  return concatenate(parts, axis);
}

}  // namespace

Value slice_update(const Value& x, const std::vector<int64_t>& start, const Value& updates) {
  int rank = x.shape().rank();
  bool fits = int(start.size()) == rank && updates.shape().rank() == rank;
  for (int axis = 0; fits && axis < rank; ++axis)
    fits =
        start[size_t(axis)] >= 0 && start[size_t(axis)] + updates.shape()[axis] <= x.shape()[axis];
  if (!fits)
    throw ShapeError(fmt::format("slice_update: {} from [{}] on does not lie inside {}",
                                 to_string(updates.shape()), fmt::join(start, ", "),
                                 to_string(x.shape())));
  return replaced(x, start, emit::cast(updates, x.dtype()), 0);
}

Value slice_update(const Value& x, const Value& start, const Value& updates) {
  const Shape& shape = x.shape();
  Value from = start_inside("slice_update", start, shape, emit::dims(updates.shape())), ids;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    Ints alone(size_t(shape.rank()), 1);
    alone[size_t(axis)] = updates.shape()[axis];
    Value index = emit::reshape(element(from, axis) + places(updates.shape()[axis]), shaped(alone));
    ids = ids.defined() ? ids * shape[axis] + index : index;
  }
  Value flat = scatter_update(ravel(x), expand_dims(ravel(ids), -1), ravel(updates));
  return emit::reshape(flat, shape);
}

// --- scatter ---

Value scatter(const Value& indices, const Value& values, const Shape& shape) {
  FlatIndices flat = flat_indices("scatter", indices, shape, values);
  Value sums = segment_sum(emit::reshape(values, {flat.count, flat.width}), flat.ids, flat.rows);
  return emit::reshape(sums, shape);
}

Value scatter_update(const Value& x, const Value& indices, const Value& updates) {
  const Shape& shape = x.shape();
  FlatIndices flat = flat_indices("scatter_update", indices, shape, updates);
  Value last = last_item(flat.ids, flat.count, flat.rows);
  Value table = emit::reshape(emit::cast(updates, x.dtype()), {flat.count, flat.width});
  Value news = apply1("take", {table, maximum(last, 0)}, {{"axis", int64_t(0)}});
  Value is_new = emit::reshape(emit::compare("greater_equal", last, 0.0), {flat.rows, 1});
  return emit::reshape(emit::select(is_new, news, emit::reshape(x, {flat.rows, flat.width})),
                       shape);
}

// --- segments ---

Value segment_sum(const Value& data, const Value& ids, int64_t num_segments) {
  Value which = expect_ids("segment_sum", data, ids, num_segments);
  if (!is_floating(data.dtype())) {
    DType dtype = promoted(data.dtype(), DType::int32);
    return segments("sum", emit::cast(data, dtype), which, num_segments);
  }
  // gather_grad adds what lies outside to the nearest row: to one more, which is cut off.
  Value sums =
      apply1("gather_grad", {or_beyond(which, num_segments), data}, {{"rows", num_segments + 1}});
  Ints begin(size_t(data.shape().rank()), 0), size(begin.size(), -1);
  size[0] = num_segments;
  return emit::slice(sums, begin, size);
}

Value segment_max(const Value& data, const Value& ids, int64_t num_segments) {
  return segments("max", data, expect_ids("segment_max", data, ids, num_segments), num_segments);
}

Value segment_min(const Value& data, const Value& ids, int64_t num_segments) {
  return segments("min", data, expect_ids("segment_min", data, ids, num_segments), num_segments);
}

// Running products of the sorted segments, each beginning anew; the last of a segment is its own.
Value segment_prod(const Value& data, const Value& ids, int64_t num_segments) {
  Value which = expect_ids("segment_prod", data, ids, num_segments);
  int64_t count = data.shape()[0], width = count == 0 ? 1 : data.shape().elements() / count;
  Value order = argsort(which, 0);
  Value sorted_ids = gather(which, order);
  Value sorted = emit::reshape(gather(float_of(data), order), {count, width});
  Value before = concatenate(
      {Tensor::full({1}, -1, sorted_ids.dtype()), emit::slice(sorted_ids, {0}, {count - 1})}, 0);
  Value begins = emit::reshape(emit::compare("not_equal", sorted_ids, before), {count, 1});
  Value products = linear_recurrence(emit::select(begins, sorted, 0.0),
                                     emit::select(begins, 0.0, sorted), {.axis = 0});
  Value last = last_item(sorted_ids, count, num_segments);
  Value found = gather(products, maximum(last, 0));
  Value is_there = emit::reshape(emit::compare("greater_equal", last, 0.0), {num_segments, 1});
  Value all = emit::reshape(emit::select(is_there, found, 1.0), data.shape().with(0, num_segments));
  return is_floating(data.dtype()) ? all : emit::cast(all, promoted(data.dtype(), DType::int32));
}

Value bincount(const Value& x, int64_t length, const Value& weights) {
  Value ids = as_index("bincount", x);
  const Shape& shape = ids.shape();
  if (shape.rank() < 1) throw ShapeError("bincount: expected [.., n], got a scalar");
  if (length < 1)
    throw ValueError(fmt::format("bincount: length must be 1 or more, got {}", length));
  int64_t n = shape[-1], rows = n == 0 ? 1 : shape.elements() / n;
  Value counted =
      weights.defined() ? emit::broadcast_to(weights, shape) : ones(shape, DType::int32);
  // Row r counts in [r · length, (r + 1) · length).
  std::vector<int32_t> offsets;
  for (int64_t row = 0; row < rows; ++row) offsets.push_back(int32_t(row * length));
  Value inside = or_beyond(emit::reshape(ids, {rows, n}), length);
  Value all = emit::select(emit::compare("equal", inside, double(length)), -1.0,
                           inside + Value(Tensor::from(offsets, {rows, 1})));
  Ints dims = emit::dims(shape);
  dims.back() = length;
  return emit::reshape(segment_sum(ravel(counted), ravel(all), rows * length), shaped(dims));
}

Values unravel_index(const Value& indices, const Shape& shape) {
  Values found(size_t(shape.rank()));
  Value rest = as_index("unravel_index", indices);
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    found[size_t(axis)] = mod(rest, shape[axis]);
    rest = floor_divide(rest, shape[axis]);
  }
  return found;
}

Value select(const Values& conditions, const Values& choices, const Value& otherwise) {
  if (conditions.empty() || conditions.size() != choices.size())
    throw ValueError(
        fmt::format("select: {} conditions for {} choices", conditions.size(), choices.size()));
  Value y = otherwise;
  for (size_t i = conditions.size(); i-- > 0;) y = where(conditions[i], choices[i], y);
  return y;
}

// A float stops at the limits by itself, an integer does not.
Value saturate_cast(const Value& x, DType dtype) {
  if (is_floating(x.dtype()) || !is_integer(dtype)) return cast(x, dtype);
  auto limits = [](DType kind) -> std::pair<double, double> {
    if (kind == DType::uint8) return {0, 255};
    if (kind == DType::int8) return {-128, 127};
    if (kind == DType::int16) return {-32768, 32767};
    if (kind == DType::int32) return {-0x1p31, 0x1p31 - 1};
    return {-0x1p63, 0x1p63};
  };
  auto [low, high] = limits(dtype);
  if (dtype == DType::int64) return cast(x, dtype);
  DType wide = promoted(x.dtype(), DType::int32);
  return cast(minimum(maximum(cast(x, wide), low), high), dtype);
}

}  // namespace stoker::ops
