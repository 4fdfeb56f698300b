// Mean, Sum, RootMeanSquaredError, R2Score.
#include <cmath>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "nn/element_weights.h"
#include "nn/metrics/counting_metric.h"
#include "nn/metrics/share_metric.h"
#include "nn/targets.h"

namespace stoker {

namespace {

struct MeanMetric {
  static constexpr KindNames kNames = {"Mean", "mean"};
  static Fields<MeanMetric> fields() { return {}; }
  Share operator()(const std::string&, const Value&, const Value& values) const {
    return {cast_to(values, DType::float32), {}};
  }
};

struct SumRule {
  static constexpr KindNames kNames = {"Sum", "sum"};
  static Fields<SumRule> fields() { return {}; }
};

class SumMetric : public MetricBase {
 public:
  SumMetric(const SumRule&, std::string who)
      : who_(std::move(who)), total_(add_variable("total")) {}
  std::string kind() const override { return "Sum"; }
  void update_state(const Value&, const Value& values, const Value& sample_weight) override {
    Value numbers = cast_to(values, DType::float32);
    if (sample_weight.defined())
      numbers = numbers * weights_beside(who_, sample_weight, numbers.shape());
    assign_add(total_, ops::sum(numbers));
  }
  double result() const override { return total_.read().item(); }

 private:
  std::string who_;
  Variable total_;
};

struct RootRule {
  static constexpr KindNames kNames = {"RootMeanSquaredError", "root_mean_squared_error", "rmse"};
  static Fields<RootRule> fields() { return {}; }
};

class RootMetric : public ShareMetric {
 public:
  RootMetric(const RootRule&, const std::string& who)
      : ShareMetric("MeanSquaredError", {}, who, Metric::Function()) {}
  std::string kind() const override { return "RootMeanSquaredError"; }
  double result() const override { return std::sqrt(ShareMetric::result()); }
};

struct R2Rule {
  std::string class_aggregation = "uniform_average";
  int64_t num_regressors = 0;
  static constexpr KindNames kNames = {"R2Score", "r2_score"};
  static Fields<R2Rule> fields() {
    return {{"class_aggregation", &R2Rule::class_aggregation,
             one_of({"uniform_average", "variance_weighted_average", "none"})},
            {"num_regressors", &R2Rule::num_regressors, at_least(0)}};
  }
};

class R2Metric : public MetricBase {
 public:
  R2Metric(const R2Rule& rule, std::string who) : rule_(rule), who_(std::move(who)) {
    samples_ = add_variable("num_samples", {}, {.dtype = DType::int64});
  }
  std::string kind() const override { return "R2Score"; }
  Attrs config() const override { return R2Rule::fields().write(rule_); }

  void build(const Shape& predictions) override {
    if (predictions.rank() != 2)
      throw ShapeError(fmt::format("{}: expected predictions [B, outputs], got {}", who_,
                                   to_string(predictions)));
    Shape outputs = {predictions[1]};
    squared_sum_ = add_variable("squared_sum", outputs);
    sum_ = add_variable("sum", outputs);
    residual_ = add_variable("residual", outputs);
    count_ = add_variable("count", outputs);
  }

  void update_state(const Value& y_true, const Value& y_pred, const Value& sample_weight) override {
    Value predicted = cast_to(y_pred, DType::float32);
    Value actual = as_targets(TargetKind::elementwise, who_, y_true, predicted);
    Value weights = weights_of(actual, sample_weight), weighted = actual * weights;
    auto add = [&](const Variable& to, const Value& x) {
      assign_add(to, ops::sum(x, {.axes = {0}}));
    };
    add(sum_, weighted);
    add(squared_sum_, actual * weighted);
    add(residual_, ops::square(actual - predicted) * weights);
    add(count_, weights);
    assign_add(samples_, double(actual.shape().elements()));
  }

  double result() const override {
    if (rule_.class_aggregation != "variance_weighted_average") return mean_of(results());
    double sum = 0, whole = 0;
    for (const Output& one : outputs()) {
      sum += one.total * one.score();
      whole += one.total;
    }
    return adjusted(sum / whole);
  }
  std::vector<double> results() const override {
    std::vector<double> scores;
    for (const Output& one : outputs()) scores.push_back(adjusted(one.score()));
    return scores;
  }

 private:
  struct Output {
    double residual, total;
    double score() const {
      double raw = 1 - residual / total;
      return std::isinf(raw) ? 0 : raw;
    }
  };
  std::vector<Output> outputs() const {
    Tensor squares = squared_sum_.read(), sums = sum_.read(), residuals = residual_.read(),
           counts = count_.read();
    std::vector<Output> all;
    for (int64_t i = 0; i < sums.shape()[0]; ++i)
      all.push_back({residuals.at(i), squares.at(i) - sums.at(i) * sums.at(i) / counts.at(i)});
    return all;
  }
  double adjusted(double score) const {
    double samples = samples_.read().item(), regressors = double(rule_.num_regressors);
    if (regressors == 0 || regressors >= samples - 1) return score;
    return 1 - (1 - score) * (samples - 1) / (samples - regressors - 1);
  }

  R2Rule rule_;
  std::string who_;
  Variable samples_, squared_sum_, sum_, residual_, count_;
};

}  // namespace

Metric Mean(const MetricOptions& options) { return made_metric(MeanMetric(), options); }
Metric Sum(const MetricOptions& options) { return made_metric(SumRule(), options); }
Metric RootMeanSquaredError(const MetricOptions& options) {
  return made_metric(RootRule(), options);
}
Metric R2Score(const R2ScoreOptions& options) {
  return made_metric(R2Rule{options.class_aggregation, options.num_regressors},
                     {options.name, options.output});
}

void add_mean_metrics(std::vector<MetricKind>& kinds) {
  kinds.push_back(metric_kind<MeanMetric>());
  kinds.push_back(state_metric_kind<SumMetric, SumRule>());
  kinds.push_back(state_metric_kind<RootMetric, RootRule>());
  kinds.push_back(state_metric_kind<R2Metric, R2Rule>());
}

}  // namespace stoker
