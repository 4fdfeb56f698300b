#include "graph/functions/axes.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <stoker/error.h>

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

}  // namespace stoker
