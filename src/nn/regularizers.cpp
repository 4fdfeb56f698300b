#include <stoker/regularizers.h>

#include <cmath>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "nn/unit_length.h"

namespace stoker {

namespace {

constexpr double kDefaultFactor = 0.01;
constexpr const char* kOrthogonal = "OrthogonalRegularizer";

Tensor ones_but_diagonal(int64_t size) {
  Tensor mask = Tensor::full({size, size}, 1);
  for (int64_t at = 0; at < size; ++at) mask.data_mut<float>()[at * size + at] = 0;
  return mask;
}

Value orthogonal_penalty(const Value& weight, double factor, const std::string& mode) {
  if (weight.shape().rank() != 2)
    throw ShapeError(
        fmt::format("{}: expected a matrix, got {}", kOrthogonal, to_string(weight.shape())));
  Value rows = unit_length(mode == "rows" ? weight : ops::transpose(weight, {1, 0}), 1);
  int64_t size = rows.shape()[0];
  if (size < 2) return ops::sum(rows) * 0.0;
  Value cosines = ops::matmul(rows, rows, {.transpose_b = true});
  double pairs = double(size) * double(size - 1) / 2;
  return ops::sum(ops::abs(cosines * Value(ones_but_diagonal(size)))) * (factor * 0.5 / pairs);
}

}  // namespace

Regularizer::Regularizer(const std::string& name) {
  bool both = name == "l1_l2" || name == "L1L2";
  if (both || name == "l1" || name == "L1") l1_ = kDefaultFactor;
  if (both || name == "l2" || name == "L2") l2_ = kDefaultFactor;
  if (name == "orthogonal_regularizer" || name == kOrthogonal) *this = OrthogonalRegularizer();
  if (name == kCustom)
    throw ValueError(
        "this regularizer was a C++ function, which is not in the file; pass its layer to "
        "load_model, by the layer's name in .custom_objects.layers");
  if (!*this)
    throw ValueError(fmt::format(
        "unknown regularizer \"{}\"; there are l1, l2, l1_l2, orthogonal_regularizer", name));
}

Regularizer OrthogonalRegularizer(double factor, const std::string& mode) {
  if (!(factor >= 0) || std::isinf(factor))
    throw ValueError(fmt::format("{}: factor must be at least 0, got {}", kOrthogonal, factor));
  if (mode != "rows" && mode != "columns")
    throw ValueError(
        fmt::format("{}: mode must be \"rows\" or \"columns\", got \"{}\"", kOrthogonal, mode));
  Regularizer made;
  made.kind_ = kOrthogonal;
  made.factor_ = factor;
  made.mode_ = mode;
  return made;
}

Value Regularizer::operator()(const Value& weight) const {
  if (kind_ == kOrthogonal) return orthogonal_penalty(weight, factor_, mode_);
  if (function_) {
    Value penalty = function_(weight);
    if (!penalty.defined() || penalty.spec() != TensorSpec{DType::float32, {}})
      throw ShapeError(
          fmt::format("a regularizer's function: expected a float32 scalar, got {}; sum over all "
                      "elements, ops::sum(x)",
                      penalty.defined() ? to_string(penalty.spec()) : "nothing"));
    return penalty;
  }
  Value absolute = l1_ == 0 ? Value() : ops::sum(ops::abs(weight)) * l1_;
  Value squared = l2_ == 0 ? Value() : ops::sum(ops::square(weight)) * l2_;
  if (absolute.defined() && squared.defined()) return absolute + squared;
  if (absolute.defined()) return absolute;
  return squared.defined() ? squared : Value(0.0);
}

}  // namespace stoker
