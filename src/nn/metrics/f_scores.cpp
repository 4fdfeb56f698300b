// F1Score and FBetaScore: the harmonic mean of precision and recall, per class.
#include <fmt/format.h>
#include <stoker/confusion_metrics.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "nn/masks.h"
#include "nn/metrics/counting_metric.h"
#include "nn/metrics/metric_kind.h"
#include "nn/targets.h"

namespace stoker {

namespace {

constexpr Check kAverages = one_of({"none", "micro", "macro", "weighted"});
constexpr Check kShare = between(1e-30, 1).saying("above 0 and at most 1");

struct FBetaRule {
  std::string average = "none";
  double beta = 1.0;
  std::optional<double> threshold = {};
  static constexpr KindNames kNames = {"FBetaScore", "fbeta_score"};
  static Fields<FBetaRule> fields() {
    return {{"average", &FBetaRule::average, kAverages},
            {"beta", &FBetaRule::beta, above(0)},
            {"threshold", &FBetaRule::threshold, kShare}};
  }
};

struct F1Rule {
  std::string average = "none";
  std::optional<double> threshold = {};
  static constexpr double beta = 1.0;
  static constexpr KindNames kNames = {"F1Score", "f1_score"};
  static Fields<F1Rule> fields() {
    return {{"average", &F1Rule::average, kAverages}, {"threshold", &F1Rule::threshold, kShare}};
  }
};

// The cells of a class, one after the other: true negatives, false negatives, false positives, true
// positives.
struct ClassCounts {
  double missed = 0, wrong = 0, right = 0;

  void operator+=(const ClassCounts& other) {
    missed += other.missed;
    wrong += other.wrong;
    right += other.right;
  }
  double score(double beta) const {
    constexpr double kTiny = 1e-7;  // Keras's
    double precision = right / (right + wrong + kTiny), recall = right / (right + missed + kTiny);
    double square = beta * beta;
    return (1 + square) * precision * recall / (square * precision + recall + kTiny);
  }
};

template <class Rule>
class FScoreMetric : public CountingMetric {
 public:
  FScoreMetric(const Rule& rule, const std::string& who) : CountingMetric(who), rule_(rule) {}
  std::string kind() const override { return std::string(Rule::kNames.kind); }
  Attrs config() const override { return Rule::fields().write(rule_); }

  void build(const Shape& predictions) override {
    if (predictions.rank() < 2)
      throw ShapeError(fmt::format("{}: expected predictions [B, classes], got {}", who(),
                                   to_string(predictions)));
    add_cells(4 * predictions[-1]);
  }

  void update_state(const Value& y_true, const Value& y_pred, const Value& sample_weight) override {
    Value predicted = cast_to(y_pred, DType::float32);
    Value actual = as_targets(TargetKind::elementwise, who(), y_true, predicted);
    Value bits = cast_to(says_yes(predicted), DType::float32) * 2.0 +
                 cast_to(ops::not_equal(actual, 0.0), DType::float32);
    std::vector<float> first;
    for (int64_t at = 0; at < predicted.shape()[-1]; ++at) first.push_back(float(4 * at));
    add_to_cells(bits + Value(Tensor::from(first, {int64_t(first.size())})), {}, sample_weight);
  }

  double result() const override {
    if (rule_.average != "weighted") return mean_of(results());
    double sum = 0, whole = 0;
    for (const ClassCounts& one : counts()) {
      sum += one.score(rule_.beta) * (one.right + one.missed);
      whole += one.right + one.missed;
    }
    return sum / (whole + 1e-7);
  }

  std::vector<double> results() const override {
    std::vector<double> scores;
    ClassCounts all;
    for (const ClassCounts& one : counts()) {
      scores.push_back(one.score(rule_.beta));
      all += one;
    }
    return rule_.average == "micro" ? std::vector{all.score(rule_.beta)} : scores;
  }

 private:
  Value says_yes(const Value& predicted) const {
    if (rule_.threshold) return ops::greater(predicted, *rule_.threshold);
    Value most = ops::max(predicted, {.axes = {-1}, .keepdims = true});
    return both(ops::greater_equal(predicted, most), ops::greater(ops::abs(predicted), 1e-9));
  }
  std::vector<ClassCounts> counts() const {
    std::vector<double> cells = read_cells();
    std::vector<ClassCounts> all;
    for (size_t at = 0; at < cells.size(); at += 4)
      all.push_back({.missed = cells[at + 1], .wrong = cells[at + 2], .right = cells[at + 3]});
    return all;
  }

  Rule rule_;
};

}  // namespace

Metric F1Score(const F1ScoreOptions& options) {
  return made_metric(F1Rule{options.average, options.threshold}, {options.name, options.output});
}
Metric FBetaScore(const FBetaScoreOptions& options) {
  return made_metric(FBetaRule{options.average, options.beta, options.threshold},
                     {options.name.empty() ? "fbeta_score" : options.name, options.output});
}

void add_f_scores(std::vector<MetricKind>& kinds) {
  kinds.push_back(state_metric_kind<FScoreMetric<F1Rule>, F1Rule>());
  kinds.push_back(state_metric_kind<FScoreMetric<FBetaRule>, FBetaRule>());
}

}  // namespace stoker
