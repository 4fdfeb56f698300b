// Adagrad: steps shrink with the squares of all gradients so far.
#include <stoker/ops.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

Fields<AdagradOptions> adagrad_fields() {
  return {{"initial_accumulator_value", &AdagradOptions::initial_accumulator_value, at_least(0)},
          {"epsilon", &AdagradOptions::epsilon, above(0)}};
}

std::vector<OptimizerSlot> adagrad_slots(const Variable&, const Attrs& options) {
  return {{"accumulator", options.get<double>("initial_accumulator_value")}};
}

RuleOutput adagrad(const RuleInput& at) {
  Value sum = at.slots[0] + ops::square(at.gradient);
  Value root = ops::sqrt(sum + at.options.get<double>("epsilon"));
  return {at.parameter - at.learning_rate * at.gradient / root, {sum}};
}

}  // namespace

OptimizerKind adagrad_kind() {
  return optimizer_kind({.kind = "Adagrad", .slots = {adagrad_slots}, .update = adagrad},
                        adagrad_fields());
}

Adagrad::Adagrad(const AdagradOptions& options)
    : Optimizer(from_config("Adagrad", optimizer_fields(adagrad_fields()).write(options),
                            options.learning_rate)) {}

}  // namespace stoker
