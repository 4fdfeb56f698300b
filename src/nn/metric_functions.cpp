#include "nn/metric_functions.h"

#include <array>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/losses.h>
#include <stoker/ops.h>

#include "nn/config.h"
#include "nn/names.h"
#include "nn/targets.h"

namespace stoker {

namespace {

struct NamedMetric {
  std::string_view name, kind;
};
constexpr auto kMetrics = std::to_array<NamedMetric>({
    {"accuracy", "Accuracy"},
    {"acc", "Accuracy"},
    {"sparse_categorical_accuracy", "SparseCategoricalAccuracy"},
    {"categorical_accuracy", "CategoricalAccuracy"},
    {"binary_accuracy", "BinaryAccuracy"},
    {"top_k_categorical_accuracy", "TopKCategoricalAccuracy"},
    {"sparse_top_k_categorical_accuracy", "SparseTopKCategoricalAccuracy"},
    {"precision", "Precision"},
    {"recall", "Recall"},
    {"mse", "MeanSquaredError"},
    {"mean_squared_error", "MeanSquaredError"},
    {"mae", "MeanAbsoluteError"},
    {"mean_absolute_error", "MeanAbsoluteError"},
    {"huber", "Huber"},
    {"binary_crossentropy", "BinaryCrossentropy"},
    {"categorical_crossentropy", "CategoricalCrossentropy"},
    {"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"},
});

// Keras's rule: one value a sample is binary; one target for several predicted values is a class
// id.
std::string_view resolve_accuracy(const Shape& y_true, const Shape& y_pred) {
  if (y_pred.rank() < 2 || y_pred[-1] == 1) return "BinaryAccuracy";
  bool ids = y_true.rank() < y_pred.rank() || y_true[-1] == 1;
  return ids ? "SparseCategoricalAccuracy" : "CategoricalAccuracy";
}

// int64, the class with the largest share.
Value largest(const Value& shares) { return ops::argmax(shares, -1); }

Value class_ids(const std::string& who, const Value& y_true, const Value& y_pred) {
  return cast_to(as_targets(TargetKind::class_ids, who, y_true, y_pred), DType::int64);
}

// Class ids that are floats are compared as such: 0.5 is no class, and never a hit.
Value hits(const std::string& who, const Value& y_true, const Value& y_pred) {
  if (!is_floating(y_true.dtype()))
    return ops::equal(largest(y_pred), class_ids(who, y_true, y_pred));
  Value ids = ops::reshape(
      y_true, target_spec(TargetKind::class_ids, who, y_pred.spec(), y_true.spec()).shape);
  return ops::equal(cast_to(largest(y_pred), DType::float32), cast_to(ids, DType::float32));
}

Value one_hot_ids(const std::string& who, const Value& y_true, const Value& y_pred) {
  return largest(as_targets(TargetKind::class_shares, who, y_true, y_pred));
}

// predictions: [.., C], ids: [..] → bool [..]
Value among_top(const Value& y_pred, const Value& ids, const Attrs& attrs) {
  auto k = int(attrs.get_or<int64_t>("k", 5));
  Value rows = ops::reshape(y_pred, {ids.shape().elements(), y_pred.shape()[-1]});
  Value flat = ops::reshape(ids, {ids.shape().elements()});
  return ops::reshape(ops::in_top_k(rows, flat, k), ids.shape());
}

struct Decisions {
  Value predicted, actual;  // bool, the predictions' shape
};
Decisions decisions(const Attrs& attrs, const std::string& who, const Value& y_true,
                    const Value& y_pred) {
  double threshold = config::number(attrs, "threshold", 0.5);
  Value actual = as_targets(TargetKind::elementwise, who, y_true, y_pred);
  return {ops::greater(y_pred, threshold), ops::not_equal(actual, 0.0)};
}

Share binary_accuracy(const Attrs& attrs, const std::string& who, const Value& y_true,
                      const Value& y_pred) {
  double threshold = config::number(attrs, "threshold", 0.5);
  Value actual = as_targets(TargetKind::elementwise, who, y_true, y_pred);
  return {ops::equal(cast_to(ops::greater(y_pred, threshold), DType::float32), actual), {}};
}

}  // namespace

std::string metric_kind(const std::string& name) {
  std::vector<std::string_view> names;
  for (const NamedMetric& known : kMetrics) {
    if (name == known.name || name == known.kind) return std::string(known.kind);
    names.push_back(known.name);
  }
  throw ValueError(fmt::format("unknown metric \"{}\"; there are {}", name, list_of(names)));
}

Share metric_share(const MetricCall& call, const Value& y_true, const Value& y_pred) {
  const auto& [kind, config, who, per_element] = call;
  if (kind == "Accuracy")
    return metric_share(
        {std::string(resolve_accuracy(y_true.shape(), y_pred.shape())), config, who, per_element},
        y_true, y_pred);
  if (kind == "BinaryAccuracy") return binary_accuracy(config, who, y_true, y_pred);
  if (kind == "SparseCategoricalAccuracy") return {hits(who, y_true, y_pred), {}};
  if (kind == "CategoricalAccuracy")
    return {ops::equal(largest(y_pred), one_hot_ids(who, y_true, y_pred)), {}};
  if (kind == "SparseTopKCategoricalAccuracy")
    return {among_top(y_pred, class_ids(who, y_true, y_pred), config), {}};
  if (kind == "TopKCategoricalAccuracy")
    return {among_top(y_pred, one_hot_ids(who, y_true, y_pred), config), {}};
  if (kind == "Precision" || kind == "Recall") {
    auto [predicted, actual] = decisions(config, who, y_true, y_pred);
    Value true_positives = ops::where(predicted, actual, 0.0);
    return {true_positives, kind == "Precision" ? predicted : actual};
  }
  Loss loss(kind, config);
  return {per_element ? loss.per_element(y_true, y_pred) : loss.per_sample(y_true, y_pred), {}};
}

}  // namespace stoker
