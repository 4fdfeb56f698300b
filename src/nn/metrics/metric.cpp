#include <stoker/metrics.h>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/losses.h>

#include "graph/graph.h"
#include "nn/element_weights.h"
#include "nn/masks.h"
#include "nn/metrics/share_metric.h"
#include "nn/names.h"
#include "nn/own_function.h"
#include "nn/targets.h"

namespace stoker {

struct Metric::Impl {
  std::string kind;
  Attrs config;
  MetricOptions options;  // .name is the one shown
  bool custom = false;
  bool aligns = false;  // update() aligns targets and predictions
  Factory factory;
  std::unique_ptr<MetricBase> base;
  bool built = false;

  // Makes the variables, named "accuracy/part_count", ….
  void construct() {
    base = factory();
    if (base == nullptr) throw ValueError("a metric's factory made nothing");
    if (kind.empty()) {
      kind = base->kind();
      config = base->config();
    }
    if (options.name.empty()) options.name = snake_case(kind);
    finish(0);
  }

  void build(const Shape& predictions) {
    if (built) return;
    built = true;
    size_t before = base->variables_.size();
    base->complete_ = false;
    base->build(predictions);
    finish(before);
  }

  void finish(size_t first) {
    base->complete_ = true;
    for (size_t i = first; i < base->variables_.size(); ++i)
      base->variables_[i].rename(options.name + "/" + base->variables_[i].name());
  }
};

Metric::Metric(const std::string& name) : Metric(metric_kind_of(name), Attrs(), {.name = name}) {}

Metric::Metric(const std::string& kind, Attrs config, MetricOptions options)
    : impl_(std::make_shared<Impl>()) {
  impl_->kind = metric_kind_of(kind);
  impl_->config = std::move(config);
  check_metric(impl_->kind, impl_->config);
  if (options.name.empty()) options.name = snake_case(impl_->kind);
  impl_->options = std::move(options);
  impl_->factory = [kind = impl_->kind, config = impl_->config, name = impl_->options.name] {
    return make_metric_base(kind, config, name);
  };
  impl_->construct();
}

Metric::Metric(std::string name, Function function) : impl_(std::make_shared<Impl>()) {
  if (!function)
    throw ValueError(fmt::format("metric \"{}\": expected a function, got an empty one", name));
  impl_->kind = name;
  impl_->custom = true;
  impl_->options.name = std::move(name);
  impl_->factory = [kind = impl_->kind, function = std::move(function)] {
    return std::make_unique<ShareMetric>(kind, Attrs(), fmt::format("metric \"{}\"", kind),
                                         function);
  };
  impl_->construct();
}

Metric::Metric(Factory factory, MetricOptions options) : impl_(std::make_shared<Impl>()) {
  if (!factory) throw ValueError("a metric was given an empty factory");
  impl_->custom = impl_->aligns = true;
  impl_->options = std::move(options);
  impl_->factory = std::move(factory);
  impl_->construct();
}

const std::string& Metric::name() const { return impl_->options.name; }
const std::string& Metric::output() const { return impl_->options.output; }
const std::string& Metric::kind() const { return impl_->kind; }
const Attrs& Metric::config() const { return impl_->config; }
bool Metric::custom() const { return impl_->custom; }
const std::vector<Variable>& Metric::state() const { return impl_->base->variables(); }

namespace {

// What is masked weighs nothing. Without weights the mask itself, as bools.
Value with_mask(const std::string& who, const Value& weights, const Value& mask) {
  if (!mask.defined()) return weights;
  if (!weights.defined()) return mask;
  return cast_to(mask, DType::float32) * weights_beside(who, weights, mask.shape());
}

}  // namespace

void Metric::update(const Value& y_true, const Value& y_pred, const Value& sample_weight) const {
  if (y_pred.traced() == nullptr)
    throw Error(
        fmt::format("metric \"{}\": update() adds to a step that is being traced, and this "
                    "prediction belongs to none",
                    name()));
  Graph& graph = *y_pred.traced()->graph;
  Graph::Scope scope(graph, graph.scope());
  AlignedPair pair{y_true, y_pred};
  std::string who = fmt::format("metric \"{}\"", name());
  if (impl_->aligns) pair = aligned(who, y_true, y_pred);
  Value weights = with_mask(who, sample_weight, mask_of(y_pred));
  impl_->build(y_pred.shape());
  impl_->base->update_state(pair.y_true, pair.y_pred, weights);
}

void Metric::add(const Value& values, const Value& sample_weight) const {
  if (kind() != "Mean" && kind() != "Sum")
    throw Error(
        fmt::format("metric \"{}\": add() takes values alone, as Mean and Sum do; {} "
                    "compares predictions with targets: update(y_true, y_pred)",
                    name(), kind()));
  update(values, values, sample_weight);
}

void Metric::build(const Shape& predictions) const { impl_->build(predictions); }

std::vector<double> Metric::results() const { return impl_->base->results(); }
double Metric::result() const { return impl_->base->result(); }
void Metric::reset() const { impl_->base->reset_state(); }

Metric Metric::with(const MetricOptions& options) const {
  Metric copy = *this;
  copy.impl_ = std::make_shared<Impl>(Impl{.kind = impl_->kind,
                                           .config = impl_->config,
                                           .options = impl_->options,
                                           .custom = impl_->custom,
                                           .aligns = impl_->aligns,
                                           .factory = impl_->factory,
                                           .base = nullptr,
                                           .built = false});
  if (!options.name.empty()) copy.impl_->options.name = options.name;
  if (!options.output.empty()) copy.impl_->options.output = options.output;
  copy.impl_->construct();
  return copy;
}

Metric Metric::clone() const { return with({}); }

// --- losses as metrics -------------------------------------------------------------------------------------

Metric MeanSquaredErrorMetric(const MetricOptions& options) {
  return {"MeanSquaredError", {}, options};
}
Metric MeanAbsoluteErrorMetric(const MetricOptions& options) {
  return {"MeanAbsoluteError", {}, options};
}
Metric MeanAbsolutePercentageErrorMetric(const MetricOptions& options) {
  return {"MeanAbsolutePercentageError", {}, options};
}
Metric MeanSquaredLogarithmicErrorMetric(const MetricOptions& options) {
  return {"MeanSquaredLogarithmicError", {}, options};
}
Metric LogCoshError(const MetricOptions& options) {
  return {"LogCosh", {}, {options.name.empty() ? "logcosh" : options.name, options.output}};
}
Metric HuberMetric(const MetricOptions& options) { return {"Huber", {}, options}; }
Metric KLDivergenceMetric(const MetricOptions& options) { return {"KLDivergence", {}, options}; }
Metric PoissonMetric(const MetricOptions& options) { return {"Poisson", {}, options}; }
Metric HingeMetric(const MetricOptions& options) { return {"Hinge", {}, options}; }
Metric SquaredHingeMetric(const MetricOptions& options) { return {"SquaredHinge", {}, options}; }
Metric CategoricalHingeMetric(const MetricOptions& options) {
  return {"CategoricalHinge", {}, options};
}

namespace {

Metric crossentropy_metric(const Loss& loss, const CrossentropyMetricOptions& options) {
  return {loss.kind(), loss.config(), {options.name, options.output}};
}
CrossentropyOptions as_loss_options(const CrossentropyMetricOptions& options) {
  return {.from_logits = options.from_logits,
          .label_smoothing = options.label_smoothing,
          .axis = options.axis};
}

}  // namespace

Metric BinaryCrossentropyMetric(const CrossentropyMetricOptions& options) {
  return crossentropy_metric(BinaryCrossentropy(as_loss_options(options)), options);
}
Metric CategoricalCrossentropyMetric(const CrossentropyMetricOptions& options) {
  return crossentropy_metric(CategoricalCrossentropy(as_loss_options(options)), options);
}
Metric SparseCategoricalCrossentropyMetric(const CrossentropyMetricOptions& options) {
  if (options.label_smoothing != 0)
    throw ValueError(
        "SparseCategoricalCrossentropyMetric: it has no label_smoothing; make the "
        "targets one-hot and use CategoricalCrossentropyMetric");
  return crossentropy_metric(
      SparseCategoricalCrossentropy({.from_logits = options.from_logits, .axis = options.axis}),
      options);
}

}  // namespace stoker
