// A host tensor: dtype, shape and a view on shared, immutable, 64-byte aligned storage, contiguous
// in row-major order. Cheap to copy (a reference count); safe to read from any thread. It is
// written only while it is being made: by from()/zeros()/…, or through data_mut() by its only
// owner.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <stoker/dtype.h>
#include <stoker/error.h>
#include <stoker/shape.h>

namespace stoker {

struct TensorSpec {
  DType dtype = DType::float32;
  Shape shape;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};
std::string to_string(const TensorSpec& spec);  // "float32[32, 28, 28, 1]"

class Tensor {
 public:
  Tensor() = default;             // empty: defined() is false
  explicit Tensor(float scalar);  // rank 0
  // Uninitialised (bytes: empty strings); the caller fills it through data_mut.
  Tensor(DType dtype, const Shape& shape);

  static Tensor zeros(const Shape& shape, DType dtype = DType::float32);
  static Tensor full(const Shape& shape, double value, DType dtype = DType::float32);
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {  // not for vector<bool>
    return from(std::span<const T>(values), shape);
  }
  template <class T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape) {
    return from(std::span<const T>(values.begin(), values.size()), shape);
  }
  // Takes over memory that `owner` keeps alive. 64-byte alignment is the caller's duty.
  static Tensor wrap(std::shared_ptr<void> owner, void* data, DType dtype, const Shape& shape);

  bool defined() const { return storage_ != nullptr; }
  DType dtype() const { return spec_.dtype; }
  const Shape& shape() const { return spec_.shape; }
  const TensorSpec& spec() const { return spec_; }
  int64_t elements() const { return spec_.shape.elements(); }
  size_t bytes() const { return size_t(elements()) * size_of(dtype()); }

  const void* raw() const { return data_; }
  void* raw_mut();  // Error unless this is the storage's only owner
  template <class T>
  const T* data() const {
    check(dtype_of<T>);
    return static_cast<const T*>(data_);
  }
  template <class T>
  T* data_mut() {
    check(dtype_of<T>);
    return static_cast<T*>(raw_mut());
  }
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), size_t(elements())};
  }

  // The value of a one-element tensor as double (any numeric dtype).
  double item() const;
  // Element `index` in row-major order as double.
  double at(int64_t index) const;

  // Views: same storage, no copy.
  Tensor reshape(const Shape& shape) const;        // one dimension may be -1
  Tensor slice(int64_t begin, int64_t end) const;  // rows of dimension 0
  Tensor operator[](int64_t row) const;            // one row, rank - 1
  // Copies.
  Tensor cast(DType dtype) const;
  Tensor clone() const;
  Tensor gather(std::span<const int64_t> rows) const;  // rows of dimension 0 in the given order

  // "float32[2, 3] {1, 2, 3, …}": at most `limit` values.
  std::string to_string(int limit = 8) const;
  // Same spec and the same bits.
  friend bool operator==(const Tensor& a, const Tensor& b);

 private:
  void check(DType asked) const;  // Error when the dtype differs or the tensor is undefined

  TensorSpec spec_;
  std::shared_ptr<void> storage_;
  void* data_ = nullptr;
};

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape) {
  if (int64_t(values.size()) != shape.elements())
    throw ShapeError("Tensor::from: " + std::to_string(values.size()) + " values for shape " +
                     stoker::to_string(shape));
  Tensor tensor(dtype_of<T>, shape);
  T* out = tensor.data_mut<T>();
  for (size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return tensor;
}

}  // namespace stoker
