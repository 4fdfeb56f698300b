#include "nn/element_weights.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "nn/targets.h"

namespace stoker {

namespace {

[[noreturn]] void fail_weights(const std::string& who, const Shape& weight, const Shape& values) {
  std::string expected = values.rank() == 1
                             ? fmt::format("one per sample, [{}]", values[0])
                             : fmt::format("one per sample, [{}], or one per element, {}",
                                           values[0], to_string(values));
  bool has_last = weight.rank() == values.rank() + 1 &&
                  std::equal(values.begin(), values.end(), weight.begin());
  throw ShapeError(fmt::format("{}: sample_weight: expected {}, got {}{}", who, expected,
                               to_string(weight),
                               has_last ? "; the last axis is averaged before it is weighed" : ""));
}

}  // namespace

bool weighs_samples(const Shape& weight) {
  return weight.rank() > 0 &&
         std::all_of(weight.begin() + 1, weight.end(), [](int64_t extent) { return extent == 1; });
}

Shape weight_shape_beside(const std::string& who, const Shape& given, const Shape& values) {
  Shape weight = given;
  if (weighs_samples(weight))
    weight = {weight[0]};
  else if (weight.rank() == values.rank() + 1 && weight[-1] == 1)
    weight = without_last(weight);
  if (weight.rank() == 0 || weight.rank() > values.rank() || weight[0] != values[0])
    fail_weights(who, given, values);
  Shape beside = values;
  for (int axis = 0; axis < values.rank(); ++axis) {
    int64_t extent = axis < weight.rank() ? weight[axis] : 1;
    if (extent != 1 && extent != values[axis] && values[axis] != -1)
      fail_weights(who, given, values);
    beside.set(axis, extent);
  }
  return beside;
}

Value weights_beside(const std::string& who, const Value& weight, const Shape& values) {
  Shape shape = weight_shape_beside(who, weight.shape(), values);
  Value shaped = weight.shape() == shape ? weight : ops::reshape(weight, shape);
  return cast_to(shaped, DType::float32);
}

}  // namespace stoker
