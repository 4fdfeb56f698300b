// A function from one element of a dataset to another. An element is a list of components (image,
// label, …); components are seen through views, results are written where the caller wants them:
// into the row of a batch, or into scratch memory for the next function.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <stoker/random.h>
#include <stoker/tensor_view.h>

namespace stoker::data {

// A dimension of -1 is unknown until an element is made.
using ElementSpec = std::vector<TensorSpec>;

// Takes the components of one element. Each component is written once, by put or by copy.
class ElementWriter {
 public:
  virtual ~ElementWriter() = default;
  // Where component `index` has to be written, all of it. bytes: a std::string per value, possibly
  // with old contents. Uninitialised otherwise. ShapeError when the place has another dtype or
  // shape.
  virtual void* put(size_t index, DType dtype, const Shape& shape) = 0;
  // Component `index` is what `value` shows; copied now, or referred to when the caller knows that
  // it lives long enough.
  virtual void copy(size_t index, const ConstTensorView& value) = 0;
};

// Stateless: called from many threads at once. Randomness comes only from `rng`, which is keyed by
// seed, epoch, element and function.
class ElementFunction {
 public:
  virtual ~ElementFunction() = default;
  virtual std::string name() const = 0;
  // The spec of the result; ShapeError when it cannot take elements of the spec `in`.
  virtual ElementSpec infer(const ElementSpec& in) const = 0;
  virtual void apply(std::span<const ConstTensorView> in, ElementWriter& out, Rng& rng) const = 0;
  virtual bool is_random() const { return false; }
};

using FunctionRef = std::shared_ptr<const ElementFunction>;

}  // namespace stoker::data
