// ScheduleFreeAdamW: gradients are taken between a fast sequence and the average of it.
#include <stoker/ops.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

Fields<ScheduleFreeAdamWOptions> schedule_free_fields() {
  using C = ScheduleFreeAdamWOptions;
  return {{"beta_1", &C::beta_1, in_open(0, 1)},
          {"beta_2", &C::beta_2, in_half_open(0, 1)},
          {"epsilon", &C::epsilon, above(0)},
          {"warmup_steps", &C::warmup_steps, at_least(0)}};
}

RuleOutput schedule_free(const RuleInput& at) {
  auto option = [&](const char* name) { return at.options.get<double>(name); };
  double beta_1 = option("beta_1"), beta_2 = option("beta_2");
  auto warmup = double(at.options.get<int64_t>("warmup_steps"));
  Value t = ops::cast(at.iterations, DType::float32) + 1.0;
  Value rate = at.learning_rate;
  if (warmup > 0) rate = rate * ops::minimum(t / warmup, 1.0);
  const Value& g = at.gradient;
  // The fast sequence begins where the parameter does.
  Value fast = ops::where(ops::equal(at.iterations, 0.0), Value(at.variable), at.slots[0]);
  Value v = at.slots[1] + (ops::square(g) - at.slots[1]) * (1 - beta_2);
  Value step = rate * g / (ops::sqrt(v / one_minus_power(beta_2, t)) + option("epsilon"));
  Value next = fast - step;
  Value average = (at.parameter - fast * (1 - beta_1)) / beta_1;
  Value share = ops::reciprocal(t);
  average = average * (1.0 - share) + next * share;
  return {next * (1 - beta_1) + average * beta_1, {next, v}};
}

}  // namespace

OptimizerKind schedule_free_kind() {
  return optimizer_kind(
      {.kind = "ScheduleFreeAdamW", .slots = {{"momentum"}, {"velocity"}}, .update = schedule_free},
      schedule_free_fields());
}

ScheduleFreeAdamW::ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& options)
    : Optimizer(from_config("ScheduleFreeAdamW",
                            optimizer_fields(schedule_free_fields()).write(options),
                            options.learning_rate)) {}

}  // namespace stoker
