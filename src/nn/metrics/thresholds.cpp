// Precision, Recall and the four counts at thresholds; the best of one of them at a given other.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/confusion_metrics.h>
#include <stoker/error.h>

#include "nn/metrics/confusion.h"

namespace stoker {

namespace {

// The results stand in the order of the thresholds as they were given.
struct GivenThresholds {
  std::vector<double> given, ascending;
  GivenThresholds(std::vector<double> thresholds, double fallback) : given(std::move(thresholds)) {
    if (given.empty()) given = {fallback};
    ascending = given;
    std::ranges::sort(ascending);
  }
  template <class Score>
  std::vector<double> scores(const std::vector<Confusion>& confusions, Score score) const {
    std::vector<double> all;
    for (double threshold : given) {
      auto at = std::ranges::lower_bound(ascending, threshold) - ascending.begin();
      all.push_back(score(confusions[size_t(at)]));
    }
    return all;
  }
};

constexpr double kAboveNothing = -1e10;  // Keras's threshold for top_k
constexpr Check kThreshold = between(0, 1);

struct DecisionRule {
  std::vector<double> thresholds = {};
  std::optional<int64_t> top_k = {}, class_id = {};

  // Files of earlier versions hold one "threshold".
  static Attrs of_older(const Attrs& config) {
    Attrs now;
    for (const auto& [option, value] : config.entries())
      if (const auto* one = std::get_if<double>(&value); one != nullptr && option == "threshold")
        now.set("thresholds", Doubles{*one});
      else
        now.set(option, value);
    return now;
  }
  GivenThresholds sorted() const { return {thresholds, top_k ? kAboveNothing : 0.5}; }
  ConfusionSetup setup() const {
    return {.thresholds = sorted().ascending, .top_k = top_k, .class_id = class_id};
  }
};

template <class Rule>
Fields<Rule> decision_fields() {
  return {{"thresholds", &Rule::thresholds, kThreshold},
          {"top_k", &Rule::top_k, at_least(1)},
          {"class_id", &Rule::class_id, at_least(0)}};
}

struct PrecisionRule : DecisionRule {
  static constexpr KindNames kNames = {"Precision", "precision"};
  static Fields<PrecisionRule> fields() { return decision_fields<PrecisionRule>(); }
  std::vector<double> scores(const std::vector<Confusion>& confusions) const {
    return sorted().scores(confusions, [](const Confusion& at) { return at.precision(); });
  }
};

struct RecallRule : DecisionRule {
  static constexpr KindNames kNames = {"Recall", "recall"};
  static Fields<RecallRule> fields() { return decision_fields<RecallRule>(); }
  std::vector<double> scores(const std::vector<Confusion>& confusions) const {
    return sorted().scores(confusions, [](const Confusion& at) { return at.recall(); });
  }
};

struct Counted {
  KindNames names;
  double Confusion::*count;
};
constexpr Counted kTruePositives = {{"TruePositives", "true_positives"},
                                    &Confusion::true_positives};
constexpr Counted kTrueNegatives = {{"TrueNegatives", "true_negatives"},
                                    &Confusion::true_negatives};
constexpr Counted kFalsePositives = {{"FalsePositives", "false_positives"},
                                     &Confusion::false_positives};
constexpr Counted kFalseNegatives = {{"FalseNegatives", "false_negatives"},
                                     &Confusion::false_negatives};

template <const Counted& counted>
struct CountRule {
  std::vector<double> thresholds = {};
  static constexpr KindNames kNames = counted.names;
  static Fields<CountRule> fields() { return {{"thresholds", &CountRule::thresholds, kThreshold}}; }
  ConfusionSetup setup() const {
    return {.thresholds = GivenThresholds(thresholds, 0.5).ascending};
  }
  std::vector<double> scores(const std::vector<Confusion>& confusions) const {
    return GivenThresholds(thresholds, 0.5).scores(confusions, [](const Confusion& at) {
      return at.*counted.count;
    });
  }
};

using ConfusionScore = double (Confusion::*)() const;
struct Trade {
  KindNames names;
  const char* option;  // what is at least so much
  ConfusionScore held, best;
};
constexpr Trade kSensitivityAt = {{"SensitivityAtSpecificity", "sensitivity_at_specificity"},
                                  "specificity",
                                  &Confusion::specificity,
                                  &Confusion::recall};
constexpr Trade kSpecificityAt = {{"SpecificityAtSensitivity", "specificity_at_sensitivity"},
                                  "sensitivity",
                                  &Confusion::recall,
                                  &Confusion::specificity};
constexpr Trade kPrecisionAt = {{"PrecisionAtRecall", "precision_at_recall"},
                                "recall",
                                &Confusion::recall,
                                &Confusion::precision};
constexpr Trade kRecallAt = {{"RecallAtPrecision", "recall_at_precision"},
                             "precision",
                             &Confusion::precision,
                             &Confusion::recall};

template <const Trade& trade>
struct AtRule {
  double held = -1;
  int64_t num_thresholds = 200;
  std::optional<int64_t> class_id = {};
  static constexpr KindNames kNames = trade.names;
  static Fields<AtRule> fields() {
    return {{trade.option, &AtRule::held, {.check = between(0, 1), .required = true}},
            {"num_thresholds", &AtRule::num_thresholds, at_least(1)},
            {"class_id", &AtRule::class_id, at_least(0)}};
  }
  ConfusionSetup setup() const {
    return {.thresholds = even_thresholds(num_thresholds),
            .even = num_thresholds > 1,
            .class_id = class_id};
  }
  std::vector<double> scores(const std::vector<Confusion>& confusions) const {
    double best = 0;
    for (const Confusion& at : confusions)
      if (float((at.*trade.held)()) >= float(held)) best = std::max(best, (at.*trade.best)());
    return {best};
  }
};

template <const Trade& trade>
Metric trade_metric(double held, const AtOptions& options) {
  return made_metric(AtRule<trade>{held, options.num_thresholds, options.class_id},
                     {options.name, options.output});
}

template <const Counted& counted>
Metric count_metric(const CountOptions& options) {
  return made_metric(CountRule<counted>{options.thresholds}, {options.name, options.output});
}

template <class Options>
void add_confusion_metric(std::vector<MetricKind>& kinds) {
  kinds.push_back(state_metric_kind<ConfusionMetricOf<Options>, Options>());
}

}  // namespace

Metric Precision(const DecisionOptions& options) {
  return made_metric(PrecisionRule{{options.thresholds, options.top_k, options.class_id}},
                     {options.name, options.output});
}
Metric Recall(const DecisionOptions& options) {
  return made_metric(RecallRule{{options.thresholds, options.top_k, options.class_id}},
                     {options.name, options.output});
}
Metric Precision(double threshold, const MetricOptions& options) {
  return Precision(
      DecisionOptions{.thresholds = {threshold}, .name = options.name, .output = options.output});
}
Metric Recall(double threshold, const MetricOptions& options) {
  return Recall(
      DecisionOptions{.thresholds = {threshold}, .name = options.name, .output = options.output});
}

Metric TruePositives(const CountOptions& options) { return count_metric<kTruePositives>(options); }
Metric TrueNegatives(const CountOptions& options) { return count_metric<kTrueNegatives>(options); }
Metric FalsePositives(const CountOptions& options) {
  return count_metric<kFalsePositives>(options);
}
Metric FalseNegatives(const CountOptions& options) {
  return count_metric<kFalseNegatives>(options);
}

Metric SensitivityAtSpecificity(double specificity, const AtOptions& options) {
  return trade_metric<kSensitivityAt>(specificity, options);
}
Metric SpecificityAtSensitivity(double sensitivity, const AtOptions& options) {
  return trade_metric<kSpecificityAt>(sensitivity, options);
}
Metric PrecisionAtRecall(double recall, const AtOptions& options) {
  return trade_metric<kPrecisionAt>(recall, options);
}
Metric RecallAtPrecision(double precision, const AtOptions& options) {
  return trade_metric<kRecallAt>(precision, options);
}

void add_threshold_metrics(std::vector<MetricKind>& kinds) {
  add_confusion_metric<PrecisionRule>(kinds);
  add_confusion_metric<RecallRule>(kinds);
  add_confusion_metric<CountRule<kTruePositives>>(kinds);
  add_confusion_metric<CountRule<kTrueNegatives>>(kinds);
  add_confusion_metric<CountRule<kFalsePositives>>(kinds);
  add_confusion_metric<CountRule<kFalseNegatives>>(kinds);
  add_confusion_metric<AtRule<kSensitivityAt>>(kinds);
  add_confusion_metric<AtRule<kSpecificityAt>>(kinds);
  add_confusion_metric<AtRule<kPrecisionAt>>(kinds);
  add_confusion_metric<AtRule<kRecallAt>>(kinds);
}

}  // namespace stoker
