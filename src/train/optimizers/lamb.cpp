// Lamb: Adam whose steps are as long as the parameter is large.
#include <stoker/ops.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

Fields<LambOptions> lamb_fields() {
  return {{"beta_1", &LambOptions::beta_1, in_half_open(0, 1)},
          {"beta_2", &LambOptions::beta_2, in_half_open(0, 1)},
          {"epsilon", &LambOptions::epsilon, above(0)}};
}

Value norm_of(const Value& x) { return ops::sqrt(ops::sum(ops::square(x))); }

// 1 where either is 0.
Value trust_ratio(const Value& parameter, const Value& update) {
  Value whole = norm_of(parameter), step = norm_of(update);
  Value none = ops::equal(ops::minimum(whole, step), 0.0);
  return ops::where(none, 1.0, whole / ops::where(none, 1.0, step));
}

RuleOutput lamb(const RuleInput& at) {
  auto beta_2 = at.options.get<double>("beta_2"), epsilon = at.options.get<double>("epsilon");
  Value t = ops::cast(at.iterations, DType::float32) + 1.0;
  const Value& g = at.gradient;
  Value m = at.slots[0] + (g - at.slots[0]) * one_minus(at.momentum);
  Value v = at.slots[1] + (ops::square(g) - at.slots[1]) * (1 - beta_2);
  Value m_hat = m / one_minus_power(at.momentum, t);
  Value update = m_hat / (ops::sqrt(v / one_minus_power(beta_2, t)) + epsilon);
  Value rate = trust_ratio(at.parameter, update) * at.learning_rate;
  return {at.parameter - rate * update, {m, v}};
}

}  // namespace

OptimizerKind lamb_kind() {
  return optimizer_kind(
      {.kind = "Lamb", .slots = {{"momentum"}, {"velocity"}}, .update = lamb, .momentum = "beta_1"},
      lamb_fields());
}

Lamb::Lamb(const LambOptions& options)
    : Optimizer(from_config("Lamb", optimizer_fields(lamb_fields()).write(options),
                            options.learning_rate)) {}

}  // namespace stoker
