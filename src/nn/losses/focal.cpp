// BinaryFocalCrossentropy, CategoricalFocalCrossentropy, CategoricalGeneralizedCrossEntropy: losses
// that give easy or doubtful samples less weight.
#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "nn/logits.h"
#include "nn/losses/loss_kind.h"
#include "nn/losses/probabilities.h"

namespace stoker {

namespace {

// (1 - p)^gamma; rounding may put p above 1.
Value focus(const Value& p, double gamma) { return ops::pow(ops::maximum(1.0 - p, 0.0), gamma); }

struct BinaryFocalLoss : BinaryFocalCrossentropyOptions {
  static constexpr KindNames kNames = {"BinaryFocalCrossentropy", "binary_focal_crossentropy"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static Fields<BinaryFocalLoss> fields() {
    using C = BinaryFocalLoss;
    return {{"apply_class_balancing", &C::apply_class_balancing},
            {"alpha", &C::alpha, between(0, 1)},
            {"gamma", &C::gamma, at_least(0)},
            {"from_logits", &C::from_logits},
            {"label_smoothing", &C::label_smoothing, between(0, 1)},
            {"axis", &C::axis, {.sparse = true}}};
  }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value share = as_targets(kTarget, std::string(kNames.name), y_true, y_pred);
    share = smoothed(share, label_smoothing, 2);
    Value logits = from_logits ? y_pred : logits_behind_sigmoid(y_pred);
    Value p = cast_to(from_logits ? ops::sigmoid(y_pred) : y_pred, DType::float32);
    Value loss =
        logits.defined() ? ops::sigmoid_cross_entropy(logits, share) : binary_log_loss(share, p);
    loss = focus(share * p + (1.0 - share) * (1.0 - p), gamma) * loss;
    if (!apply_class_balancing) return loss;
    return (share * alpha + (1.0 - share) * (1 - alpha)) * loss;
  }
};

struct CategoricalFocalLoss : CategoricalFocalCrossentropyOptions {
  static constexpr KindNames kNames = {"CategoricalFocalCrossentropy",
                                       "categorical_focal_crossentropy"};
  static constexpr TargetKind kTarget = TargetKind::class_shares;
  static Fields<CategoricalFocalLoss> fields() {
    using C = CategoricalFocalLoss;
    return {{"alpha", &C::alpha, at_least(0)},
            {"gamma", &C::gamma, at_least(0)},
            {"from_logits", &C::from_logits},
            {"label_smoothing", &C::label_smoothing, between(0, 1)},
            {"axis", &C::axis, {.sparse = true}}};
  }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    int64_t classes = y_pred.shape()[-1];
    Value shares = as_targets(kTarget, std::string(kNames.name), y_true, y_pred);
    shares = smoothed(shares, label_smoothing, double(classes));
    Value p = class_probabilities(from_logits ? ops::softmax(y_pred) : y_pred);
    Value loss = -(shares * ops::log(p));
    return ops::sum(focus(p, gamma) * weight_of_classes(classes) * loss, {.axes = {-1}});
  }

 private:
  Value weight_of_classes(int64_t classes) const {
    if (alpha.size() == 1) return alpha[0];
    if (int64_t(alpha.size()) != classes)
      throw ValueError(
          fmt::format("{}: {} numbers in alpha for {} classes; expected one for all, "
                      "or one per class",
                      kNames.kind, alpha.size(), classes));
    return Tensor::from(std::vector<float>(alpha.begin(), alpha.end()), {classes});
  }
};

struct GeneralizedLoss {
  double q = 0.5;
  std::string reduction = kMeanReduction;
  static constexpr KindNames kNames = {"CategoricalGeneralizedCrossEntropy",
                                       "categorical_generalized_cross_entropy"};
  static constexpr TargetKind kTarget = TargetKind::class_ids;
  static Fields<GeneralizedLoss> fields() { return {{"q", &GeneralizedLoss::q, in_open(0, 1)}}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value ids = as_targets(kTarget, std::string(kNames.name), y_true, y_pred);
    int64_t classes = y_pred.shape()[-1];
    limit_class_ids(y_true, classes);
    Value p =
        ops::sum(cast_to(y_pred, DType::float32) * ops::one_hot(ids, classes), {.axes = {-1}});
    return (1.0 - ops::pow(p, q)) / q;
  }
};

}  // namespace

Loss BinaryFocalCrossentropy(const BinaryFocalCrossentropyOptions& options) {
  return made_loss(BinaryFocalLoss{options});
}
Loss CategoricalFocalCrossentropy(const CategoricalFocalCrossentropyOptions& options) {
  return made_loss(CategoricalFocalLoss{options});
}
Loss CategoricalGeneralizedCrossEntropy(double q, const LossOptions& options) {
  return made_loss(GeneralizedLoss{q, options.reduction});
}

Value binary_focal_crossentropy(const Value& y_true, const Value& y_pred,
                                const BinaryFocalCrossentropyOptions& options) {
  return BinaryFocalCrossentropy(options)(y_true, y_pred);
}
Value categorical_focal_crossentropy(const Value& y_true, const Value& y_pred,
                                     const CategoricalFocalCrossentropyOptions& options) {
  return CategoricalFocalCrossentropy(options)(y_true, y_pred);
}
Value categorical_generalized_cross_entropy(const Value& y_true, const Value& y_pred, double q) {
  return CategoricalGeneralizedCrossEntropy(q)(y_true, y_pred);
}

void add_focal_losses(std::vector<LossKind>& kinds) {
  kinds.push_back(loss_kind<BinaryFocalLoss>());
  kinds.push_back(loss_kind<CategoricalFocalLoss>());
  kinds.push_back(loss_kind<GeneralizedLoss>());
}

}  // namespace stoker
