#include "nn/loss_functions.h"

#include <stoker/ops.h>

#include "graph/graph.h"
#include "nn/logits.h"
#include "nn/targets.h"

namespace stoker {

namespace {

constexpr double kEpsilon = 1e-7;  // Keras's: probabilities are kept this far from 0 and 1

// log p of probabilities that need not sum to one exactly. y_pred: [.., C]
Value log_probabilities(const Value& y_pred) {
  Value p = cast_to(y_pred, DType::float32);
  Value sums = ops::sum(p, {.axes = {-1}, .keepdims = true});
  return ops::log(ops::clip(p / sums, kEpsilon, 1 - kEpsilon));
}

Value expected_log(const Value& shares, const Value& log_p) {
  return -ops::sum(shares * log_p, {.axes = {-1}});
}

// A class id beyond the classes is the host's to refuse, before the step.
void limit_class_ids(const Value& y_true, int64_t classes) {
  if (y_true.traced()) y_true.traced()->graph->limit(y_true, {classes, "class id"});
}

Value difference(const char* who, const Value& y_true, const Value& y_pred) {
  Value prediction = cast_to(y_pred, DType::float32);
  return prediction - as_targets(TargetKind::elementwise, who, y_true, prediction);
}

}  // namespace

Value sparse_categorical_loss(const Value& y_true, const Value& y_pred, bool from_logits) {
  Value ids = as_targets(TargetKind::class_ids, "sparse_categorical_crossentropy", y_true, y_pred);
  int64_t classes = y_pred.shape()[-1];
  limit_class_ids(y_true, classes);
  Value logits = from_logits ? y_pred : logits_behind_softmax(y_pred);
  if (logits.defined()) return ops::sparse_softmax_cross_entropy(logits, ids);
  return expected_log(ops::one_hot(ids, classes), log_probabilities(y_pred));
}

Value categorical_loss(const Value& y_true, const Value& y_pred,
                       const CrossentropyOptions& options) {
  Value shares = as_targets(TargetKind::class_shares, "categorical_crossentropy", y_true, y_pred);
  if (double smooth = options.label_smoothing; smooth != 0)
    shares = shares * (1 - smooth) + smooth / double(y_pred.shape()[-1]);
  Value logits = options.from_logits ? y_pred : logits_behind_softmax(y_pred);
  if (logits.defined()) return ops::softmax_cross_entropy(logits, shares);
  return expected_log(shares, log_probabilities(y_pred));
}

Value binary_loss(const Value& y_true, const Value& y_pred, const CrossentropyOptions& options) {
  Value share = as_targets(TargetKind::elementwise, "binary_crossentropy", y_true, y_pred);
  if (double smooth = options.label_smoothing; smooth != 0)
    share = share * (1 - smooth) + smooth / 2;
  Value logits = options.from_logits ? y_pred : logits_behind_sigmoid(y_pred);
  if (logits.defined()) return ops::sigmoid_cross_entropy(logits, share);
  Value p = ops::clip(cast_to(y_pred, DType::float32), kEpsilon, 1 - kEpsilon);
  Value log_likelihood = share * ops::log(p) + (1.0 - share) * ops::log(1.0 - p);
  return -log_likelihood;
}

Value squared_loss(const Value& y_true, const Value& y_pred) {
  return ops::square(difference("mean_squared_error", y_true, y_pred));
}

Value absolute_loss(const Value& y_true, const Value& y_pred) {
  return ops::abs(difference("mean_absolute_error", y_true, y_pred));
}

Value huber_loss(const Value& y_true, const Value& y_pred, double delta) {
  Value error = ops::abs(difference("huber", y_true, y_pred));
  Value inside = ops::square(error) * 0.5;
  Value outside = error * delta - 0.5 * delta * delta;
  return ops::where(ops::less_equal(error, delta), inside, outside);
}

}  // namespace stoker
