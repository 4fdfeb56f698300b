// AUC: the area under a curve that thresholds draw.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <stoker/confusion_metrics.h>
#include <stoker/error.h>

#include "nn/metrics/confusion.h"

namespace stoker {

namespace {

struct CurvePoint {
  double x, y;
};

// Recall and precision against what guessing reaches. Keras's rules where they have no value: gains
// of 0 and 1 without a true positive, and none below 0.
CurvePoint gains(const Confusion& at) {
  if (at.true_positives == 0) return {0, 1};
  double scale =
      share_of(at.true_positives + at.false_negatives, at.true_negatives + at.false_positives);
  return {std::max(0.0, 1 - scale * at.false_negatives / at.true_positives),
          1 - scale * at.false_positives / at.true_positives};
}

CurvePoint point_on(const std::string& curve, const Confusion& at) {
  if (curve == "PR") return {at.recall(), at.precision()};
  if (curve == "PRGAIN") return gains(at);
  return {share_of(at.false_positives, at.false_positives + at.true_negatives), at.recall()};
}

// Between two thresholds true positives are taken as linear in all positives.
double interpolated_precision(const std::vector<Confusion>& confusions) {
  double area = 0;
  for (size_t i = 0; i + 1 < confusions.size(); ++i) {
    const Confusion &here = confusions[i], &next = confusions[i + 1];
    double more = here.true_positives - next.true_positives;
    double all_here = here.true_positives + here.false_positives;
    double all_next = next.true_positives + next.false_positives;
    double slope = share_of(more, std::max(all_here - all_next, 0.0));
    double start = next.true_positives - slope * all_next;
    double ratio = all_here > 0 && all_next > 0 ? all_here / all_next : 1;
    area += share_of(slope * (more + start * std::log(ratio)),
                     std::max(next.true_positives + next.false_negatives, 0.0));
  }
  return area;
}

struct AreaRule {
  int64_t num_thresholds = 200;
  std::string curve = "ROC";
  std::string summation_method = "interpolation";
  std::vector<double> thresholds = {};
  bool multi_label = false;
  std::optional<int64_t> num_labels = {};
  std::vector<double> label_weights = {};
  bool from_logits = false;

  static constexpr KindNames kNames = {"AUC", "auc"};
  static Fields<AreaRule> fields() {
    using C = AreaRule;
    return {{"num_thresholds", &C::num_thresholds, at_least(2)},
            {"curve", &C::curve, one_of({"ROC", "PR", "PRGAIN"})},
            {"summation_method", &C::summation_method,
             one_of({"interpolation", "minoring", "majoring"})},
            {"thresholds", &C::thresholds, between(0, 1)},
            {"multi_label", &C::multi_label},
            {"num_labels", &C::num_labels, at_least(1)},
            {"label_weights", &C::label_weights, at_least(0)},
            {"from_logits", &C::from_logits}};
  }

  ConfusionSetup setup() const {
    if (num_labels && !multi_label)
      throw ValueError("AUC: num_labels is for multi_label = true only");
    constexpr double kBeyond = 1e-7;  // Keras's: the ends lie outside [0, 1]
    std::vector<double> all = thresholds;
    std::ranges::sort(all);
    all.insert(all.begin(), 0);
    all.push_back(1);
    bool even = thresholds.empty() || is_even(all);
    if (thresholds.empty()) all = even_thresholds(num_thresholds);
    all.front() -= kBeyond;
    all.back() += kBeyond;
    return {.thresholds = all,
            .even = even,
            .first_below_zero = true,
            .from_logits = from_logits,
            .label_weights = label_weights,
            .multi_label = multi_label,
            .num_labels = num_labels};
  }

  double area(const std::vector<Confusion>& confusions) const {
    if (curve == "PR" && summation_method == "interpolation")
      return interpolated_precision(confusions);
    double sum = 0;
    for (size_t i = 0; i + 1 < confusions.size(); ++i) {
      CurvePoint here = point_on(curve, confusions[i]), next = point_on(curve, confusions[i + 1]);
      double height = summation_method == "minoring"   ? std::min(here.y, next.y)
                      : summation_method == "majoring" ? std::max(here.y, next.y)
                                                       : (here.y + next.y) / 2;
      sum += (here.x - next.x) * height;
    }
    return sum;
  }
  std::vector<double> scores(const std::vector<Confusion>& confusions) const {
    return {area(confusions)};
  }

 private:
  static bool is_even(const std::vector<double>& ascending) {
    std::vector<double> even = even_thresholds(int64_t(ascending.size()));
    return std::ranges::equal(ascending, even, [](double a, double b) {
      return std::abs(a - b) <= 1e-7 + 1e-5 * std::abs(b);  // NumPy's allclose
    });
  }
};

class AreaMetric : public ConfusionMetricOf<AreaRule> {
 public:
  using ConfusionMetricOf::ConfusionMetricOf;
  void build(const Shape& predictions) override {
    ConfusionMetricOf::build(predictions);
    const std::vector<double>& weights = options_.label_weights;
    if (options_.multi_label && !weights.empty() && int64_t(weights.size()) != labels())
      throw ShapeError(
          fmt::format("{}: {} label_weights for {} labels", who(), weights.size(), labels()));
  }
  // Of all labels together, by their weights.
  double result() const override {
    if (!options_.multi_label || options_.label_weights.empty()) return mean_of(results());
    std::vector<double> areas = results();
    double sum = 0, whole = 0;
    for (size_t i = 0; i < areas.size(); ++i) {
      sum += areas[i] * options_.label_weights[i];
      whole += options_.label_weights[i];
    }
    return share_of(sum, whole);
  }
  std::vector<double> results() const override {
    std::vector<double> areas;
    for (int64_t label = 0; label < labels(); ++label)
      areas.push_back(options_.area(confusions(label)));
    return areas;
  }
};

}  // namespace

Metric AUC(const AUCOptions& options) {
  return made_metric(AreaRule{.num_thresholds = options.num_thresholds,
                              .curve = options.curve,
                              .summation_method = options.summation_method,
                              .thresholds = options.thresholds,
                              .multi_label = options.multi_label,
                              .num_labels = options.num_labels,
                              .label_weights = options.label_weights,
                              .from_logits = options.from_logits},
                     {options.name, options.output});
}

void add_area_metrics(std::vector<MetricKind>& kinds) {
  kinds.push_back(state_metric_kind<AreaMetric, AreaRule>());
}

}  // namespace stoker
