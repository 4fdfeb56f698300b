// An equation of EinsumDense: which axes of the input meet which of the kernel. A letter per axis.
#pragma once

#include <string>

#include <stoker/ops.h>

namespace stoker {

class EinsumEquation {
 public:
  // ValueError for what is no equation of the forms that EinsumDense takes.
  explicit EinsumEquation(const std::string& equation);

  // For an input of this shape: "..." becomes axes, and output_shape (without the batch and those,
  // -1: as the input) settles the others. ShapeError where they do not fit.
  struct Plan {
    std::string x, kernel, y;  // a character per axis
    Shape kernel_shape;
    Shape drawn_as;  // [inputs, outputs] of the kernel
  };
  Plan plan(const Shape& input, const Shape& output_shape) const;
  // Of the bias for these letters of the output, as Keras has it. ValueError for others.
  Shape bias_shape(const Plan& plan, const Shape& output_shape, const std::string& axes) const;

 private:
  enum class Elided : uint8_t { none, left, right };
  std::string x_, kernel_, y_;
  Elided elided_ = Elided::none;
};

// The product of a plan: x · kernel + bias, which may be undefined.
Value einsum_product(const EinsumEquation::Plan& plan, const Value& x, const Value& kernel,
                     const Value& bias);

}  // namespace stoker
