// Adadelta: steps as long as the steps before, by the sizes of the gradients.
#include <stoker/ops.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

Fields<AdadeltaOptions> adadelta_fields() {
  return {{"rho", &AdadeltaOptions::rho, in_half_open(0, 1)},
          {"epsilon", &AdadeltaOptions::epsilon, above(0)}};
}

RuleOutput adadelta(const RuleInput& at) {
  auto rho = at.options.get<double>("rho"), epsilon = at.options.get<double>("epsilon");
  auto root = [&](const Value& x) { return ops::sqrt(x + epsilon); };
  Value gradients = at.slots[0] * rho + ops::square(at.gradient) * (1 - rho);
  Value step = -(root(at.slots[1]) * at.gradient / root(gradients));
  Value steps = at.slots[1] * rho + ops::square(step) * (1 - rho);
  return {at.parameter + at.learning_rate * step, {gradients, steps}};
}

}  // namespace

OptimizerKind adadelta_kind() {
  return optimizer_kind({.kind = "Adadelta",
                         .slots = {{"accumulated_grad"}, {"accumulated_delta_var"}},
                         .update = adadelta},
                        adadelta_fields());
}

Adadelta::Adadelta(const AdadeltaOptions& options)
    : Optimizer(from_config("Adadelta", optimizer_fields(adadelta_fields()).write(options),
                            options.learning_rate)) {}

}  // namespace stoker
