// How the reference backend holds a value: every element as one kind of number, in row-major order,
// whatever its dtype.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <stoker/tensor.h>

namespace stoker::reference {

// A double would round the 64-bit seed of a run's random state; this holds every int64 exactly.
using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 63);

struct Array {
  TensorSpec spec;
  std::vector<Number> data;

  Array() = default;
  explicit Array(const TensorSpec& tensor_spec)
      : spec(tensor_spec), data(size_t(tensor_spec.shape.elements()), Number(0)) {}

  const Shape& shape() const { return spec.shape; }
  int64_t size() const { return int64_t(data.size()); }
  Number& operator[](int64_t index) { return data[size_t(index)]; }
  Number operator[](int64_t index) const { return data[size_t(index)]; }
};

// Whether floats keep all their bits between ops (exact) or only those of their dtype (as_dtype).
enum class Rounding : uint8_t { as_dtype, exact };

// The number that remains when `value` is stored as `dtype`. Integers wrap, as a processor's do.
Number rounded(Number value, DType dtype);
void round(Array& array, Rounding rounding);

// Copies a tensor's numbers into an array of the same spec, and back.
void load(const Tensor& tensor, Array& array);
Array to_array(const Tensor& tensor);
Tensor to_tensor(const Array& array);

}  // namespace stoker::reference
