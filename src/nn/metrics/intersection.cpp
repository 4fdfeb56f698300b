// IoU and its kinds: intersection over union, from a table of true against predicted classes.
#include <fmt/format.h>
#include <stoker/confusion_metrics.h>
#include <stoker/error.h>
#include <stoker/ops.h>
#include <numeric>

#include "graph/placement.h"
#include "nn/masks.h"
#include "nn/metrics/counting_metric.h"
#include "nn/metrics/metric_kind.h"
#include "nn/targets.h"

namespace stoker {

namespace {

// What all kinds come to.
struct IoUPlan {
  int64_t num_classes = 0;
  std::vector<int64_t> target_class_ids;
  std::optional<int64_t> ignore_class;
  bool sparse_y_true = true, sparse_y_pred = true;
  int64_t axis = -1;
  std::optional<double> threshold = {};  // predictions are probabilities of class 1
};

std::vector<int64_t> all_classes(int64_t count) {
  std::vector<int64_t> ids(size_t(std::max<int64_t>(count, 0)));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

constexpr FieldOptions kClassCount = {.check = at_least(1), .required = true};

struct IoURule : IoUOptions {
  int64_t num_classes = 0;
  std::vector<int64_t> target_class_ids = {};
  static constexpr KindNames kNames = {"IoU", "iou"};
  static Fields<IoURule> fields() {
    using C = IoURule;
    return {{"num_classes", &C::num_classes, kClassCount},
            {"target_class_ids", &C::target_class_ids, {.check = at_least(0), .required = true}},
            {"ignore_class", &C::ignore_class},
            {"sparse_y_true", &C::sparse_y_true},
            {"sparse_y_pred", &C::sparse_y_pred},
            {"axis", &C::axis}};
  }
  IoUPlan plan() const {
    return {num_classes, target_class_ids, ignore_class, sparse_y_true, sparse_y_pred, axis};
  }
};

struct MeanIoURule : IoUOptions {
  int64_t num_classes = 0;
  static constexpr KindNames kNames = {"MeanIoU", "mean_iou"};
  static Fields<MeanIoURule> fields() {
    using C = MeanIoURule;
    return {{"num_classes", &C::num_classes, kClassCount},
            {"ignore_class", &C::ignore_class},
            {"sparse_y_true", &C::sparse_y_true},
            {"sparse_y_pred", &C::sparse_y_pred},
            {"axis", &C::axis}};
  }
  IoUPlan plan() const {
    return {num_classes, all_classes(num_classes), ignore_class, sparse_y_true, sparse_y_pred,
            axis};
  }
};

struct OneHotIoURule : OneHotIoUOptions {
  int64_t num_classes = 0;
  std::vector<int64_t> target_class_ids = {};
  static constexpr KindNames kNames = {"OneHotIoU", "one_hot_iou"};
  static Fields<OneHotIoURule> fields() {
    using C = OneHotIoURule;
    return {{"num_classes", &C::num_classes, kClassCount},
            {"target_class_ids", &C::target_class_ids, {.check = at_least(0), .required = true}},
            {"ignore_class", &C::ignore_class},
            {"sparse_y_pred", &C::sparse_y_pred},
            {"axis", &C::axis}};
  }
  IoUPlan plan() const {
    return {num_classes, target_class_ids, ignore_class, false, sparse_y_pred, axis};
  }
};

struct OneHotMeanIoURule : OneHotIoUOptions {
  int64_t num_classes = 0;
  static constexpr KindNames kNames = {"OneHotMeanIoU", "one_hot_mean_iou"};
  static Fields<OneHotMeanIoURule> fields() {
    using C = OneHotMeanIoURule;
    return {{"num_classes", &C::num_classes, kClassCount},
            {"ignore_class", &C::ignore_class},
            {"sparse_y_pred", &C::sparse_y_pred},
            {"axis", &C::axis}};
  }
  IoUPlan plan() const {
    return {num_classes, all_classes(num_classes), ignore_class, false, sparse_y_pred, axis};
  }
};

struct BinaryIoURule {
  std::vector<int64_t> target_class_ids = {0, 1};
  double threshold = 0.5;
  static constexpr KindNames kNames = {"BinaryIoU", "binary_iou"};
  static Fields<BinaryIoURule> fields() {
    return {{"target_class_ids", &BinaryIoURule::target_class_ids, at_least(0)},
            {"threshold", &BinaryIoURule::threshold}};
  }
  IoUPlan plan() const { return {2, target_class_ids, {}, true, true, -1, threshold}; }
};

// The class ids in x as float32; in [B, ..] the axis of the classes is gone.
Value ids_in(const Value& x, bool sparse, int64_t axis) {
  return cast_to(sparse ? x : ops::argmax(x, int(axis)), DType::float32);
}

Value is_class(const Value& ids, int64_t classes) {
  return both(ops::greater_equal(ids, 0.0), ops::less(ids, double(classes)));
}

template <class Rule>
class IoUMetric : public CountingMetric {
 public:
  IoUMetric(const Rule& rule, const std::string& who)
      : CountingMetric(who), rule_(rule), plan_(rule.plan()) {
    for (int64_t id : plan_.target_class_ids)
      if (id >= plan_.num_classes)
        throw ValueError(
            fmt::format("{}: target class id {} of {} classes", kind(), id, plan_.num_classes));
    if (plan_.target_class_ids.empty()) throw ValueError(kind() + ": target_class_ids is empty");
    add_cells(plan_.num_classes * plan_.num_classes);
  }
  std::string kind() const override { return std::string(Rule::kNames.kind); }
  Attrs config() const override { return Rule::fields().write(rule_); }

  void update_state(const Value& y_true, const Value& y_pred, const Value& sample_weight) override {
    Value placed = y_pred.traced() ? place(*y_pred.traced()->graph, y_true) : y_true;
    Value predicted = ids_in(y_pred, plan_.sparse_y_pred, plan_.axis);
    if (plan_.threshold)
      predicted = cast_to(ops::greater_equal(predicted, *plan_.threshold), DType::float32);
    Value actual = ids_in(placed, plan_.sparse_y_true, plan_.axis);
    actual = as_targets(TargetKind::elementwise, who(), actual, predicted);
    predicted = ops::floor(predicted);
    Value counts =
        both(is_class(actual, plan_.num_classes), is_class(predicted, plan_.num_classes));
    if (plan_.ignore_class)
      counts = both(counts, ops::not_equal(actual, double(*plan_.ignore_class)));
    add_to_cells(actual * double(plan_.num_classes) + predicted, counts, sample_weight);
  }

  // Classes that are neither true nor predicted anywhere do not count.
  double result() const override {
    constexpr double kTiny = 1e-7, kNothing = 1e-9;  // Keras's
    std::vector<double> table = read_cells();
    double sum = 0, valid = 0;
    for (int64_t id : plan_.target_class_ids) {
      double either_of = union_of(table, id);
      if (either_of <= kNothing) continue;
      sum += table[size_t(id * plan_.num_classes + id)] / (either_of + kTiny);
      ++valid;
    }
    return sum / (valid + kTiny);
  }

 private:
  double union_of(const std::vector<double>& table, int64_t id) const {
    double sum = -table[size_t(id * plan_.num_classes + id)];
    for (int64_t other = 0; other < plan_.num_classes; ++other)
      sum += table[size_t(id * plan_.num_classes + other)] +
             table[size_t(other * plan_.num_classes + id)];
    return sum;
  }

  Rule rule_;
  IoUPlan plan_;
};

template <class Rule>
void add_iou(std::vector<MetricKind>& kinds) {
  kinds.push_back(state_metric_kind<IoUMetric<Rule>, Rule>());
}

}  // namespace

Metric IoU(int64_t num_classes, const std::vector<int64_t>& target_class_ids,
           const IoUOptions& options) {
  return made_metric(IoURule{options, num_classes, target_class_ids},
                     {options.name, options.output});
}
Metric MeanIoU(int64_t num_classes, const IoUOptions& options) {
  return made_metric(MeanIoURule{options, num_classes}, {options.name, options.output});
}
Metric OneHotIoU(int64_t num_classes, const std::vector<int64_t>& target_class_ids,
                 const OneHotIoUOptions& options) {
  return made_metric(OneHotIoURule{options, num_classes, target_class_ids},
                     {options.name, options.output});
}
Metric OneHotMeanIoU(int64_t num_classes, const OneHotIoUOptions& options) {
  return made_metric(OneHotMeanIoURule{options, num_classes}, {options.name, options.output});
}
Metric BinaryIoU(const BinaryIoUOptions& options) {
  return made_metric(BinaryIoURule{options.target_class_ids, options.threshold},
                     {options.name, options.output});
}

void add_overlap_metrics(std::vector<MetricKind>& kinds) {
  add_iou<IoURule>(kinds);
  add_iou<MeanIoURule>(kinds);
  add_iou<OneHotIoURule>(kinds);
  add_iou<OneHotMeanIoURule>(kinds);
  add_iou<BinaryIoURule>(kinds);
}

}  // namespace stoker
