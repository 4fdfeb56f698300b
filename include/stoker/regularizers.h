// Penalties on weights, added to the loss: l1 · Σ|w| + l2 · Σw², Keras's OrthogonalRegularizer, or
// any function of ops from a weight to a scalar. "l1", "l2", "l1_l2" and "orthogonal_regularizer"
// are names for Keras's default of 0.01. A layer with a function is passed to load_model by its
// name.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include <stoker/value.h>

namespace stoker {

class Regularizer {
 public:
  Regularizer() = default;  // none
  Regularizer(const char* name) : Regularizer(std::string(name)) {}
  Regularizer(const std::string& name);  // ValueError lists the names
  Regularizer(double l1, double l2) : l1_(l1), l2_(l2) {}
  template <class F, class = std::enable_if_t<std::is_invocable_r_v<Value, const F&, const Value&>>>
  Regularizer(F function) : kind_(kCustom), function_(std::move(function)) {}

  explicit operator bool() const { return l1_ != 0 || l2_ != 0 || !kind_.empty(); }
  double l1() const { return l1_; }
  double l2() const { return l2_; }
  // "": l1 and l2 alone; else "OrthogonalRegularizer" or kCustom.
  const std::string& kind() const { return kind_; }
  double factor() const { return factor_; }          // of an OrthogonalRegularizer
  const std::string& mode() const { return mode_; }  // the same
  Value operator()(const Value& weight) const;       // a float32 scalar; ShapeError otherwise
  static constexpr const char* kCustom = "<function>";

 private:
  friend Regularizer OrthogonalRegularizer(double factor, const std::string& mode);
  double l1_ = 0, l2_ = 0;
  std::string kind_;
  double factor_ = 0;
  std::string mode_;
  std::function<Value(const Value&)> function_;
};

inline Regularizer L1(double factor = 0.01) { return {factor, 0}; }
inline Regularizer L2(double factor = 0.01) { return {0, factor}; }
inline Regularizer L1L2(double l1 = 0.01, double l2 = 0.01) { return {l1, l2}; }
// Of a matrix: factor times the mean |cosine| between two of its rows, or of its columns. ValueError
// for another mode or a negative factor.
Regularizer OrthogonalRegularizer(double factor = 0.01, const std::string& mode = "rows");

}  // namespace stoker
