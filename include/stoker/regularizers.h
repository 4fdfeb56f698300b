// Penalties on weights, added to the loss: l1 · Σ|w| + l2 · Σw². "l1", "l2" and "l1_l2" are names
// for Keras's default of 0.01.
#pragma once

#include <string>

#include <stoker/value.h>

namespace stoker {

class Regularizer {
 public:
  Regularizer() = default;  // none
  Regularizer(const char* name) : Regularizer(std::string(name)) {}
  Regularizer(const std::string& name);  // ValueError lists the names
  Regularizer(double l1, double l2) : l1_(l1), l2_(l2) {}

  explicit operator bool() const { return l1_ != 0 || l2_ != 0; }
  double l1() const { return l1_; }
  double l2() const { return l2_; }
  Value operator()(const Value& weight) const;  // a float32 scalar

 private:
  double l1_ = 0, l2_ = 0;
};

inline Regularizer L1(double factor = 0.01) { return {factor, 0}; }
inline Regularizer L2(double factor = 0.01) { return {0, factor}; }
inline Regularizer L1L2(double l1 = 0.01, double l2 = 0.01) { return {l1, l2}; }

}  // namespace stoker
