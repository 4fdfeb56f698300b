#include "nn/metrics/metric_kind.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/losses/loss_kind.h"
#include "nn/metrics/share_metric.h"

namespace stoker {

const std::vector<MetricKind>& metric_kinds() {
  static const std::vector<MetricKind> kinds = [] {
    std::vector<MetricKind> all;
    add_accuracies(all);
    add_threshold_metrics(all);
    add_area_metrics(all);
    add_f_scores(all);
    add_overlap_metrics(all);
    add_mean_metrics(all);
    add_correlations(all);
    return all;
  }();
  return kinds;
}

namespace {

// Null: a loss, or nothing.
const MetricKind* find_metric(std::string_view name) { return find_kind(metric_kinds(), name); }

[[noreturn]] void fail_unknown_metric(const std::string& name) {
  std::vector<std::string_view> names;
  add_names(names, metric_kinds());
  add_names(names, loss_kinds());
  throw ValueError(fmt::format("unknown metric \"{}\"; there are {}", name, list_of(names)));
}

}  // namespace

std::string metric_kind_of(const std::string& name) {
  if (const MetricKind* metric = find_metric(name)) return std::string(metric->names.kind);
  if (const LossKind* loss = find_kind(loss_kinds(), name)) return std::string(loss->names.kind);
  fail_unknown_metric(name);
}

std::unique_ptr<MetricBase> make_metric_base(const std::string& kind, const Attrs& config,
                                             const std::string& who) {
  const MetricKind* metric = find_metric(kind);
  if (metric != nullptr && metric->make) return metric->make(config, who);
  return std::make_unique<ShareMetric>(kind, config, who, Metric::Function());
}

void check_metric(const std::string& kind, const Attrs& config) {
  if (const MetricKind* metric = find_metric(kind)) return metric->check(config);
  Loss loss(kind, config);
}

Share metric_share(const MetricCall& call, const Value& y_true, const Value& y_pred) {
  if (const MetricKind* metric = find_metric(call.kind))
    return metric->share(call.config, call.who, y_true, y_pred);
  Loss loss(call.kind, call.config);
  return {call.per_element ? loss.per_element(y_true, y_pred) : loss.per_sample(y_true, y_pred),
          {}};
}

}  // namespace stoker
