// A variable is a named tensor that outlives a step: weights, optimiser moments, metric sums, the
// random state. It is a value handle: copies share one state. Its contents live in one place at a
// time, on the host or with the backend whose program used it last, in the layout it likes.
#pragma once

#include <memory>
#include <string>

#include <stoker/tensor.h>

namespace stoker {

class Value;

// What a variable's memory is counted as in reports.
enum class MemoryCategory : uint8_t {
  weights,
  gradients,
  optimizer,
  activations,
  workspace,
  inputs,
  metrics
};
std::string_view name(MemoryCategory category);

// The seam that an engine fills when it takes a variable's contents into its own memory.
// read() returns the contents in row-major order, waiting for the device if it must.
class Residence {
 public:
  virtual ~Residence() = default;
  virtual Tensor read() const = 0;
  virtual void write(const Tensor& value) = 0;  // same spec as the variable
};

class Variable {
 public:
  struct Options {
    bool trainable = true;
    MemoryCategory category = MemoryCategory::weights;
  };

  Variable() = default;  // undefined
  Variable(std::string name, Tensor initial);
  Variable(std::string name, Tensor initial, Options options);

  bool defined() const { return state_ != nullptr; }
  const std::string& name() const;
  void rename(std::string name);
  const TensorSpec& spec() const;
  const Shape& shape() const { return spec().shape; }
  DType dtype() const { return spec().dtype; }
  MemoryCategory category() const;
  bool trainable() const;
  void set_trainable(bool trainable);

  Tensor read() const;              // a copy of the contents; synchronises with the device
  void write(const Tensor& value);  // ShapeError unless the spec is the same

  // Which elements may differ from zero, as a bool variable of the same shape; undefined: all. An
  // optimiser leaves the others at zero (prune.h). Copies share it. Programs that train the variable
  // are traced anew when it gets a mask or loses it, not when the mask's contents change.
  const Variable& mask() const;
  void set_mask(const Variable& mask);  // ShapeError for another spec

  // Part of a step, in program order: what reads the variable afterwards reads `value`. Inside
  // function() or Layer::call; Error elsewhere. A number fills the variable.
  void assign(const Value& value) const;
  void assign_add(const Value& value) const;

  // For engines: where the contents are now (null: on the host), and moving them.
  const std::shared_ptr<Residence>& residence() const;
  // The new residence already holds the contents; null brings them back to the host.
  void move_to(std::shared_ptr<Residence> residence);

  friend bool operator==(const Variable& a, const Variable& b) { return a.state_ == b.state_; }
  const void* id() const { return state_.get(); }  // identity, for maps

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace stoker
