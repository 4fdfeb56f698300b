#include "graph/functions/axes.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <stoker/error.h>

#include "graph/emit.h"
#include "graph/op.h"

namespace stoker {

int64_t normalize_axis(std::string_view op, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    throw ShapeError(
        fmt::format("{}: axis {} does not exist in a tensor of {} dimensions", op, axis, rank));
  return axis < 0 ? axis + rank : axis;
}

Ints normalize_axes(std::string_view op, const Ints& axes, int rank) {
  Ints result;
  for (int64_t axis : axes) result.push_back(normalize_axis(op, axis, rank));
  if (axes.empty()) {
    result.resize(size_t(rank));
    std::iota(result.begin(), result.end(), 0);
  }
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) != result.end())
    throw ShapeError(fmt::format("{}: an axis is named twice", op));
  return result;
}

Ints swapped(int rank, int64_t a, int64_t b) {
  Ints perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[size_t(a)], perm[size_t(b)]);
  return perm;
}

namespace {

// The axis goes to place `to`, the others keep their order.
Ints moved(int rank, int64_t axis, int64_t to) {
  Ints perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  perm.erase(perm.begin() + axis);
  perm.insert(perm.begin() + to, axis);
  return perm;
}

}  // namespace

Value to_last(const Value& x, int64_t axis) {
  int rank = x.shape().rank();
  return axis == rank - 1 ? x : emit::transpose(x, moved(rank, axis, rank - 1));
}

Value from_last(const Value& x, int64_t axis) {
  int rank = x.shape().rank();
  return axis == rank - 1 ? x : emit::transpose(x, moved(rank, rank - 1, axis));
}

Value float_of(const Value& x) {
  return x.scalar() || is_floating(x.dtype()) ? x : emit::cast(x, DType::float32);
}

Value truth(const Value& x) {
  return x.dtype() == DType::bool_ ? x : emit::compare("not_equal", x, 0.0);
}

Value absolute_of(const Value& x) {
  if (x.scalar() || is_floating(x.dtype())) return emit::unary("abs", x);
  return emit::binary("maximum", x, -x);
}

namespace {

// "split" and "merge" say what a reshape with several unknown extents means; others need neither.
Value reshape_groups(const Value& x, const Ints& extents, const char* how, const Ints& counts) {
  if (std::ranges::count(extents, -1) <= 1)
    return emit::reshape(x, Shape(std::span<const int64_t>(extents)));
  return apply("reshape", {x}, {{"shape", extents}, {how, counts}})[0];
}

}  // namespace

Value split_axes(const Value& x, const Ints& extents, const Ints& counts) {
  return reshape_groups(x, extents, "split", counts);
}

Value merge_axes(const Value& x, const Ints& counts) {
  Ints extents;
  int axis = 0;
  for (int64_t count : counts) {
    int64_t product = 1;
    for (int64_t i = 0; i < count; ++i, ++axis)
      product = product < 0 || x.shape()[axis] < 0 ? -1 : product * x.shape()[axis];
    extents.push_back(product);
  }
  return reshape_groups(x, extents, "merge", counts);
}

}  // namespace stoker
