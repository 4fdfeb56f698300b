// Runs an operation on one element.
#pragma once

#include "data/image/kernels.h"
#include "data/image/step.h"

namespace stoker::image {

// Gives the memory for the result, once its dtype and shape are known.
class Target {
 public:
  virtual ~Target() = default;
  virtual void* put(DType dtype, const Shape& shape) = 0;
};

// rng: null only when the operation is not random.
void run(const Op& op, const ConstTensorView& in, Rng* rng, Target& target,
         const Kernels& kernels = image::kernels());

}  // namespace stoker::image
