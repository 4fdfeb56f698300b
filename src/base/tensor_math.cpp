// Arithmetic on host tensors.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <stoker/tensor.h>

#include "base/convert.h"
#include "base/visit_dtype.h"

namespace stoker {

namespace {

// Floats are computed as float32, integers as int32 or int64.
DType computed_in(DType result) { return is_floating(result) ? DType::float32 : result; }

// Strides of `shape` in elements, aligned to the axes of `wide`; 0 where it is repeated.
std::array<int64_t, Shape::kMaxRank> strides_in(const Shape& shape, const Shape& wide) {
  std::array<int64_t, Shape::kMaxRank> strides{};
  int64_t stride = 1;
  for (int axis = shape.rank() - 1, at = wide.rank() - 1; axis >= 0; --axis, --at) {
    strides[size_t(at)] = shape[axis] == 1 ? 0 : stride;
    stride *= shape[axis];
  }
  return strides;
}

// Calls row(offset in a, offset in b, offset in out) for each row along the last axis of `wide`.
template <class Row>
void for_each_row(const Shape& a, const Shape& b, const Shape& wide, Row row) {
  auto in_a = strides_in(a, wide), in_b = strides_in(b, wide);
  int last = wide.rank() - 1;
  std::array<int64_t, Shape::kMaxRank> at{};
  int64_t offset_a = 0, offset_b = 0;
  for (int64_t out = 0; out < wide.elements(); out += wide[last]) {
    row(offset_a, offset_b, out);
    for (int axis = last - 1; axis >= 0; --axis) {
      auto i = size_t(axis);
      offset_a += in_a[i];
      offset_b += in_b[i];
      if (++at[i] < wide[axis]) break;
      offset_a -= in_a[i] * wide[axis];
      offset_b -= in_b[i] * wide[axis];
      at[i] = 0;
    }
  }
}

template <class T, class Function>
Tensor zip(const Tensor& a, const Tensor& b, Function function) {
  Shape shape = broadcast(a.shape(), b.shape());
  Tensor result(dtype_of<T>, shape);
  T* out = result.data_mut<T>();
  const T *x = a.data<T>(), *y = b.data<T>();
  // Where nothing is repeated, or one value is, all is one row.
  bool flat = a.shape() == b.shape() || a.elements() == 1 || b.elements() == 1;
  auto row_of = [](const Tensor& t) { return Shape{t.elements()}; };
  Shape wide = flat ? row_of(result) : shape;
  Shape of_a = flat ? row_of(a) : a.shape(), of_b = flat ? row_of(b) : b.shape();
  int64_t length = wide[-1], step_a = of_a.rank() > 0 && of_a[-1] > 1,
          step_b = of_b.rank() > 0 && of_b[-1] > 1;
  for_each_row(of_a, of_b, wide, [&](int64_t in_a, int64_t in_b, int64_t begin) {
    for (int64_t i = 0; i < length; ++i)
      out[begin + i] = function(x[in_a + i * step_a], y[in_b + i * step_b]);
  });
  return result;
}

// Integer arithmetic that refuses to wrap around.
template <class T>
T exact(char op, T a, T b) {
  T result = 0;
  bool wraps = op == '+'   ? __builtin_add_overflow(a, b, &result)
               : op == '-' ? __builtin_sub_overflow(a, b, &result)
                           : __builtin_mul_overflow(a, b, &result);
  if (wraps)
    throw ValueError(fmt::format("{} {} {} is beyond {}; cast() to {} first", a, op, b,
                                 name(dtype_of<T>), sizeof(T) == 4 ? "int64" : "float32"));
  return result;
}

template <class T>
Tensor zip_integers(char op, const Tensor& a, const Tensor& b) {
  return zip<T>(a, b, [op](T x, T y) { return exact<T>(op, x, y); });
}

Tensor zip_floats(char op, const Tensor& a, const Tensor& b) {
  switch (op) {
    case '+':
      return zip<float>(a, b, std::plus<>());
    case '-':
      return zip<float>(a, b, std::minus<>());
    case '*':
      return zip<float>(a, b, std::multiplies<>());
    default:
      return zip<float>(a, b, std::divides<>());
  }
}

Tensor as(const Tensor& tensor, DType dtype) {
  return tensor.dtype() == dtype ? tensor : tensor.cast(dtype);
}

void check_operand(char op, const Tensor& tensor) {
  if (!tensor.defined()) throw Error(fmt::format("{}: an operand is an undefined tensor", op));
  if (tensor.dtype() == DType::bytes)
    throw ShapeError(fmt::format("{}: {} holds no numbers", op, to_string(tensor.spec())));
}

Tensor combine(char op, const Tensor& a, const Tensor& b, DType result) {
  if (!is_floating(result)) result = op == '/' ? DType::float32 : promoted(result, DType::int32);
  DType computed = computed_in(result);
  Tensor x = as(a, computed), y = as(b, computed);
  Tensor out = computed == DType::float32 ? zip_floats(op, x, y)
               : computed == DType::int64 ? zip_integers<int64_t>(op, x, y)
                                          : zip_integers<int32_t>(op, x, y);
  return as(out, result);
}

Tensor combine(char op, const Tensor& a, const Tensor& b) {
  check_operand(op, a);
  check_operand(op, b);
  return combine(op, a, b, promoted(a.dtype(), b.dtype()));
}

// The dtype of a result when `number` meets a tensor of `dtype`.
DType beside(DType dtype, const Number& number) {
  if (is_floating(dtype)) return holds(dtype, number.value()) ? dtype : DType::float32;
  if (!number.integral()) return DType::float32;
  return holds(DType::int32, number.value()) ? dtype : DType::int64;
}

Tensor tensor_of(const Number& number) {
  return number.integral() ? Tensor::from({number.whole()}, {}) : Tensor(float(number.value()));
}

Tensor combine(char op, const Tensor& a, const Number& b) {
  check_operand(op, a);
  return combine(op, a, tensor_of(b), beside(a.dtype(), b));
}

Tensor combine(char op, const Number& a, const Tensor& b) {
  check_operand(op, b);
  return combine(op, tensor_of(a), b, beside(b.dtype(), a));
}

// Folds all elements, as double, with `step`.
template <class Step>
double fold(const Tensor& tensor, const char* what, double start, Step step) {
  if (!tensor.defined() || tensor.elements() == 0)
    throw Error(fmt::format("{} of a tensor without elements", what));
  visit_numeric(tensor.dtype(), [&]<class T>(std::type_identity<T>) {
    for (T value : tensor.values<T>()) start = step(start, convert<double>(value));
  });
  return start;
}

}  // namespace

Tensor operator+(const Tensor& a, const Tensor& b) { return combine('+', a, b); }
Tensor operator+(const Tensor& a, Number b) { return combine('+', a, b); }
Tensor operator+(Number a, const Tensor& b) { return combine('+', a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return combine('-', a, b); }
Tensor operator-(const Tensor& a, Number b) { return combine('-', a, b); }
Tensor operator-(Number a, const Tensor& b) { return combine('-', a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return combine('*', a, b); }
Tensor operator*(const Tensor& a, Number b) { return combine('*', a, b); }
Tensor operator*(Number a, const Tensor& b) { return combine('*', a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return combine('/', a, b); }
Tensor operator/(const Tensor& a, Number b) { return combine('/', a, b); }
Tensor operator/(Number a, const Tensor& b) { return combine('/', a, b); }
Tensor operator-(const Tensor& a) { return a * -1; }

double Tensor::mean() const { return fold(*this, "mean", 0, std::plus<>()) / double(elements()); }

double Tensor::min() const {
  return fold(*this, "min", std::numeric_limits<double>::infinity(),
              [](double least, double x) { return x < least || std::isnan(x) ? x : least; });
}

double Tensor::max() const {
  return fold(*this, "max", -std::numeric_limits<double>::infinity(),
              [](double most, double x) { return x > most || std::isnan(x) ? x : most; });
}

Tensor Tensor::argmax(int axis) const {
  int rank = shape().rank(), at = axis < 0 ? axis + rank : axis;
  if (!defined() || at < 0 || at >= rank)
    throw ShapeError(fmt::format("argmax: {} has no axis {}",
                                 defined() ? stoker::to_string(shape()) : "an undefined tensor",
                                 axis));
  int64_t count = shape()[at], outer = 1, inner = 1;
  if (count == 0)
    throw ShapeError(
        fmt::format("argmax: axis {} of {} has no entries", axis, stoker::to_string(shape())));
  std::vector<int64_t> left;
  for (int i = 0; i < rank; ++i) {
    if (i == at) continue;
    (i < at ? outer : inner) *= shape()[i];
    left.push_back(shape()[i]);
  }
  Tensor result(DType::int64, Shape(std::span<const int64_t>(left)));
  auto* out = result.data_mut<int64_t>();
  visit_numeric(dtype(), [&]<class T>(std::type_identity<T>) {
    const T* values = data<T>();
    for (int64_t place = 0; place < outer * inner; ++place) {
      const T* first = values + place / inner * count * inner + place % inner;
      int64_t best = 0;
      auto most = convert<double>(first[0]);
      for (int64_t i = 1; i < count && !std::isnan(most); ++i) {
        auto value = convert<double>(first[i * inner]);
        if (value > most || std::isnan(value)) most = value, best = i;
      }
      out[place] = best;
    }
  });
  return result;
}

}  // namespace stoker
