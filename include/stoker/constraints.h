// Constraints on weights, by Keras's names and defaults: the optimiser's step puts each weight back
// inside its constraint right after the update.
//
//   Dense(10, {.kernel_constraint = MaxNorm(2)})
//
// A Constraint is a value; its name is one too ("max_norm", "non_neg", "unit_norm",
// "min_max_norm"), and so is any function of ops that keeps the weight's shape. A layer with a
// function is passed to load_model by its name.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/value.h>

namespace stoker {

class Constraint {
 public:
  Constraint() = default;  // none
  Constraint(const char* name) : Constraint(std::string(name)) {}
  Constraint(const std::string& name);  // Keras's defaults; ValueError lists the names
  Constraint(const std::string& kind, Attrs config);  // ValueError for an unknown option or value
  template <class F, class = std::enable_if_t<std::is_invocable_r_v<Value, const F&, const Value&>>>
  Constraint(F function) : kind_(kCustom), function_(std::move(function)) {}

  explicit operator bool() const { return !kind_.empty(); }
  Value operator()(const Value& weight) const;       // of the weight's spec; ShapeError otherwise
  const std::string& kind() const { return kind_; }  // "MaxNorm"; "": none
  const Attrs& config() const { return config_; }
  static constexpr const char* kCustom = "<function>";

 private:
  std::string kind_;
  Attrs config_;
  std::function<Value(const Value&)> function_;
};

// Norms are taken over `axis`: 0 for the weights that lead to a unit of Dense, {0, 1, 2} for a
// filter of Conv2D.
struct MaxNormOptions {
  std::vector<int64_t> axis = {0};
};
// Norms above max_value are scaled down to it.
Constraint MaxNorm(double max_value = 2.0, const MaxNormOptions& options = {});
Constraint NonNeg();  // negative weights become 0
struct UnitNormOptions {
  std::vector<int64_t> axis = {0};
};
Constraint UnitNorm(const UnitNormOptions& options = {});  // every norm becomes 1
struct MinMaxNormOptions {
  double min_value = 0.0;
  double max_value = 1.0;
  double rate = 1.0;  // how much of the way a norm outside goes in one step
  std::vector<int64_t> axis = {0};
};
Constraint MinMaxNorm(const MinMaxNormOptions& options = {});

}  // namespace stoker
