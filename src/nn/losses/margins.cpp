// Hinge, SquaredHinge, CategoricalHinge.
#include <stoker/ops.h>

#include "nn/losses/loss_kind.h"
#include "nn/masks.h"

namespace stoker {

namespace {

// Keras's rule: targets that are all 0 or 1 become -1 or 1.
Value signs(const Value& targets) {
  Value is_bit = either(ops::equal(targets, 0.0), ops::equal(targets, 1.0));
  Value all_bits = ops::min(cast_to(is_bit, DType::float32));
  return targets + (targets - 1.0) * all_bits;
}

Value shortfall(std::string_view who, const Value& y_true, const Value& y_pred) {
  Value predicted = cast_to(y_pred, DType::float32);
  Value targets = as_targets(TargetKind::elementwise, std::string(who), y_true, predicted);
  return ops::maximum(1.0 - signs(targets) * predicted, 0.0);
}

struct HingeLoss : LossOptions {
  static constexpr KindNames kNames = {"Hinge", "hinge"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static Fields<HingeLoss> fields() { return {}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    return shortfall(kNames.name, y_true, y_pred);
  }
};

struct SquaredHingeLoss : LossOptions {
  static constexpr KindNames kNames = {"SquaredHinge", "squared_hinge"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static Fields<SquaredHingeLoss> fields() { return {}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    return ops::square(shortfall(kNames.name, y_true, y_pred));
  }
};

struct CategoricalHingeLoss : LossOptions {
  static constexpr KindNames kNames = {"CategoricalHinge", "categorical_hinge"};
  static constexpr TargetKind kTarget = TargetKind::class_shares;
  static Fields<CategoricalHingeLoss> fields() { return {}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value shares = as_targets(kTarget, std::string(kNames.name), y_true, y_pred);
    Value predicted = cast_to(y_pred, DType::float32);
    Value right = ops::sum(shares * predicted, {.axes = {-1}});
    Value best_wrong = ops::max((1.0 - shares) * predicted, {.axes = {-1}});
    return ops::maximum(best_wrong - right + 1.0, 0.0);
  }
};

}  // namespace

Loss Hinge(const LossOptions& options) { return made_loss(HingeLoss{options}); }
Loss SquaredHinge(const LossOptions& options) { return made_loss(SquaredHingeLoss{options}); }
Loss CategoricalHinge(const LossOptions& options) {
  return made_loss(CategoricalHingeLoss{options});
}

Value hinge(const Value& y_true, const Value& y_pred) { return Hinge()(y_true, y_pred); }
Value squared_hinge(const Value& y_true, const Value& y_pred) {
  return SquaredHinge()(y_true, y_pred);
}
Value categorical_hinge(const Value& y_true, const Value& y_pred) {
  return CategoricalHinge()(y_true, y_pred);
}

void add_margin_losses(std::vector<LossKind>& kinds) {
  kinds.push_back(loss_kind<HingeLoss>());
  kinds.push_back(loss_kind<SquaredHingeLoss>());
  kinds.push_back(loss_kind<CategoricalHingeLoss>());
}

}  // namespace stoker
