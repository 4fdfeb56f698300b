// SGD, with momentum and Nesterov's.
#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

Fields<SGDOptions> sgd_fields() {
  return {{"momentum", &SGDOptions::momentum, in_half_open(0, 1)},
          {"nesterov", &SGDOptions::nesterov}};
}

std::vector<OptimizerSlot> sgd_slots(const Variable&, const Attrs& options) {
  if (options.get<double>("momentum") == 0) return {};
  return {{"momentum"}};
}

RuleOutput sgd(const RuleInput& at) {
  Value step = -(at.learning_rate * at.gradient);
  if (at.slots.empty()) return {at.parameter + step};
  Value moved = at.momentum * at.slots[0] + step;
  bool nesterov = at.options.get<bool>("nesterov");
  return {at.parameter + (nesterov ? at.momentum * moved + step : moved), {moved}};
}

}  // namespace

OptimizerKind sgd_kind() {
  OptimizerKind kind = optimizer_kind(
      {.kind = "SGD", .slots = {sgd_slots}, .update = sgd, .momentum = "momentum"}, sgd_fields());
  kind.fused = "sgd_update";
  return kind;
}

SGD::SGD(const SGDOptions& options)
    : Optimizer(from_config("SGD", optimizer_fields(sgd_fields()).write(options),
                            options.learning_rate)) {}

}  // namespace stoker
