// The kinds of metrics. Most count a share: Σ part / Σ whole over the elements of all steps. Such a
// kind is a struct of its options with its names, its rows and its formula:
//
//   struct RecallMetric {
//     double threshold = 0.5;
//     static constexpr KindNames kNames = {"Recall", "recall"};
//     static Fields<RecallMetric> fields() { return {{"threshold", &RecallMetric::threshold}}; }
//     Share operator()(const std::string& who, const Value& y_true, const Value& y_pred) const { … }
//   };
//
// A kind with other state is a class from MetricBase, made from its options: state_metric_kind().
// Every loss is a metric as well, under its own names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stoker/metrics.h>

#include "base/fields.h"
#include "nn/names.h"

namespace stoker {

struct Share {
  Value part;   // bool or float32 [B, ..]
  Value whole;  // bool, part's shape; undefined: every element counts
};

struct MetricKind {
  KindNames names;
  std::function<void(const Attrs& config)> check;  // ValueError
  // `who`: the metric's name, for errors.
  std::function<Share(const Attrs& config, const std::string& who, const Value& y_true,
                      const Value& y_pred)>
      share;
  std::function<std::vector<FieldText>()> fields;
  // Kinds with state of their own, which have no share; `who` opens errors.
  std::function<std::unique_ptr<MetricBase>(const Attrs& config, const std::string& who)> make = {};
};

// All but the losses, in the order in which errors list them.
const std::vector<MetricKind>& metric_kinds();

// The kind that a metric's name stands for ("acc", "mse", …); ValueError lists the names.
std::string metric_kind_of(const std::string& name);
// What a metric of this kind keeps and computes.
std::unique_ptr<MetricBase> make_metric_base(const std::string& kind, const Attrs& config,
                                             const std::string& who);
// ValueError for an unknown option or value.
void check_metric(const std::string& kind, const Attrs& config);

struct MetricCall {
  const std::string& kind;
  const Attrs& config;
  const std::string& who;
  bool per_element = false;  // a loss as metric: [B, ..] instead of one value per sample
};
Share metric_share(const MetricCall& call, const Value& y_true, const Value& y_pred);

template <class Kind>
Kind metric_options(const Attrs& config) {
  std::string kind(Kind::kNames.kind);
  if constexpr (requires { Kind::of_older(config); })
    return Kind::fields().made(kind, Kind::of_older(config));
  else
    return Kind::fields().made(kind, config);
}

template <class Kind>
MetricKind metric_kind() {
  return {.names = Kind::kNames,
          .check = [](const Attrs& config) { metric_options<Kind>(config); },
          .share =
              [](const Attrs& config, const std::string& who, const Value& y_true,
                 const Value& y_pred) { return metric_options<Kind>(config)(who, y_true, y_pred); },
          .fields = [] { return Kind::fields().text(); }};
}

// Metric: a MetricBase made from (Options, who), where Options have kNames and fields().
template <class Metric, class Options>
MetricKind state_metric_kind() {
  return {.names = Options::kNames,
          .check = [](const Attrs& config) { Metric(metric_options<Options>(config), ""); },
          .share = {},
          .fields = [] { return Options::fields().text(); },
          .make =
              [](const Attrs& config, const std::string& who) {
                return std::make_unique<Metric>(metric_options<Options>(config), who);
              }};
}

template <class Kind>
Metric made_metric(const Kind& kind, const MetricOptions& options) {
  return {std::string(Kind::kNames.kind), Kind::fields().write(kind), options};
}

// One family per file.
void add_accuracies(std::vector<MetricKind>& kinds);
void add_threshold_metrics(std::vector<MetricKind>& kinds);
void add_area_metrics(std::vector<MetricKind>& kinds);
void add_f_scores(std::vector<MetricKind>& kinds);
void add_overlap_metrics(std::vector<MetricKind>& kinds);
void add_mean_metrics(std::vector<MetricKind>& kinds);
void add_correlations(std::vector<MetricKind>& kinds);

}  // namespace stoker
