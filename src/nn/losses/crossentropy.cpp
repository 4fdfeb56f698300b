// SparseCategoricalCrossentropy, CategoricalCrossentropy, BinaryCrossentropy.
#include <limits>

#include <stoker/ops.h>

#include "graph/graph.h"
#include "nn/logits.h"
#include "nn/losses/loss_kind.h"
#include "nn/losses/probabilities.h"
#include "nn/masks.h"

namespace stoker {

Value class_probabilities(const Value& y_pred) {
  Value p = cast_to(y_pred, DType::float32);
  Value sums = ops::sum(p, {.axes = {-1}, .keepdims = true});
  return ops::clip(p / sums, kEpsilon, 1 - kEpsilon);
}

Value binary_log_loss(const Value& share, const Value& probability) {
  Value p = ops::clip(cast_to(probability, DType::float32), kEpsilon, 1 - kEpsilon);
  Value log_likelihood = share * ops::log(p) + (1.0 - share) * ops::log(1.0 - p);
  return -log_likelihood;
}

Value smoothed(const Value& shares, double smoothing, double classes) {
  return smoothing == 0 ? shares : shares * (1 - smoothing) + smoothing / classes;
}

void limit_class_ids(const Value& y_true, int64_t classes) {
  if (y_true.traced()) y_true.traced()->graph->limit(y_true, {classes, "class id"});
}

namespace {

// log p of probabilities that need not sum to one exactly. y_pred: [.., C]
Value log_probabilities(const Value& y_pred) { return ops::log(class_probabilities(y_pred)); }

Value expected_log(const Value& shares, const Value& log_p) {
  return -ops::sum(shares * log_p, {.axes = {-1}});
}

struct SparseCategoricalLoss : SparseCrossentropyOptions {
  static constexpr KindNames kNames = {"SparseCategoricalCrossentropy",
                                       "sparse_categorical_crossentropy"};
  static constexpr TargetKind kTarget = TargetKind::class_ids;
  static Fields<SparseCategoricalLoss> fields() {
    using C = SparseCategoricalLoss;
    return {{"from_logits", &C::from_logits},
            {"ignore_class", &C::ignore_class},
            {"axis", &C::axis, {.sparse = true}}};
  }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value ids = as_targets(kTarget, std::string(kNames.name), y_true, y_pred);
    int64_t classes = y_pred.shape()[-1];
    if (!ignore_class) {
      limit_class_ids(y_true, classes);
      return of_ids(ids, y_pred);
    }
    // What is ignored is computed for class 0, which there always is, and then left out. The host
    // cannot refuse other ids that are none, so that their loss is NaN, which ends the training.
    Value counts = ops::not_equal(ids, double(*ignore_class));
    Value is_class = both(ops::greater_equal(ids, 0.0), ops::less(ids, double(classes)));
    Value known = ids * cast_to(both(counts, is_class), ids.dtype());
    Value losses = ops::where(is_class, of_ids(known, y_pred),
                              Value(Tensor(std::numeric_limits<float>::quiet_NaN())));
    losses = ops::where(counts, losses, 0.0);
    set_mask(losses, counts, std::string(kNames.name));
    return losses;
  }

 private:
  Value of_ids(const Value& ids, const Value& y_pred) const {
    Value logits = from_logits ? y_pred : logits_behind_softmax(y_pred);
    if (logits.defined()) return ops::sparse_softmax_cross_entropy(logits, ids);
    return expected_log(ops::one_hot(ids, y_pred.shape()[-1]), log_probabilities(y_pred));
  }
};

template <class Kind>
Fields<Kind> crossentropy_fields() {
  return {{"from_logits", &Kind::from_logits},
          {"label_smoothing", &Kind::label_smoothing, between(0, 1)},
          {"axis", &Kind::axis, {.sparse = true}}};
}

struct CategoricalLoss : CrossentropyOptions {
  static constexpr KindNames kNames = {"CategoricalCrossentropy", "categorical_crossentropy"};
  static constexpr TargetKind kTarget = TargetKind::class_shares;
  static Fields<CategoricalLoss> fields() { return crossentropy_fields<CategoricalLoss>(); }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value shares = as_targets(kTarget, std::string(kNames.name), y_true, y_pred);
    shares = smoothed(shares, label_smoothing, double(y_pred.shape()[-1]));
    Value logits = from_logits ? y_pred : logits_behind_softmax(y_pred);
    if (logits.defined()) return ops::softmax_cross_entropy(logits, shares);
    return expected_log(shares, log_probabilities(y_pred));
  }
};

struct BinaryLoss : CrossentropyOptions {
  static constexpr KindNames kNames = {"BinaryCrossentropy", "binary_crossentropy", "bce"};
  static constexpr TargetKind kTarget = TargetKind::elementwise;
  static Fields<BinaryLoss> fields() { return crossentropy_fields<BinaryLoss>(); }
  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value share = as_targets(kTarget, std::string(kNames.name), y_true, y_pred);
    share = smoothed(share, label_smoothing, 2);
    Value logits = from_logits ? y_pred : logits_behind_sigmoid(y_pred);
    if (logits.defined()) return ops::sigmoid_cross_entropy(logits, share);
    return binary_log_loss(share, y_pred);
  }
};

}  // namespace

Loss SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options) {
  return made_loss(SparseCategoricalLoss{options});
}
Loss CategoricalCrossentropy(const CrossentropyOptions& options) {
  return made_loss(CategoricalLoss{options});
}
Loss BinaryCrossentropy(const CrossentropyOptions& options) {
  return made_loss(BinaryLoss{options});
}

Value sparse_categorical_crossentropy(const Value& y_true, const Value& y_pred,
                                      const SparseCrossentropyOptions& options) {
  return SparseCategoricalCrossentropy(options)(y_true, y_pred);
}
Value categorical_crossentropy(const Value& y_true, const Value& y_pred,
                               const CrossentropyOptions& options) {
  return CategoricalCrossentropy(options)(y_true, y_pred);
}
Value binary_crossentropy(const Value& y_true, const Value& y_pred,
                          const CrossentropyOptions& options) {
  return BinaryCrossentropy(options)(y_true, y_pred);
}

void add_crossentropies(std::vector<LossKind>& kinds) {
  kinds.push_back(loss_kind<SparseCategoricalLoss>());
  kinds.push_back(loss_kind<CategoricalLoss>());
  kinds.push_back(loss_kind<BinaryLoss>());
}

}  // namespace stoker
