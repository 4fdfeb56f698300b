#include "nn/constraints.h"

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

namespace stoker {

namespace {

constexpr double kNormEpsilon = 1e-7;  // Keras's: keeps a norm of 0 from being divided by

Value norms_over(const Value& weight, const Ints& axis) {
  return ops::sqrt(ops::sum(ops::square(weight), {.axes = axis, .keepdims = true}));
}
Value scaled_to(const Value& weight, const Value& norms, const Value& wanted) {
  return weight * (wanted / (norms + kNormEpsilon));
}

struct MaxNormRule : MaxNormOptions {
  double max_value = 2.0;
  static constexpr KindNames kNames = {"MaxNorm", "max_norm"};
  static Fields<MaxNormRule> fields() {
    return {{"max_value", &MaxNormRule::max_value, at_least(0)}, {"axis", &MaxNormRule::axis}};
  }
  Value operator()(const Value& weight) const {
    Value norms = norms_over(weight, axis);
    return scaled_to(weight, norms, ops::clip(norms, 0, max_value));
  }
};

struct NonNegRule {
  static constexpr KindNames kNames = {"NonNeg", "non_neg"};
  static Fields<NonNegRule> fields() { return {}; }
  Value operator()(const Value& weight) const { return ops::maximum(weight, 0.0); }
};

struct UnitNormRule : UnitNormOptions {
  static constexpr KindNames kNames = {"UnitNorm", "unit_norm"};
  static Fields<UnitNormRule> fields() { return {{"axis", &UnitNormRule::axis}}; }
  Value operator()(const Value& weight) const {
    return weight / (norms_over(weight, axis) + kNormEpsilon);
  }
};

struct MinMaxNormRule : MinMaxNormOptions {
  static constexpr KindNames kNames = {"MinMaxNorm", "min_max_norm"};
  static Fields<MinMaxNormRule> fields() {
    using C = MinMaxNormRule;
    return {{"min_value", &C::min_value, at_least(0)},
            {"max_value", &C::max_value, at_least(0)},
            {"rate", &C::rate, between(0, 1)},
            {"axis", &C::axis}};
  }
  Value operator()(const Value& weight) const {
    Value norms = norms_over(weight, axis);
    Value inside = ops::clip(norms, min_value, max_value);
    return scaled_to(weight, norms, inside * rate + norms * (1 - rate));
  }
};

template <class Rule>
Rule rule_of(const Attrs& config) {
  return Rule::fields().made(std::string(Rule::kNames.kind), config);
}

template <class Rule>
ConstraintKind constraint_kind() {
  return {.names = Rule::kNames,
          .check = [](const Attrs& config) { rule_of<Rule>(config); },
          .apply = [](const Attrs& config,
                      const Value& weight) { return rule_of<Rule>(config)(weight); },
          .fields = [] { return Rule::fields().text(); }};
}

template <class Rule>
Constraint made_constraint(const Rule& rule) {
  return {std::string(Rule::kNames.kind), Rule::fields().write(rule)};
}

const ConstraintKind& known_constraint(const std::string& name) {
  if (const ConstraintKind* found = find_kind(constraint_kinds(), name)) return *found;
  if (name == Constraint::kCustom)
    throw ValueError(
        "this constraint was a C++ function, which is not in the file; pass its layer to "
        "load_model, by the layer's name in .custom_objects.layers");
  std::vector<std::string_view> names;
  add_names(names, constraint_kinds());
  throw ValueError(fmt::format("unknown constraint \"{}\"; there are {}", name, list_of(names)));
}

}  // namespace

const std::vector<ConstraintKind>& constraint_kinds() {
  static const std::vector<ConstraintKind> kinds = {
      constraint_kind<MaxNormRule>(), constraint_kind<NonNegRule>(),
      constraint_kind<UnitNormRule>(), constraint_kind<MinMaxNormRule>()};
  return kinds;
}

Constraint::Constraint(const std::string& name) : kind_(known_constraint(name).names.kind) {}

Constraint::Constraint(const std::string& kind, Attrs config)
    : kind_(known_constraint(kind).names.kind), config_(std::move(config)) {
  known_constraint(kind).check(config_);
}

Value Constraint::operator()(const Value& weight) const {
  if (kind_.empty()) return weight;
  Value inside = function_ ? function_(weight) : known_constraint(kind_).apply(config_, weight);
  if (!inside.defined() || inside.spec() != weight.spec())
    throw ShapeError(fmt::format("constraint {}: expected a result like the weight, {}, got {}",
                                 kind_, to_string(weight.spec()),
                                 inside.defined() ? to_string(inside.spec()) : "nothing"));
  return inside;
}

Constraint MaxNorm(double max_value, const MaxNormOptions& options) {
  return made_constraint(MaxNormRule{options, max_value});
}
Constraint NonNeg() { return made_constraint(NonNegRule()); }
Constraint UnitNorm(const UnitNormOptions& options) {
  return made_constraint(UnitNormRule{options});
}
Constraint MinMaxNorm(const MinMaxNormOptions& options) {
  return made_constraint(MinMaxNormRule{options});
}

}  // namespace stoker
