// A non-owning view of a tensor's memory, which functions of an input pipeline read and write. Valid
// only during the call it is passed to.
#pragma once

#include <span>

#include <stoker/tensor.h>

namespace stoker {

struct ConstTensorView {
  DType dtype = DType::float32;
  Shape shape;
  const void* data = nullptr;  // contiguous, row-major; bytes: std::string objects

  ConstTensorView() = default;
  ConstTensorView(DType view_dtype, const Shape& view_shape, const void* view_data)
      : dtype(view_dtype), shape(view_shape), data(view_data) {}
  ConstTensorView(const Tensor& tensor)
      : dtype(tensor.dtype()), shape(tensor.shape()), data(tensor.raw()) {}

  int64_t elements() const { return shape.elements(); }
  size_t bytes() const { return size_t(elements()) * size_of(dtype); }
  template <class T>
  std::span<const T> values() const {
    check_view_dtype(dtype_of<T>, dtype);
    return {static_cast<const T*>(data), size_t(elements())};
  }

  static void check_view_dtype(DType asked, DType got);  // Error when they differ
};

struct TensorView {
  DType dtype = DType::float32;
  Shape shape;
  void* data = nullptr;

  int64_t elements() const { return shape.elements(); }
  size_t bytes() const { return size_t(elements()) * size_of(dtype); }
  operator ConstTensorView() const { return {dtype, shape, data}; }
  template <class T>
  std::span<T> values() const {
    ConstTensorView::check_view_dtype(dtype_of<T>, dtype);
    return {static_cast<T*>(data), size_t(elements())};
  }
};

// Copies values of equal dtype and shape.
void copy_values(const ConstTensorView& from, const TensorView& to);

}  // namespace stoker
