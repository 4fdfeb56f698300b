// Elements of a dataset and functions of them. An element is a list of components (image, label,
// …). Functions see components through views and write results where the caller wants them: into
// the row of a batch, or into scratch memory for the next function.
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
std::string to_string(const ElementSpec& spec);  // "(uint8[28, 28, 1], int64[])"

// An element that could not be made: which one, where, and why.
class ElementError : public Error {
 public:
  ElementError(const std::string& stage, int64_t epoch, int64_t index, const std::string& origin,
               const std::string& why);
  const std::string& stage() const { return stage_; }    // map("decode")
  const std::string& origin() const { return origin_; }  // a path, where one is known
  int64_t epoch() const { return epoch_; }
  int64_t index() const { return index_; }

 private:
  std::string stage_, origin_;
  int64_t epoch_, index_;
};

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

// Stateless: called concurrently. Randomness comes only from `rng`, which is keyed by seed, epoch,
// element and function.
class ElementFunction {
 public:
  virtual ~ElementFunction() = default;
  virtual std::string name() const = 0;
  // The spec of the result; ShapeError when it cannot take elements of the spec `in`.
  virtual ElementSpec infer(const ElementSpec& in) const = 0;
  virtual void apply(std::span<const ConstTensorView> in, ElementWriter& out, Rng& rng) const = 0;
  virtual bool is_random() const { return false; }
  // What it computes, as text that is another whenever results can be: name and all options. By it
  // cache(path) and a resumed training notice a change. Empty: not known, as for C++ functions.
  virtual std::string identity() const { return {}; }
};

using FunctionRef = std::shared_ptr<const ElementFunction>;

// Whether an element's function returns true; no result is written.
class ElementPredicate {
 public:
  virtual ~ElementPredicate() = default;
  virtual void check(const ElementSpec& in) const = 0;  // ShapeError when it cannot take them
  virtual bool test(std::span<const ConstTensorView> in, Rng& rng) const = 0;
  virtual bool is_random() const { return false; }
  virtual std::string identity() const { return {}; }  // as ElementFunction's
};

using PredicateRef = std::shared_ptr<const ElementPredicate>;

}  // namespace stoker::data
