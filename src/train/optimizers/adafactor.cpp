// Adafactor: of a matrix's mean squares only those of rows and columns are kept.
#include <stoker/ops.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

namespace {

Fields<AdafactorOptions> adafactor_fields() {
  using C = AdafactorOptions;
  return {{"beta_2_decay", &C::beta_2_decay},
          {"epsilon_1", &C::epsilon_1, above(0)},
          {"epsilon_2", &C::epsilon_2, above(0)},
          {"clip_threshold", &C::clip_threshold, above(0)},
          {"relative_step", &C::relative_step}};
}

// The last two axes are the matrix.
std::vector<OptimizerSlot> adafactor_slots(const Variable& parameter, const Attrs&) {
  const Shape& shape = parameter.shape();
  if (shape.rank() < 2) return {{"velocity"}};
  Ints rows(shape.begin(), shape.end() - 1), columns(shape.begin(), shape.end() - 2);
  columns.push_back(shape[-1]);
  return {{"rows", 0.0, Shape(rows)}, {"columns", 0.0, Shape(columns)}};
}

Value root_mean_square(const Value& x) { return ops::sqrt(ops::mean(ops::square(x))); }

RuleOutput adafactor(const RuleInput& at) {
  auto option = [&](const char* name) { return at.options.get<double>(name); };
  Value t = ops::cast(at.iterations, DType::float32) + 1.0;
  Value step = ops::maximum(root_mean_square(at.parameter), option("epsilon_2")) *
               ops::minimum(at.learning_rate, ops::rsqrt(t));
  Value fresh = ops::pow(t, option("beta_2_decay"));  // 1 - beta_2
  Value squares = ops::square(at.gradient) + option("epsilon_1");
  auto averaged = [&](const Value& before, const Value& now) {
    return before * (1.0 - fresh) + now * fresh;
  };
  Values next;
  Value velocity;
  if (at.slots.size() == 1) {
    velocity = averaged(at.slots[0], squares);
    next = {velocity};
  } else {
    next = {averaged(at.slots[0], ops::mean(squares, {.axes = {-1}})),
            averaged(at.slots[1], ops::mean(squares, {.axes = {-2}}))};
    Value rows = next[0] / ops::mean(next[0], {.axes = {-1}, .keepdims = true});
    velocity = ops::expand_dims(rows, -1) * ops::expand_dims(next[1], -2);
  }
  Value update = at.gradient / ops::sqrt(velocity);
  update = update / ops::maximum(root_mean_square(update) / option("clip_threshold"), 1.0);
  return {at.parameter - step * update, next};
}

}  // namespace

OptimizerKind adafactor_kind() {
  return optimizer_kind({.kind = "Adafactor", .slots = {adafactor_slots}, .update = adafactor},
                        adafactor_fields());
}

Adafactor::Adafactor(const AdafactorOptions& options)
    : Optimizer(from_config("Adafactor", optimizer_fields(adafactor_fields()).write(options),
                            options.learning_rate)) {}

}  // namespace stoker
