// What the options of layers (layers.h) are made of: sizes, edges, axes, activations.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/value.h>

namespace stoker {

// Height and width: 3 or {3, 5}.
struct Size2 {
  int64_t height, width;
  Size2(int64_t both) : height(both), width(both) {}
  Size2(int64_t h, int64_t w) : height(h), width(w) {}
  friend bool operator==(const Size2&, const Size2&) = default;
};

// Pixels at the four edges: 1, {rows, columns} or {{top, bottom}, {left, right}}.
struct Edges2 {
  int64_t top, bottom, left, right;
  Edges2(int64_t all) : Edges2(all, all) {}
  Edges2(int64_t rows, int64_t columns) : top(rows), bottom(rows), left(columns), right(columns) {}
  Edges2(std::array<int64_t, 2> rows, std::array<int64_t, 2> columns)
      : top(rows[0]), bottom(rows[1]), left(columns[0]), right(columns[1]) {}
  friend bool operator==(const Edges2&, const Edges2&) = default;
};

// Steps at the two ends of a sequence: 1 or {left, right}.
struct Edges1 {
  int64_t left, right;
  Edges1(int64_t both) : Edges1(both, both) {}
  Edges1(int64_t before, int64_t after) : left(before), right(after) {}
  friend bool operator==(const Edges1&, const Edges1&) = default;
};

// One axis or several: -1 or {1, 2}.
struct Axes {
  std::vector<int64_t> list;
  Axes(int64_t axis) : list{axis} {}
  Axes(std::initializer_list<int64_t> axes) : list(axes) {}
  explicit Axes(std::vector<int64_t> axes) : list(std::move(axes)) {}
};

// An activation by Keras's name ("relu", "gelu", "softmax", …; a wrong one lists the right ones) or
// any function from ops. A layer with a function is passed to load_model by its name.
class ActivationFunction {
 public:
  ActivationFunction() = default;  // linear
  ActivationFunction(const char* name) : ActivationFunction(std::string(name)) {}
  ActivationFunction(const std::string& name);
  template <class F, class = std::enable_if_t<std::is_invocable_r_v<Value, const F&, const Value&>>>
  ActivationFunction(F function) : name_(kCustom), function_(std::move(function)) {}

  Value operator()(const Value& x) const;
  const std::string& name() const { return name_; }
  static constexpr const char* kCustom = "<function>";

 private:
  std::string name_ = "linear";
  std::function<Value(const Value&)> function_;
};

// For layers that take nothing else.
struct LayerOptions {
  std::string name = "";
  std::string dtype = "";
};

}  // namespace stoker
