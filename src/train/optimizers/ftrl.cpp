// Ftrl: follow the regularised leader.
#include <stoker/ops.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

Fields<FtrlOptions> ftrl_fields() {
  using C = FtrlOptions;
  constexpr Check not_positive = between(-1e30, 0).saying("at most 0");
  return {{"learning_rate_power", &C::learning_rate_power, not_positive},
          {"initial_accumulator_value", &C::initial_accumulator_value, at_least(0)},
          {"l1_regularization_strength", &C::l1_regularization_strength, at_least(0)},
          {"l2_regularization_strength", &C::l2_regularization_strength, at_least(0)},
          {"l2_shrinkage_regularization_strength", &C::l2_shrinkage_regularization_strength,
           at_least(0)},
          {"beta", &C::beta}};
}

std::vector<OptimizerSlot> ftrl_slots(const Variable&, const Attrs& options) {
  return {{"accumulator", options.get<double>("initial_accumulator_value")}, {"linear"}};
}

RuleOutput ftrl(const RuleInput& at) {
  auto option = [&](const char* name) { return at.options.get<double>(name); };
  double power = -option("learning_rate_power"), l1 = option("l1_regularization_strength");
  auto raised = [&](const Value& x) { return power == 0.5 ? ops::sqrt(x) : ops::pow(x, power); };
  Value shrunk = at.gradient;
  if (double shrinkage = option("l2_shrinkage_regularization_strength"); shrinkage > 0)
    shrunk = shrunk + at.parameter * (2 * shrinkage);
  Value sum = at.slots[0] + ops::square(at.gradient), root = raised(sum);
  Value linear =
      at.slots[1] + shrunk - (root - raised(at.slots[0])) / at.learning_rate * at.parameter;
  Value quadratic =
      (root + option("beta")) / at.learning_rate + 2 * option("l2_regularization_strength");
  return {(ops::clip(linear, -l1, l1) - linear) / quadratic, {sum, linear}};
}

}  // namespace

OptimizerKind ftrl_kind() {
  return optimizer_kind({.kind = "Ftrl", .slots = {ftrl_slots}, .update = ftrl}, ftrl_fields());
}

Ftrl::Ftrl(const FtrlOptions& options)
    : Optimizer(from_config("Ftrl", optimizer_fields(ftrl_fields()).write(options),
                            options.learning_rate)) {}

}  // namespace stoker
