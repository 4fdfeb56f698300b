// The kinds of losses. A kind is a struct of its options with its names, its rows and its formula:
//
//   struct HuberLoss {
//     double delta = 1.0;
//     static constexpr KindNames kNames = {"Huber", "huber"};
//     static constexpr TargetKind kTarget = TargetKind::elementwise;
//     static Fields<HuberLoss> fields() { return {{"delta", &HuberLoss::delta, above(0)}}; }
//     Value operator()(const Value& y_true, const Value& y_pred) const { … }
//   };
//   Loss Huber(double delta) { return made_loss(HuberLoss{delta}); }
//
// The formula gives float32, not averaged: crossentropies over classes one value per class id
// ([B, ..]), the others one per predicted value ([B, .., C]). `y_true` may have any numeric dtype and
// the shapes that targets.h allows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <stoker/losses.h>

#include "base/fields.h"
#include "nn/names.h"
#include "nn/targets.h"

namespace stoker {

struct LossKind {
  KindNames names;
  TargetKind target;
  std::function<void(const Attrs& config)> check;  // ValueError
  std::function<Value(const Attrs& config, const Value& y_true, const Value& y_pred)> values;
  std::function<std::vector<FieldText>()> fields;
};

// In the order in which errors list them.
const std::vector<LossKind>& loss_kinds();
template <class Kind>
Kind loss_options(const Attrs& config) {
  return Kind::fields().made(std::string(Kind::kNames.kind), config);
}

template <class Kind>
LossKind loss_kind() {
  return {.names = Kind::kNames,
          .target = Kind::kTarget,
          .check = [](const Attrs& config) { loss_options<Kind>(config); },
          .values = [](const Attrs& config, const Value& y_true,
                       const Value& y_pred) { return loss_options<Kind>(config)(y_true, y_pred); },
          .fields = [] { return Kind::fields().text(); }};
}

template <class Kind>
Loss made_loss(const Kind& options) {
  return {std::string(Kind::kNames.kind), Kind::fields().write(options)};
}

// One family per file.
void add_crossentropies(std::vector<LossKind>& kinds);
void add_regression_losses(std::vector<LossKind>& kinds);

}  // namespace stoker
