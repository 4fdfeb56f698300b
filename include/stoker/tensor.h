// A host tensor: dtype, shape and a view on shared, immutable, 64-byte aligned storage, contiguous
// in row-major order. Cheap to copy (a reference count); safe to read from any thread. It is
// written only while it is being made: by from()/zeros()/…, or through data_mut() by its only
// owner.
#pragma once

#include <concepts>
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
  // ValueError when an integer dtype cannot hold the value.
  static Tensor full(const Shape& shape, double value, DType dtype = DType::float32);
  // float gives float32, int gives int32, …; double gives float32 and unsigned integers int64, as
  // Stored (dtype.h) says.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    return from(std::span<const T>(values), shape);
  }
  template <std::same_as<bool> T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {  // has no data()
    auto copy = std::make_unique<bool[]>(values.size());
    for (size_t i = 0; i < values.size(); ++i) copy[i] = values[i];
    return from(std::span<const bool>(copy.get(), values.size()), shape);
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

  // A copy as another type, whatever the dtype: to_vector<double>(). Converts as cast() does.
  template <class T>
  std::vector<T> to_vector() const;

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

  // Of all elements; Error when there are none.
  double mean() const;
  double min() const;  // NaN when an element is
  double max() const;
  // int64: where the largest entry along an axis is, the first of equals; NaN is the largest.
  // predict(x).argmax() is the class of every sample.
  Tensor argmax(int axis = -1) const;

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
  Tensor tensor(dtype_of<Stored<T>>, shape);
  Stored<T>* out = tensor.data_mut<Stored<T>>();
  for (size_t i = 0; i < values.size(); ++i) out[i] = stored(values[i]);
  return tensor;
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  if constexpr (std::is_same_v<T, double>) {
    std::vector<double> copy(static_cast<size_t>(elements()));
    for (size_t i = 0; i < copy.size(); ++i) copy[i] = at(int64_t(i));
    return copy;
  } else {
    Tensor converted = dtype() == dtype_of<ReadAs<T>> ? *this : cast(dtype_of<ReadAs<T>>);
    auto all = converted.values<ReadAs<T>>();
    return {all.begin(), all.end()};
  }
}

// A C++ number beside a tensor; integers stay exact.
class Number {
 public:
  template <std::integral T>
  Number(T value) : value_(double(value)), whole_(int64_t(stored(value))), integral_(true) {}
  template <std::floating_point T>
  Number(T value) : value_(double(value)) {}

  double value() const { return value_; }
  int64_t whole() const { return whole_; }     // of an integral() one
  bool integral() const { return integral_; }  // an integer in C++

 private:
  double value_;
  int64_t whole_ = 0;
  bool integral_ = false;
};

// Arithmetic on the host, with NumPy broadcasting: x / 255, (x - mean) / deviation. A number takes
// the tensor's dtype. Where dtypes differ the result is promoted() (dtype.h); "/" of integers gives
// float32, as does a float or double beside an integer tensor. Integers shorter than int32 give
// int32. A result that int32 or int64 cannot hold is a ValueError: nothing wraps around.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, Number b);
Tensor operator+(Number a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, Number b);
Tensor operator-(Number a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, Number b);
Tensor operator*(Number a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, Number b);
Tensor operator/(Number a, const Tensor& b);
Tensor operator-(const Tensor& a);

}  // namespace stoker
