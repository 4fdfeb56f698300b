// Adam and AdamW, with AMSGrad. They differ in a default: AdamW decays weights.
#include <stoker/ops.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

template <class Options>
Fields<Options> adam_fields() {
  return {{"beta_1", &Options::beta_1, in_half_open(0, 1)},
          {"beta_2", &Options::beta_2, in_half_open(0, 1)},
          {"epsilon", &Options::epsilon, above(0)},
          {"amsgrad", &Options::amsgrad}};
}

std::vector<OptimizerSlot> adam_slots(const Variable&, const Attrs& options) {
  if (options.get<bool>("amsgrad")) return {{"momentum"}, {"velocity"}, {"velocity_hat"}};
  return {{"momentum"}, {"velocity"}};
}

RuleOutput adam(const RuleInput& at) {
  auto beta_2 = at.options.get<double>("beta_2"), epsilon = at.options.get<double>("epsilon");
  Value t = ops::cast(at.iterations, DType::float32) + 1.0;
  Value rate =
      at.learning_rate * ops::sqrt(one_minus_power(beta_2, t)) / one_minus_power(at.momentum, t);
  const Value &g = at.gradient, &m = at.slots[0], &v = at.slots[1];
  Value first = m + (g - m) * one_minus(at.momentum);
  Value second = v + (ops::square(g) - v) * (1 - beta_2);
  bool amsgrad = at.slots.size() > 2;
  Value most = amsgrad ? ops::maximum(at.slots[2], second) : second;
  return {at.parameter - rate * first / (ops::sqrt(most) + epsilon),
          amsgrad ? Values{first, second, most} : Values{first, second}};
}

template <class Options>
OptimizerKind adam_kind_of(const char* name) {
  OptimizerKind kind =
      optimizer_kind({.kind = name, .slots = {adam_slots}, .update = adam, .momentum = "beta_1"},
                     adam_fields<Options>());
  kind.fused = "adam_update";
  kind.fused_takes_iterations = true;
  return kind;
}

// "No decay" is a decay of 0 where the default is another.
AdamWOptions decided(AdamWOptions options) {
  options.weight_decay = options.weight_decay.value_or(0.0);
  return options;
}

}  // namespace

OptimizerKind adam_kind() { return adam_kind_of<AdamOptions>("Adam"); }
OptimizerKind adamw_kind() { return adam_kind_of<AdamWOptions>("AdamW"); }

Adam::Adam(const AdamOptions& options)
    : Optimizer(from_config("Adam", optimizer_fields(adam_fields<AdamOptions>()).write(options),
                            options.learning_rate)) {}

AdamW::AdamW(const AdamWOptions& options)
    : Optimizer(from_config("AdamW",
                            optimizer_fields(adam_fields<AdamWOptions>()).write(decided(options)),
                            options.learning_rate)) {}

}  // namespace stoker
