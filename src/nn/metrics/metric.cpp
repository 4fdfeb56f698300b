#include <stoker/metrics.h>

#include <fmt/format.h>
#include <stoker/error.h>

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

  // Makes the variables, named "accuracy/part_count", ….
  void construct() {
    base = factory();
    if (base == nullptr) throw ValueError("a metric's factory made nothing");
    if (kind.empty()) {
      kind = base->kind();
      config = base->config();
    }
    if (options.name.empty()) options.name = snake_case(kind);
    base->complete_ = true;
    for (Variable variable : base->variables_)
      variable.rename(options.name + "/" + variable.name());
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
    return std::make_unique<ShareMetric>(kind, config, name, Function());
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
  impl_->base->update_state(pair.y_true, pair.y_pred, weights);
}

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
                                           .base = nullptr});
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

}  // namespace stoker
