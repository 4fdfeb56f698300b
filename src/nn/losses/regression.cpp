// Errors of predicted numbers: MeanSquaredError and its kin, LogCosh, Huber, CosineSimilarity.
#include <numbers>

#include <stoker/ops.h>

#include "nn/losses/loss_kind.h"
#include "nn/losses/probabilities.h"
#include "nn/unit_length.h"

namespace stoker {

namespace {

struct ErrorPair {
  Value actual, predicted;  // float32, of one shape
  Value difference() const { return predicted - actual; }
};
ErrorPair error_pair(std::string_view who, const Value& y_true, const Value& y_pred) {
  Value predicted = cast_to(y_pred, DType::float32);
  return {as_targets(TargetKind::elementwise, std::string(who), y_true, predicted), predicted};
}

template <class Kind>
struct ElementLoss : LossOptions {
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static Fields<Kind> fields() { return {}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    return Kind::of(error_pair(Kind::kNames.name, y_true, y_pred));
  }
};

struct SquaredLoss : ElementLoss<SquaredLoss> {
  static constexpr KindNames kNames = {"MeanSquaredError", "mean_squared_error", "mse"};
  static Value of(const ErrorPair& pair) { return ops::square(pair.difference()); }
};

struct AbsoluteLoss : ElementLoss<AbsoluteLoss> {
  static constexpr KindNames kNames = {"MeanAbsoluteError", "mean_absolute_error", "mae"};
  static Value of(const ErrorPair& pair) { return ops::abs(pair.difference()); }
};

struct PercentageLoss : ElementLoss<PercentageLoss> {
  static constexpr KindNames kNames = {"MeanAbsolutePercentageError",
                                       "mean_absolute_percentage_error", "mape"};
  static Value of(const ErrorPair& pair) {
    return ops::abs(pair.difference() / ops::maximum(ops::abs(pair.actual), kEpsilon)) * 100.0;
  }
};

struct LogarithmicLoss : ElementLoss<LogarithmicLoss> {
  static constexpr KindNames kNames = {"MeanSquaredLogarithmicError",
                                       "mean_squared_logarithmic_error", "msle"};
  static Value of(const ErrorPair& pair) {
    auto logarithm = [](const Value& x) { return ops::log(ops::maximum(x, kEpsilon) + 1.0); };
    return ops::square(logarithm(pair.predicted) - logarithm(pair.actual));
  }
};

struct LogCoshLoss : ElementLoss<LogCoshLoss> {
  static constexpr KindNames kNames = {"LogCosh", "log_cosh", "logcosh"};
  static Value of(const ErrorPair& pair) {
    Value x = pair.difference();
    return x + ops::softplus(x * -2.0) - std::numbers::ln2;
  }
};

struct HuberLoss {
  double delta = 1.0;
  std::string reduction = kMeanReduction;
  static constexpr KindNames kNames = {"Huber", "huber"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static Fields<HuberLoss> fields() { return {{"delta", &HuberLoss::delta, above(0)}}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value error = ops::abs(error_pair(kNames.name, y_true, y_pred).difference());
    Value inside = ops::square(error) * 0.5;
    Value outside = error * delta - 0.5 * delta * delta;
    return ops::where(ops::less_equal(error, delta), inside, outside);
  }
};

struct CosineLoss : CosineSimilarityOptions {
  static constexpr KindNames kNames = {"CosineSimilarity", "cosine_similarity"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static constexpr bool kReduced = true;
  static Fields<CosineLoss> fields() { return {{"axis", &CosineLoss::axis, {.sparse = true}}}; }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    ErrorPair pair = error_pair(kNames.name, y_true, y_pred);
    return -ops::sum(unit_length(pair.actual, -1) * unit_length(pair.predicted, -1),
                     {.axes = {-1}});
  }
};

}  // namespace

Loss MeanSquaredError(const LossOptions& options) { return made_loss(SquaredLoss{{options}}); }
Loss MeanAbsoluteError(const LossOptions& options) { return made_loss(AbsoluteLoss{{options}}); }
Loss MeanAbsolutePercentageError(const LossOptions& options) {
  return made_loss(PercentageLoss{{options}});
}
Loss MeanSquaredLogarithmicError(const LossOptions& options) {
  return made_loss(LogarithmicLoss{{options}});
}
Loss LogCosh(const LossOptions& options) { return made_loss(LogCoshLoss{{options}}); }
Loss Huber(double delta, const LossOptions& options) {
  return made_loss(HuberLoss{delta, options.reduction});
}
Loss CosineSimilarity(const CosineSimilarityOptions& options) {
  return made_loss(CosineLoss{options});
}

Value mean_squared_error(const Value& y_true, const Value& y_pred) {
  return MeanSquaredError()(y_true, y_pred);
}
Value mean_absolute_error(const Value& y_true, const Value& y_pred) {
  return MeanAbsoluteError()(y_true, y_pred);
}
Value mean_absolute_percentage_error(const Value& y_true, const Value& y_pred) {
  return MeanAbsolutePercentageError()(y_true, y_pred);
}
Value mean_squared_logarithmic_error(const Value& y_true, const Value& y_pred) {
  return MeanSquaredLogarithmicError()(y_true, y_pred);
}
Value log_cosh(const Value& y_true, const Value& y_pred) { return LogCosh()(y_true, y_pred); }
Value huber(const Value& y_true, const Value& y_pred, double delta) {
  return Huber(delta)(y_true, y_pred);
}
Value cosine_similarity(const Value& y_true, const Value& y_pred,
                        const CosineSimilarityOptions& options) {
  return CosineSimilarity(options)(y_true, y_pred);
}

void add_regression_losses(std::vector<LossKind>& kinds) {
  kinds.push_back(loss_kind<SquaredLoss>());
  kinds.push_back(loss_kind<AbsoluteLoss>());
  kinds.push_back(loss_kind<HuberLoss>());
  kinds.push_back(loss_kind<PercentageLoss>());
  kinds.push_back(loss_kind<LogarithmicLoss>());
  kinds.push_back(loss_kind<LogCoshLoss>());
  kinds.push_back(loss_kind<CosineLoss>());
}

}  // namespace stoker
