#include <stoker/tensor.h>

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "base/convert.h"
#include "base/host_memory.h"
#include "base/visit_dtype.h"

namespace stoker {

namespace {

constexpr std::align_val_t kAlignment{64};

size_t checked_bytes(const TensorSpec& spec) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(size_t(spec.shape.elements()), size_of(spec.dtype), &bytes) ||
      bytes > size_t(PTRDIFF_MAX))
    throw ShapeError(fmt::format("a tensor {} is larger than the address space", to_string(spec)));
  return bytes;
}

std::shared_ptr<void> allocate(const TensorSpec& spec) {
  size_t bytes = checked_bytes(spec);
  void* memory = ::operator new(std::max<size_t>(bytes, 1), kAlignment, std::nothrow);
  if (memory == nullptr)
    throw Error(
        fmt::format("out of host memory: a tensor {} takes {} bytes", to_string(spec), bytes));
  advise_huge_pages(memory, bytes);
  auto release = [](void* pointer) { ::operator delete(pointer, kAlignment); };
  if (spec.dtype != DType::bytes) return {memory, release};

  auto* strings = static_cast<std::string*>(memory);
  auto count = size_t(spec.shape.elements());
  std::uninitialized_value_construct_n(strings, count);
  return {memory, [strings, count, release](void* pointer) {
            std::destroy_n(strings, count);
            release(pointer);
          }};
}

// `count` elements from one place to another, both of the given dtype and already constructed.
void copy_elements(DType dtype, const void* from, void* to, size_t count) {
  if (dtype == DType::bytes)
    std::copy_n(static_cast<const std::string*>(from), count, static_cast<std::string*>(to));
  else if (count > 0)
    std::memcpy(to, from, count * size_of(dtype));
}

// Completes the one dimension that may be -1.
Shape resolve(const Shape& wanted, const Shape& have) {
  auto fail = [&] {
    return ShapeError(fmt::format("cannot reshape {} into {}", to_string(have), to_string(wanted)));
  };
  Shape shape = wanted;
  auto unknown = std::count(shape.begin(), shape.end(), -1);
  if (unknown > 1) throw fail();
  if (unknown == 1) {
    int axis = int(std::find(shape.begin(), shape.end(), -1) - shape.begin());
    int64_t others = shape.with(axis, 1).elements();
    if (others == 0 || have.elements() % others != 0) throw fail();
    shape.set(axis, have.elements() / others);
  }
  if (shape.elements() != have.elements()) throw fail();
  return shape;
}

std::string element_text(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::bytes)
    return fmt::format("\"{}\"", tensor.data<std::string>()[index]);
  return visit_numeric(tensor.dtype(), [&]<class T>(std::type_identity<T>) {
    T value = tensor.data<T>()[index];
    if (is_integer(tensor.dtype())) return fmt::format("{}", convert<int64_t>(value));
    return fmt::format("{:g}", convert<double>(value));
  });
}

}  // namespace

std::string to_string(const TensorSpec& spec) {
  return std::string(name(spec.dtype)) + to_string(spec.shape);
}

Tensor::Tensor(DType dtype, const Shape& shape)
    : spec_{dtype, shape}, storage_(allocate(spec_)), data_(storage_.get()) {}

Tensor::Tensor(float scalar) : Tensor(DType::float32, Shape{}) { *data_mut<float>() = scalar; }

Tensor Tensor::zeros(const Shape& shape, DType dtype) {
  Tensor tensor(dtype, shape);
  if (dtype != DType::bytes) std::memset(tensor.data_, 0, tensor.bytes());
  return tensor;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype) {
  if (is_integer(dtype) && !holds(dtype, value))
    throw ValueError(fmt::format("Tensor::full: {} cannot hold {}", name(dtype), value));
  Tensor tensor(dtype, shape);
  visit_numeric(dtype, [&]<class T>(std::type_identity<T>) {
    std::fill_n(tensor.data_mut<T>(), tensor.elements(), convert<T>(value));
  });
  return tensor;
}

Tensor Tensor::wrap(std::shared_ptr<void> owner, void* data, DType dtype, const Shape& shape) {
  Tensor tensor;
  tensor.spec_ = {dtype, shape};
  checked_bytes(tensor.spec_);
  if (owner == nullptr || data == nullptr)
    throw ValueError(
        fmt::format("Tensor::wrap: {} needs an owner and memory", stoker::to_string(tensor.spec_)));
  tensor.storage_ = std::move(owner);
  tensor.data_ = data;
  return tensor;
}

void* Tensor::raw_mut() {
  if (!defined()) throw Error("an undefined tensor has no memory to write to");
  if (storage_.use_count() != 1)
    throw Error(fmt::format("{} is shared by others and must not be written; clone() it first",
                            stoker::to_string(spec_)));
  return data_;
}

void Tensor::check(DType asked) const {
  if (!defined()) throw Error(fmt::format("an undefined tensor was read as {}", name(asked)));
  if (asked != dtype())
    throw ShapeError(fmt::format("{} was read as {}", stoker::to_string(spec_), name(asked)));
}

double Tensor::item() const {
  if (!defined() || elements() != 1)
    throw ShapeError(fmt::format("item() takes a tensor of one element, got {}",
                                 defined() ? stoker::to_string(spec_) : "an undefined one"));
  return at(0);
}

double Tensor::at(int64_t index) const {
  if (!defined() || index < 0 || index >= elements())
    throw ValueError(fmt::format("element {} of {} does not exist", index,
                                 defined() ? stoker::to_string(spec_) : "an undefined tensor"));
  return visit_numeric(
      dtype(), [&]<class T>(std::type_identity<T>) { return convert<double>(data<T>()[index]); });
}

Tensor Tensor::reshape(const Shape& shape) const {
  Tensor view = *this;
  view.spec_.shape = resolve(shape, spec_.shape);
  return view;
}

Tensor Tensor::slice(int64_t begin, int64_t end) const {
  if (!defined() || shape().rank() == 0 || begin < 0 || begin > end || end > shape()[0])
    throw ValueError(
        fmt::format("rows {} to {} of {} do not exist", begin, end, stoker::to_string(spec_)));
  Tensor view = *this;
  size_t row_bytes = shape()[0] == 0 ? 0 : bytes() / size_t(shape()[0]);
  view.spec_.shape.set(0, end - begin);
  view.data_ = static_cast<std::byte*>(data_) + size_t(begin) * row_bytes;
  return view;
}

Tensor Tensor::operator[](int64_t row) const {
  if (!defined() || shape().rank() == 0 || row < 0 || row >= shape()[0])
    throw ValueError(fmt::format("row {} of {} does not exist", row, stoker::to_string(spec_)));
  Tensor view = slice(row, row + 1);
  view.spec_.shape = shape().drop_front();
  return view;
}

Tensor Tensor::cast(DType to) const {
  if (to == dtype()) return clone();
  if (to == DType::bytes || dtype() == DType::bytes)
    throw ShapeError(fmt::format("{} cannot be cast to {}", stoker::to_string(spec_), name(to)));
  check(dtype());
  Tensor result(to, shape());
  visit_numeric(dtype(), [&]<class From>(std::type_identity<From>) {
    visit_numeric(to, [&]<class To>(std::type_identity<To>) {
      auto in = values<From>();
      std::transform(in.begin(), in.end(), static_cast<To*>(result.data_), convert<To, From>);
    });
  });
  return result;
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  Tensor copy(dtype(), shape());
  copy_elements(dtype(), data_, copy.data_, size_t(elements()));
  return copy;
}

Tensor Tensor::gather(std::span<const int64_t> rows) const {
  if (!defined() || shape().rank() == 0)
    throw ShapeError(
        fmt::format("gather takes a tensor that has rows, got {}", stoker::to_string(spec_)));
  Tensor result(dtype(), shape().with(0, int64_t(rows.size())));
  auto row_elements = size_t(shape().drop_front().elements());
  size_t row_bytes = row_elements * size_of(dtype());
  auto* out = static_cast<std::byte*>(result.data_);
  for (int64_t row : rows) {
    if (row < 0 || row >= shape()[0])
      throw ValueError(fmt::format("row {} of {} does not exist", row, stoker::to_string(spec_)));
    const auto* in = static_cast<const std::byte*>(data_) + size_t(row) * row_bytes;
    copy_elements(dtype(), in, out, row_elements);
    out += row_bytes;
  }
  return result;
}

std::string Tensor::to_string(int limit) const {
  if (!defined()) return "undefined tensor";
  std::string text = stoker::to_string(spec_) + " {";
  int64_t shown = std::min<int64_t>(elements(), std::max(limit, 0));
  for (int64_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    text += element_text(*this, i);
  }
  if (shown < elements()) text += shown > 0 ? ", …" : "…";
  return text + "}";
}

bool operator==(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined() || a.spec_ != b.spec_) return false;
  if (!a.defined() || a.data_ == b.data_ || a.elements() == 0) return true;
  if (a.dtype() == DType::bytes)
    return std::ranges::equal(a.values<std::string>(), b.values<std::string>());
  return std::memcmp(a.data_, b.data_, a.bytes()) == 0;
}

}  // namespace stoker
