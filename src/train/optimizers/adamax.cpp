// Adamax: Adam by the largest gradient, which fades, in place of the mean square.
#include <stoker/ops.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

Fields<AdamaxOptions> adamax_fields() {
  return {{"beta_1", &AdamaxOptions::beta_1, in_half_open(0, 1)},
          {"beta_2", &AdamaxOptions::beta_2, in_half_open(0, 1)},
          {"epsilon", &AdamaxOptions::epsilon, above(0)}};
}

RuleOutput adamax(const RuleInput& at) {
  auto beta_2 = at.options.get<double>("beta_2"), epsilon = at.options.get<double>("epsilon");
  Value t = ops::cast(at.iterations, DType::float32) + 1.0;
  Value m = at.slots[0] + (at.gradient - at.slots[0]) * one_minus(at.momentum);
  Value norm = ops::maximum(at.slots[1] * beta_2, ops::abs(at.gradient));
  Value rate = at.learning_rate / one_minus_power(at.momentum, t);
  return {at.parameter - rate * m / (norm + epsilon), {m, norm}};
}

}  // namespace

OptimizerKind adamax_kind() {
  return optimizer_kind(
      {.kind = "Adamax", .slots = {{"momentum"}, {"norm"}}, .update = adamax, .momentum = "beta_1"},
      adamax_fields());
}

Adamax::Adamax(const AdamaxOptions& options)
    : Optimizer(from_config("Adamax", optimizer_fields(adamax_fields()).write(options),
                            options.learning_rate)) {}

}  // namespace stoker
