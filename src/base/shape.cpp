#include <stoker/shape.h>

#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

Shape::Shape(std::span<const int64_t> dims) {
  if (dims.size() > size_t(kMaxRank))
    throw ShapeError(
        fmt::format("a shape has at most {} dimensions, got {}", kMaxRank, dims.size()));
  for (int64_t extent : dims)
    if (extent < -1)
      throw ShapeError(fmt::format("a dimension is 0 or more, or -1 for unknown, got {}", extent));
  std::copy(dims.begin(), dims.end(), dims_.begin());
  rank_ = int(dims.size());
}

int64_t Shape::elements() const {
  int64_t product = 1;
  bool overflow = false, empty = false;
  for (int64_t extent : dims()) {
    if (extent < 0)
      throw ShapeError(fmt::format("{}: the number of elements is not known", to_string(*this)));
    empty |= extent == 0;
    overflow |= __builtin_mul_overflow(product, extent, &product);
  }
  if (empty) return 0;
  if (overflow) throw ShapeError(fmt::format("{} has more than 2^63 elements", to_string(*this)));
  return product;
}

bool Shape::is_known() const {
  return std::none_of(begin(), end(), [](int64_t extent) { return extent < 0; });
}

bool operator==(const Shape& a, const Shape& b) { return std::ranges::equal(a.dims(), b.dims()); }

Shape Shape::with(int axis, int64_t extent) const {
  if (axis < -rank_ || axis >= rank_)
    throw ShapeError(fmt::format("{} has no axis {}", to_string(*this), axis));
  Shape changed = *this;
  changed.set(axis, extent);
  return changed;
}

Shape Shape::prepend(int64_t extent) const {
  if (rank_ == kMaxRank)
    throw ShapeError(fmt::format("{} has {} dimensions already, the most there can be",
                                 to_string(*this), kMaxRank));
  Shape longer = *this;
  longer.dims_[0] = extent;
  std::copy(begin(), end(), longer.dims_.begin() + 1);
  ++longer.rank_;
  return longer;
}

Shape Shape::drop_front(int count) const {
  if (count < 0 || count > rank_)
    throw ShapeError(fmt::format("{} has no {} dimensions to drop", to_string(*this), count));
  return Shape(dims().subspan(size_t(count)));
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += extent < 0 ? "None" : std::to_string(extent);
  }
  return text + "]";
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result = a.rank() >= b.rank() ? a : b;
  const Shape& other = a.rank() >= b.rank() ? b : a;
  for (int axis = -1; axis >= -other.rank(); --axis) {
    int64_t left = result[axis], right = other[axis];
    if (left == right || right == 1) continue;
    // Unknown against a known extent other than 1: the known one is the only result that can be.
    if (left != 1 && left >= 0 && right >= 0)
      throw ShapeError(fmt::format("{} and {} do not broadcast: {} against {} on axis {}",
                                   to_string(a), to_string(b), a[axis], b[axis], axis));
    if (left == 1 || left < 0) result.set(axis, right);
  }
  return result;
}

}  // namespace stoker
