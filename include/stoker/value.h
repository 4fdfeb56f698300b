// A Value stands for a tensor that a graph will compute. It is a small handle that is
//   traced    part of a Graph; shapes are concrete. Inside Layer::call and function().
//   sketched  part of a functional model; the batch dimension is unknown (-1). Made by Input().
//   variable, constant   part of nothing yet; joins the graph or sketch of the values it meets.
// Ops (ops.h) and layers take Values and return Values. Nothing is computed when they are called.
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <stoker/variable.h>

namespace stoker {

class Graph;
struct SketchNode;

class Value {
 public:
  Value() = default;  // undefined
  // The contents that the variable has here: inside function() updates that follow do not change
  // this Value. Outside of a graph: the contents where an op reads it.
  Value(const Variable& variable);
  // A constant. Within one graph all Values of one Tensor are the same value.
  Value(const Tensor& constant) : where_(constant) {}
  // A number. Beside a tensor it takes the tensor's dtype, as far as that can hold it; alone it is
  // a float32 scalar. docs/guide/precision.md has the rules.
  Value(double scalar) : where_(scalar) {}
  template <std::integral T>
  Value(T number) : Value(of_integer(number)) {}

  bool defined() const { return !std::holds_alternative<std::monostate>(where_); }
  const Shape& shape() const { return spec().shape; }
  DType dtype() const { return spec().dtype; }
  const TensorSpec& spec() const;
  // Entry `index` of the first axis, which the result lacks; negative: from the end. ShapeError for
  // one that does not exist. Other axes: ops::take(x, index, axis), ops::get_item.
  Value operator[](int64_t index) const;

  // For the rooms that build and run graphs.
  struct Traced {
    Graph* graph;
    int id;
  };
  struct Sketched {
    std::shared_ptr<const SketchNode> node;
    int output;
  };
  struct Read {
    Variable variable;
    uint64_t graph;  // Graph::serial() of where it was read; 0: outside of a graph
    size_t updates;  // of the variables of that graph so far
  };
  const Traced* traced() const { return std::get_if<Traced>(&where_); }
  const Sketched* sketched() const { return std::get_if<Sketched>(&where_); }
  const Read* read() const { return std::get_if<Read>(&where_); }
  const Variable* variable() const { return read() ? &read()->variable : nullptr; }
  const Tensor* constant() const { return std::get_if<Tensor>(&where_); }
  const double* scalar() const { return std::get_if<double>(&where_); }
  explicit Value(Traced traced) : where_(traced) {}
  explicit Value(Sketched sketched) : where_(std::move(sketched)) {}
  friend bool same(const Value& a, const Value& b);  // the very same node output

 private:
  // An integer that double cannot hold is an int64 tensor.
  static Value of_integer(std::integral auto number) {
    auto scalar = double(number);
    if (sizeof(number) < 8 || (scalar < 0x1p63 && int64_t(scalar) == int64_t(number)))
      return scalar;
    return Tensor::from({number}, {});
  }

  std::variant<std::monostate, Traced, Sketched, Read, Tensor, double> where_;
};

using Values = std::vector<Value>;

// Arithmetic with NumPy broadcasting.
Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator-(const Value& a);
inline Value& operator+=(Value& a, const Value& b) { return a = a + b; }
inline Value& operator-=(Value& a, const Value& b) { return a = a - b; }
inline Value& operator*=(Value& a, const Value& b) { return a = a * b; }
inline Value& operator/=(Value& a, const Value& b) { return a = a / b; }
// bool, elementwise. There is no ==: whether two handles are one value is same(), and elements are
// compared by ops::equal.
Value operator<(const Value& a, const Value& b);
Value operator<=(const Value& a, const Value& b);
Value operator>(const Value& a, const Value& b);
Value operator>=(const Value& a, const Value& b);

// What gradients() gives for a value that the loss does not depend on.
enum class Unconnected : uint8_t {
  error,  // Error names the value, and where the path ends
  zeros,
  undefined,  // an undefined Value
};
struct GradientOptions {
  Unconnected unconnected = Unconnected::error;
};

// d(loss)/d(wrt) for a scalar (or summed) loss, appended to the loss's graph. wrt: inputs, results
// of ops, constants (Tensors) and variables. The gradient by a variable is that by every version of
// it that the loss read; it never flows through an update.
Values gradients(const Value& loss, const Values& wrt, const GradientOptions& options = {});
Values gradients(const Value& loss, const std::vector<Variable>& wrt,
                 const GradientOptions& options = {});
inline Values gradients(const Value& loss, std::initializer_list<Value> wrt,
                        const GradientOptions& options = {}) {
  return gradients(loss, Values(wrt), options);
}

}  // namespace stoker
