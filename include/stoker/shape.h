// The extents of a tensor. A plain value; at most kMaxRank dimensions; no allocation.
// A dimension of -1 is unknown (the batch dimension of a functional model, shown as "None").
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace stoker {

class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims)
      : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);  // ShapeError beyond kMaxRank or below -1

  int rank() const { return rank_; }
  // A negative axis counts from the end. The axis must exist.
  int64_t operator[](int axis) const { return dims_[axis < 0 ? axis + rank_ : axis]; }
  void set(int axis, int64_t extent) { dims_[axis < 0 ? axis + rank_ : axis] = extent; }
  std::span<const int64_t> dims() const { return {dims_.data(), size_t(rank_)}; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }

  // 1 for a scalar. ShapeError when a dimension is unknown or the product overflows.
  int64_t elements() const;
  bool is_known() const;
  friend bool operator==(const Shape& a, const Shape& b);

  Shape with(int axis, int64_t extent) const;  // a copy with one dimension changed
  Shape prepend(int64_t extent) const;         // [extent, dims…]
  Shape drop_front(int count = 1) const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

std::string to_string(const Shape& shape);  // "[32, 28, 28, 1]", unknown as "None"

// NumPy broadcasting of two shapes; ShapeError with both in the text when they do not fit.
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace stoker
