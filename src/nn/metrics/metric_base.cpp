// MetricBase: the variables of a metric and what update_state() may do with them.
#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/layer.h>
#include <stoker/metrics.h>
#include <stoker/ops.h>

#include "graph/graph.h"
#include "graph/placement.h"
#include "graph/replica.h"
#include "nn/element_weights.h"
#include "nn/targets.h"

namespace stoker {

Variable MetricBase::add_variable(const std::string& name, const Shape& shape,
                                  const MetricVariableOptions& options) {
  if (complete_)
    throw Error(fmt::format(
        "metric {}: variable \"{}\" is added after the constructor, where checkpoints and resets "
        "would miss it; call add_variable in the constructor or in build()",
        kind(), name));
  Tensor initial = options.initializer(shape, options.dtype);
  Variable variable(name, initial, {.trainable = false, .category = MemoryCategory::metrics});
  variables_.push_back(variable);
  initial_.push_back(initial);
  return variable;
}

Value MetricBase::current(const Variable& variable) const {
  return CallContext(*graph_of("metric", {Value(variable)})).current(variable);
}

void MetricBase::assign(const Variable& variable, const Value& value) const {
  Graph& graph = *graph_of("metric", {Value(variable), value});
  Value next = cast_to(place(graph, value), variable.dtype());
  if (replica_of(graph).alone()) return graph.assign(variable, next, Assign::always);
  add_over_replicas(graph, variable, next - current(variable));
}

void MetricBase::assign_add(const Variable& variable, const Value& value) const {
  Value more = value.scalar() ? value : cast_to(value, variable.dtype());
  Graph& graph = *graph_of("metric", {Value(variable), value});
  if (replica_of(graph).alone()) return assign(variable, current(variable) + more);
  // A number counts once per replica that has rows: what it counts are batches.
  Value placed = more.scalar() ? Value(Tensor::full({}, *more.scalar(), variable.dtype())) : more;
  add_over_replicas(graph, variable, place(graph, ops::broadcast_to(placed, variable.shape())));
}

Value MetricBase::weights_of(const Value& values, const Value& sample_weight) const {
  if (!sample_weight.defined()) return Tensor::full(values.shape(), 1.0);
  return ops::broadcast_to(weights_beside("metric " + kind(), sample_weight, values.shape()),
                           values.shape());
}

void MetricBase::reset_state() {
  for (size_t i = 0; i < variables_.size(); ++i) variables_[i].write(initial_[i]);
}

}  // namespace stoker
