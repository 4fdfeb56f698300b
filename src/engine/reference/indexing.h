// Row-major positions of an array, and how a smaller array is read when it is broadcast to a
// larger.
#pragma once

#include <array>
#include <cstdint>

#include <stoker/shape.h>

namespace stoker::reference {

using Index = std::array<int64_t, Shape::kMaxRank>;  // one entry per axis; the rest is unused

inline Index unravel(int64_t position, const Shape& shape) {
  Index index{};
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[size_t(axis)] = position % shape[axis];
    position /= shape[axis];
  }
  return index;
}

inline int64_t ravel(const Index& index, const Shape& shape) {
  int64_t position = 0;
  for (int axis = 0; axis < shape.rank(); ++axis)
    position = position * shape[axis] + index[size_t(axis)];
  return position;
}

// Where an array of shape `small` is read for position `index` of the `large` one it is broadcast
// to: axes are aligned at the end, and an extent of 1 is read again and again.
inline int64_t broadcast_position(const Index& index, const Shape& large, const Shape& small) {
  int64_t position = 0;
  int missing = large.rank() - small.rank();
  for (int axis = 0; axis < small.rank(); ++axis) {
    int64_t extent = small[axis];
    position = position * extent + (extent == 1 ? 0 : index[size_t(axis + missing)]);
  }
  return position;
}

// [a, b, c, d] seen as `rows` of `columns`: the last axis, or the last `axes` of them, are a row.
struct Rows {
  int64_t rows = 1, columns = 1;
  explicit Rows(const Shape& shape, int axes = 1) {
    for (int axis = 0; axis < shape.rank(); ++axis)
      (axis < shape.rank() - axes ? rows : columns) *= shape[axis];
  }
};

}  // namespace stoker::reference
