// RMSprop, plain or centered, with or without momentum.
#include <stoker/ops.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

Fields<RMSpropOptions> rmsprop_fields() {
  return {{"rho", &RMSpropOptions::rho, in_half_open(0, 1)},
          {"momentum", &RMSpropOptions::momentum, in_half_open(0, 1)},
          {"epsilon", &RMSpropOptions::epsilon, above(0)},
          {"centered", &RMSpropOptions::centered}};
}

std::vector<OptimizerSlot> rmsprop_slots(const Variable&, const Attrs& options) {
  std::vector<OptimizerSlot> slots = {{"velocity"}};
  if (options.get<bool>("centered")) slots.push_back({"average_gradient"});
  if (options.get<double>("momentum") > 0) slots.push_back({"momentum"});
  return slots;
}

RuleOutput rmsprop(const RuleInput& at) {
  auto rho = at.options.get<double>("rho"), epsilon = at.options.get<double>("epsilon");
  const Value& g = at.gradient;
  Values next = {at.slots[0] * rho + ops::square(g) * (1 - rho)};
  Value variance = next[0] + epsilon;
  if (at.options.get<bool>("centered")) {
    next.push_back(at.slots[1] * rho + g * (1 - rho));
    variance = variance - ops::square(next[1]);
  }
  Value step = at.learning_rate * g / ops::sqrt(variance);
  if (at.slots.size() > next.size()) {
    step = at.momentum * at.slots.back() + step;
    next.push_back(step);
  }
  return {at.parameter - step, next};
}

}  // namespace

OptimizerKind rmsprop_kind() {
  OptimizerKind kind = optimizer_kind(
      {.kind = "RMSprop", .slots = {rmsprop_slots}, .update = rmsprop, .momentum = "momentum"},
      rmsprop_fields());
  kind.fused = "rmsprop_update";
  return kind;
}

RMSprop::RMSprop(const RMSpropOptions& options)
    : Optimizer(from_config("RMSprop", optimizer_fields(rmsprop_fields()).write(options),
                            options.learning_rate)) {}

}  // namespace stoker
