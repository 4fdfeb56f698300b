#include "train/model/metric_set.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/ops.h>

#include "base/tracing.h"
#include "graph/graph.h"
#include "graph/replica.h"

namespace stoker {

namespace {

Variable make_sum(const std::string& name) {
  return {name + "/sum", Tensor(0.0F), {.trainable = false, .category = MemoryCategory::metrics}};
}

// 0, or NaN where one of the floats is: a maximum keeps it.
Value nan_if_any(const Value& x) {
  Value most = ops::cast(ops::max(x), DType::float32);
  return ops::where(ops::equal(most, most), Value(Tensor(0.0F)),
                    Value(Tensor(std::numeric_limits<float>::quiet_NaN())));
}

void check_output(const Metric& metric, const std::vector<std::string>& outputs) {
  if (!metric.output().empty() && std::ranges::find(outputs, metric.output()) == outputs.end())
    throw ValueError(
        fmt::format("metric \"{}\" is for output \"{}\", which does not exist; there are: {}",
                    metric.name(), metric.output(), fmt::join(outputs, ", ")));
}

}  // namespace

MetricSet::MetricSet(const MetricLists& metrics, const std::vector<std::string>& outputs,
                     const std::vector<Shape>& shapes, const std::vector<std::string>& more_losses)
    : names_{"loss"} {
  if (outputs.size() > 1)
    for (const std::string& output : outputs) names_.push_back(output + "_loss");
  for (const std::string& name : more_losses) names_.push_back(free_name("", name, false));
  for (const std::string& name : names_) loss_sums_.push_back(make_sum(name));
  for (const std::string& output : outputs) nan_seen_.push_back(make_sum(output + "_nan"));
  add_metrics(metrics.plain, outputs, false);
  add_metrics(metrics.weighted, outputs, true);
  for (const OutputMetric& each : metrics_) {
    const Shape& shape = shapes[each.output];
    bool is_known = shape.rank() > 0 && shape.drop_front().is_known();
    if (is_known) each.metric.build(shape);  // else by the first batch
  }
  values_.resize(names_.size());
  value_versions_.resize(names_.size());
}

void MetricSet::add_metrics(const std::vector<Metric>& metrics,
                            const std::vector<std::string>& outputs, bool weighted) {
  for (const Metric& metric : metrics) check_output(metric, outputs);
  for (size_t output = 0; output < outputs.size(); ++output)
    for (const Metric& metric : metrics) {
      if (!metric.output().empty() && metric.output() != outputs[output]) continue;
      std::string prefix = outputs.size() > 1 ? outputs[output] + "_" : "";
      names_.push_back(free_name(prefix, metric.name(), weighted));
      metrics_.push_back({metric.clone(), output, weighted});
    }
}

std::string MetricSet::free_name(const std::string& prefix, const std::string& name,
                                 bool weighted) const {
  auto taken = [&](const std::string& candidate) {
    return std::ranges::find(names_, candidate) != names_.end();
  };
  std::string base = prefix + name;
  if (weighted && taken(base)) base = prefix + "weighted_" + name;
  std::string candidate = base;
  for (int number = 1; taken(candidate); ++number) candidate = fmt::format("{}_{}", base, number);
  return candidate;
}

void MetricSet::append(Graph& graph, const Value& loss, const Values& losses_beside,
                       const Values& targets, const Values& predictions,
                       const Values& sample_weights, int64_t batch_size) const {
  Graph::Scope scope(graph, "metrics");
  Graph::Scope phase(graph, Phase::update);
  auto add = [&](const Variable& sum, const Value& value) {
    graph.assign(sum, Value(sum) + value * double(batch_size), Assign::always);
  };
  add(loss_sums_[0], loss);
  for (size_t i = 1; i < loss_sums_.size(); ++i) add(loss_sums_[i], losses_beside[i - 1]);
  if (!graph.training() && !metrics_.empty())
    for (size_t i = 0; i < nan_seen_.size(); ++i) {
      Value seen;
      for (const Value* values : {&predictions[i], &targets[i]})
        if (is_floating(values->dtype()))
          seen = seen.defined() ? seen + nan_if_any(*values) : nan_if_any(*values);
      if (seen.defined()) add_over_replicas(graph, nan_seen_[i], seen);
    }
  for (const OutputMetric& each : metrics_)
    each.metric.update(targets[each.output], predictions[each.output],
                       each.weighted ? sample_weights[each.output] : Value());
}

void MetricSet::take(const StepLogs& logs, const char* step) {
  std::vector<std::string> names;
  for (bool metrics : {false, true})
    for (const StepLog& each : logs)
      if (each.metric().has_value() == metrics) names.push_back(each.name());
  if (names == names_) return;
  if (!names_.empty())
    throw ValueError(
        fmt::format("{}: it logs {} for this batch, and {} for an earlier one; return the "
                    "same names for every shape",
                    step, fmt::join(names, ", "), fmt::join(names_, ", ")));
  names_ = names;
  for (const StepLog& each : logs)
    if (each.metric())
      metrics_.push_back({*each.metric(), 0, false});
    else
      loss_sums_.push_back(make_sum(each.name()));
  nan_seen_.push_back(make_sum("nan"));
  values_.resize(names_.size());
  value_versions_.resize(names_.size());
  reset();
}

void MetricSet::append(Graph& graph, const StepLogs& logs, int64_t batch_size) const {
  Graph::Scope scope(graph, "metrics");
  Graph::Scope phase(graph, Phase::update);
  size_t next = 0;
  for (const StepLog& each : logs) {
    if (each.metric()) continue;
    const Variable& sum = loss_sums_[next++];
    graph.assign(sum, Value(sum) + each.value() * double(batch_size), Assign::always);
  }
}

void MetricSet::reset() {
  for (Variable& sum : loss_sums_) sum.write(Tensor(0.0F));
  for (Variable& seen : nan_seen_) seen.write(Tensor(0.0F));
  for (const OutputMetric& each : metrics_) each.metric.reset();
  samples_ = 0;
  ++version_;
}

void MetricSet::count(int64_t samples) {
  samples_ += samples;
  ++version_;
}

std::vector<std::pair<std::string, Variable>> MetricSet::variables() const {
  std::vector<std::pair<std::string, Variable>> all;
  for (size_t i = 0; i < loss_sums_.size(); ++i) all.emplace_back(names_[i], loss_sums_[i]);
  for (size_t i = 0; i < metrics_.size(); ++i) {
    const std::vector<Variable>& sums = metrics_[i].metric.state();
    for (size_t number = 0; number < sums.size(); ++number)
      all.emplace_back(fmt::format("{}/{}", names_[loss_sums_.size() + i], number), sums[number]);
  }
  return all;
}

void MetricSet::restore(int64_t samples) {
  samples_ = samples;
  ++version_;
}

double MetricSet::read_metric(const OutputMetric& each) const {
  double seen = nan_seen_[each.output].read().item();
  return std::isnan(seen) ? seen : each.metric.result();
}

double MetricSet::read(size_t index) const {
  if (value_versions_[index] == version_) return values_[index];
  ++reads_;
  TraceScope scope("read from the device");
  double value = 0;
  if (index >= loss_sums_.size())
    value = read_metric(metrics_[index - loss_sums_.size()]);
  else if (samples_ > 0)
    value = loss_sums_[index].read().item() / double(samples_);
  values_[index] = value;
  value_versions_[index] = version_;
  return value;
}

Logs MetricSet::with_prefix(const std::string& prefix) const {
  std::vector<std::pair<std::string, double>> values;
  for (size_t i = 0; i < names_.size(); ++i) values.emplace_back(prefix + names_[i], read(i));
  return Logs(std::move(values));
}

}  // namespace stoker
