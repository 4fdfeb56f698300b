// Nadam: Adam with Nesterov's momentum, on Dozat's schedule.
#include <stoker/ops.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

Fields<NadamOptions> nadam_fields() {
  return {{"beta_1", &NadamOptions::beta_1, in_half_open(0, 1)},
          {"beta_2", &NadamOptions::beta_2, in_half_open(0, 1)},
          {"epsilon", &NadamOptions::epsilon, above(0)}};
}

// The product of all momenta so far is one number, kept beside every parameter.
std::vector<OptimizerSlot> nadam_slots(const Variable&, const Attrs&) {
  return {{"momentum"}, {"velocity"}, {"u_product", 1.0, Shape()}};
}

RuleOutput nadam(const RuleInput& at) {
  auto beta_2 = at.options.get<double>("beta_2"), epsilon = at.options.get<double>("epsilon");
  Value t = ops::cast(at.iterations, DType::float32) + 1.0;
  auto momentum_at = [&](const Value& step) {
    constexpr double kDecay = 0.96;
    return at.momentum * (1.0 - ops::pow(kDecay, step) * 0.5);
  };
  Value now = momentum_at(t), next = momentum_at(t + 1.0);
  Value product = at.slots[2] * now, next_product = product * next;
  const Value& g = at.gradient;
  Value m = at.slots[0] + (g - at.slots[0]) * one_minus(at.momentum);
  Value v = at.slots[1] + (ops::square(g) - at.slots[1]) * (1 - beta_2);
  Value m_hat = next * m / (1.0 - next_product) + (1.0 - now) * g / (1.0 - product);
  Value v_hat = v / one_minus_power(beta_2, t);
  return {at.parameter - at.learning_rate * m_hat / (ops::sqrt(v_hat) + epsilon), {m, v, product}};
}

}  // namespace

OptimizerKind nadam_kind() {
  return optimizer_kind(
      {.kind = "Nadam", .slots = {nadam_slots}, .update = nadam, .momentum = "beta_1"},
      nadam_fields());
}

Nadam::Nadam(const NadamOptions& options)
    : Optimizer(from_config("Nadam", optimizer_fields(nadam_fields()).write(options),
                            options.learning_rate)) {}

}  // namespace stoker
