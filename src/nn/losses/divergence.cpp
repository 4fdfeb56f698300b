// KLDivergence and Poisson: how unlikely the targets are under what is predicted.
#include <stoker/ops.h>

#include "nn/losses/loss_kind.h"
#include "nn/losses/probabilities.h"

namespace stoker {

namespace {

struct DivergenceLoss : LossOptions {
  static constexpr KindNames kNames = {"KLDivergence", "kl_divergence", "kld"};
  static constexpr TargetKind kTarget = TargetKind::class_shares;
  static Fields<DivergenceLoss> fields() { return {}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value shares = as_targets(kTarget, std::string(kNames.name), y_true, y_pred);
    Value actual = ops::clip(shares, kEpsilon, 1);
    Value predicted = ops::clip(cast_to(y_pred, DType::float32), kEpsilon, 1);
    return ops::sum(actual * ops::log(actual / predicted), {.axes = {-1}});
  }
};

struct PoissonLoss : LossOptions {
  static constexpr KindNames kNames = {"Poisson", "poisson"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static Fields<PoissonLoss> fields() { return {}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value rate = cast_to(y_pred, DType::float32);
    Value counts = as_targets(kTarget, std::string(kNames.name), y_true, rate);
    return rate - counts * ops::log(rate + kEpsilon);
  }
};

}  // namespace

Loss KLDivergence(const LossOptions& options) { return made_loss(DivergenceLoss{options}); }
Loss Poisson(const LossOptions& options) { return made_loss(PoissonLoss{options}); }

Value kl_divergence(const Value& y_true, const Value& y_pred) {
  return KLDivergence()(y_true, y_pred);
}
Value poisson(const Value& y_true, const Value& y_pred) { return Poisson()(y_true, y_pred); }

void add_probability_losses(std::vector<LossKind>& kinds) {
  kinds.push_back(loss_kind<DivergenceLoss>());
  kinds.push_back(loss_kind<PoissonLoss>());
}

}  // namespace stoker
