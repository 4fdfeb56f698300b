// Dice and Tversky: 1 - the overlap of targets and predictions, for segmentation.
#include <stoker/ops.h>

#include "nn/losses/loss_kind.h"
#include "nn/losses/probabilities.h"

namespace stoker {

namespace {

struct OverlapPair {
  Value actual, predicted;
  Ints axis;  // empty: all
  Value total(const Value& x) const { return ops::sum(x, {.axes = axis}); }
};
OverlapPair overlap_pair(std::string_view who, const Value& y_true, const Value& y_pred,
                         const Ints& axis) {
  Value predicted = cast_to(y_pred, DType::float32);
  return {as_targets(TargetKind::elementwise, std::string(who), y_true, predicted), predicted,
          axis};
}

struct DiceLoss : DiceOptions {
  static constexpr KindNames kNames = {"Dice", "dice"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static constexpr bool kReduced = true;
  static Fields<DiceLoss> fields() { return {{"axis", &DiceLoss::axis, {.sparse = true}}}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    OverlapPair pair = overlap_pair(kNames.name, y_true, y_pred, axis);
    Value sizes = pair.total(pair.actual) + pair.total(pair.predicted) + kEpsilon;
    return 1.0 - pair.total(pair.actual * pair.predicted) * 2.0 / sizes;
  }
};

struct TverskyLoss : TverskyOptions {
  static constexpr KindNames kNames = {"Tversky", "tversky"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static constexpr bool kReduced = true;
  static Fields<TverskyLoss> fields() {
    return {{"alpha", &TverskyLoss::alpha, at_least(0)},
            {"beta", &TverskyLoss::beta, at_least(0)},
            {"axis", &TverskyLoss::axis, {.sparse = true}}};
  }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    OverlapPair pair = overlap_pair(kNames.name, y_true, y_pred, axis);
    Value common = pair.total(pair.actual * pair.predicted);
    Value missed = pair.total((1.0 - pair.predicted) * pair.actual);
    Value extra = pair.total(pair.predicted * (1.0 - pair.actual));
    return 1.0 - common / (common + missed * alpha + extra * beta + kEpsilon);
  }
};

}  // namespace

Loss Dice(const DiceOptions& options) { return made_loss(DiceLoss{options}); }
Loss Tversky(const TverskyOptions& options) { return made_loss(TverskyLoss{options}); }

Value dice(const Value& y_true, const Value& y_pred, const DiceOptions& options) {
  return Dice(options)(y_true, y_pred);
}
Value tversky(const Value& y_true, const Value& y_pred, const TverskyOptions& options) {
  return Tversky(options)(y_true, y_pred);
}

void add_overlap_losses(std::vector<LossKind>& kinds) {
  kinds.push_back(loss_kind<DiceLoss>());
  kinds.push_back(loss_kind<TverskyLoss>());
}

}  // namespace stoker
