// MeanSquaredError, MeanAbsoluteError, Huber.
#include <stoker/ops.h>

#include "nn/losses/loss_kind.h"

namespace stoker {

namespace {

Value difference(std::string_view who, const Value& y_true, const Value& y_pred) {
  Value prediction = cast_to(y_pred, DType::float32);
  return prediction - as_targets(TargetKind::elementwise, std::string(who), y_true, prediction);
}

struct SquaredLoss {
  static constexpr KindNames kNames = {"MeanSquaredError", "mean_squared_error", "mse"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static Fields<SquaredLoss> fields() { return {}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    return ops::square(difference(kNames.name, y_true, y_pred));
  }
};

struct AbsoluteLoss {
  static constexpr KindNames kNames = {"MeanAbsoluteError", "mean_absolute_error", "mae"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static Fields<AbsoluteLoss> fields() { return {}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    return ops::abs(difference(kNames.name, y_true, y_pred));
  }
};

struct HuberLoss {
  double delta = 1.0;
  static constexpr KindNames kNames = {"Huber", "huber"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static Fields<HuberLoss> fields() { return {{"delta", &HuberLoss::delta, above(0)}}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value error = ops::abs(difference(kNames.name, y_true, y_pred));
    Value inside = ops::square(error) * 0.5;
    Value outside = error * delta - 0.5 * delta * delta;
    return ops::where(ops::less_equal(error, delta), inside, outside);
  }
};

}  // namespace

Loss MeanSquaredError() { return made_loss(SquaredLoss()); }
Loss MeanAbsoluteError() { return made_loss(AbsoluteLoss()); }
Loss Huber(double delta) { return made_loss(HuberLoss{delta}); }

Value mean_squared_error(const Value& y_true, const Value& y_pred) {
  return MeanSquaredError()(y_true, y_pred);
}
Value mean_absolute_error(const Value& y_true, const Value& y_pred) {
  return MeanAbsoluteError()(y_true, y_pred);
}
Value huber(const Value& y_true, const Value& y_pred, double delta) {
  return Huber(delta)(y_true, y_pred);
}

void add_regression_losses(std::vector<LossKind>& kinds) {
  kinds.push_back(loss_kind<SquaredLoss>());
  kinds.push_back(loss_kind<AbsoluteLoss>());
  kinds.push_back(loss_kind<HuberLoss>());
}

}  // namespace stoker
