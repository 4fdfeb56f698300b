// The kinds of losses. A kind is a struct of its options with its names, its rows and its formula:
//
//   struct HuberLoss {
//     double delta = 1.0;
//     static constexpr KindNames kNames = {"Huber", "huber"};
//     static constexpr TargetKind kTarget = TargetKind::elementwise;
//     std::string reduction = kMeanReduction;
//     static Fields<HuberLoss> fields() { return {{"delta", &HuberLoss::delta, above(0)}}; }
//     Value operator()(const Value& y_true, const Value& y_pred) const { … }
//   };
//   Loss Huber(double delta) { return made_loss(HuberLoss{delta}); }
//
// The formula gives float32, not averaged: crossentropies over classes one value per class id
// ([B, ..]), the others one per predicted value ([B, .., C]). `y_true` may have any numeric dtype and
// the shapes that targets.h allows. A kind with `static constexpr bool kReduced = true` gives its
// losses as they are: nothing is averaged but by the reduction. One with an `int64_t axis` finds that
// axis last. A mask on the result (nn/masks.h) says which elements count.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <vector>

#include <stoker/losses.h>

#include "base/fields.h"
#include "nn/names.h"
#include "nn/targets.h"

namespace stoker {

inline constexpr const char* kMeanReduction = "sum_over_batch_size";

struct LossKind {
  KindNames names;
  TargetKind target;
  bool averages;                                   // the last axis
  std::function<void(const Attrs& config)> check;  // ValueError
  std::function<Value(const Attrs& config, const Value& y_true, const Value& y_pred)> values;
  std::function<std::vector<FieldText>()> fields;
};

// In the order in which errors list them.
const std::vector<LossKind>& loss_kinds();
inline constexpr Check kReductions =
    one_of({kMeanReduction, "mean", "sum", "mean_with_sample_weight", "none"});

// A kind's own rows, and the reduction that all have.
template <class Kind>
Fields<Kind> loss_fields() {
  return Kind::fields().then(
      {{"reduction", &Kind::reduction, {.check = kReductions, .sparse = true}}});
}

template <class Kind>
Kind loss_options(const Attrs& config) {
  return loss_fields<Kind>().made(std::string(Kind::kNames.kind), config);
}

template <class Kind>
concept HasClassAxis = requires(Kind kind) {
  requires std::same_as<decltype(kind.axis), int64_t>;
};

// Both with this axis of the predictions last; targets without it, as class ids, stay as they are.
// ValueError for the batch's axis and for one that there is not.
struct LossPair {
  Value y_true, y_pred;
};
LossPair with_axis_last(std::string_view who, int64_t axis, const Value& y_true,
                        const Value& y_pred);

template <class Kind>
Value loss_values(const Attrs& config, const Value& y_true, const Value& y_pred) {
  auto kind = loss_options<Kind>(config);
  if constexpr (HasClassAxis<Kind>) {
    LossPair pair = with_axis_last(Kind::kNames.name, kind.axis, y_true, y_pred);
    return kind(pair.y_true, pair.y_pred);
  } else {
    return kind(y_true, y_pred);
  }
}

template <class Kind>
LossKind loss_kind() {
  return {.names = Kind::kNames,
          .target = Kind::kTarget,
          .averages = Kind::kTarget == TargetKind::elementwise && !requires {Kind::kReduced;
}
, .check = [](const Attrs& config) { loss_options<Kind>(config); }, .values = loss_values<Kind>,
  .fields = [] { return loss_fields<Kind>().text(); }
};  // namespace stoker
}

template <class Kind>
Loss made_loss(const Kind& options) {
  return {std::string(Kind::kNames.kind), loss_fields<Kind>().write(options)};
}

// One family per file.
void add_crossentropies(std::vector<LossKind>& kinds);
void add_regression_losses(std::vector<LossKind>& kinds);
void add_focal_losses(std::vector<LossKind>& kinds);
void add_probability_losses(std::vector<LossKind>& kinds);
void add_margin_losses(std::vector<LossKind>& kinds);
void add_overlap_losses(std::vector<LossKind>& kinds);
void add_circle_loss(std::vector<LossKind>& kinds);
void add_ctc_loss(std::vector<LossKind>& kinds);

}  // namespace stoker
