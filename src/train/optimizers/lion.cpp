// Lion: steps of one length, in the direction of the sign of a momentum.
#include <limits>

#include <stoker/ops.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

Fields<LionOptions> lion_fields() {
  constexpr Check not_zero = between(std::numeric_limits<double>::min(), 1)
                                 .saying("above 0, which would be SignSGD, and at most 1");
  return {{"beta_1", &LionOptions::beta_1, not_zero},
          {"beta_2", &LionOptions::beta_2, between(0, 1)}};
}

RuleOutput lion(const RuleInput& at) {
  auto beta_2 = at.options.get<double>("beta_2");
  const Value &g = at.gradient, &m = at.slots[0];
  Value direction = ops::sign(m * at.momentum + g * one_minus(at.momentum));
  return {at.parameter - at.learning_rate * direction, {m * beta_2 + g * (1 - beta_2)}};
}

}  // namespace

OptimizerKind lion_kind() {
  return optimizer_kind(
      {.kind = "Lion", .slots = {{"momentum"}}, .update = lion, .momentum = "beta_1"},
      lion_fields());
}

Lion::Lion(const LionOptions& options)
    : Optimizer(from_config("Lion", optimizer_fields(lion_fields()).write(options),
                            options.learning_rate)) {}

}  // namespace stoker
