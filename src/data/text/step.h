// A step on one component of an element: lookups, text vectorisation, tokenisers. Immutable; called
// from many threads.
#pragma once

#include <memory>
#include <string>

#include <stoker/element.h>

namespace stoker::text {

// Where a result goes.
class Place {
 public:
  virtual ~Place() = default;
  virtual void* put(DType dtype, const Shape& shape) = 0;
};

class Step {
 public:
  virtual ~Step() = default;
  virtual std::string name() const = 0;
  virtual std::string identity() const = 0;  // empty: own functions, which no text describes
  virtual TensorSpec infer(const TensorSpec& in) const = 0;
  virtual void run(const ConstTensorView& in, Place& out) const = 0;
};
using StepRef = std::shared_ptr<const Step>;

// On component `component`; the others pass.
data::FunctionRef as_function(StepRef step, size_t component);
// On a tensor, now.
Tensor run_step(const Step& step, const Tensor& in);

}  // namespace stoker::text
