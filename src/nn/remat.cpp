#include <stoker/remat.h>

#include <algorithm>

#include <stoker/layers.h>

#include "base/fields.h"
#include "graph/graph.h"
#include "graph/remat.h"
#include "nn/remat_mode.h"

namespace stoker {

namespace {

thread_local std::shared_ptr<const RematScopeOptions> innermost;

std::shared_ptr<const RematScopeOptions> checked(const RematScopeOptions& options) {
  using C = RematScopeOptions;
  static const Fields<C> table = {
      {"mode", &C::mode, one_of({"full", "activations", "larger_than", "list_of_layers", ""})},
      {"output_size_threshold", &C::output_size_threshold, at_least(0)}};
  table.check("RematScope", options);
  return std::make_shared<const RematScopeOptions>(options);
}

int64_t elements_of_a_row(const Values& outputs) {
  int64_t elements = 0;
  for (const Value& output : outputs)
    elements += output.shape().rank() > 0 ? output.shape().drop_front().elements() : 1;
  return elements;
}

}  // namespace

RematScope::RematScope(const RematScopeOptions& options)
    : outer_(std::exchange(innermost, checked(options))) {}

RematScope::~RematScope() { innermost = std::move(outer_); }

std::shared_ptr<const RematScopeOptions> current_remat() { return innermost; }

void LayerBase::set_remat(const RematScopeOptions& options) { remat_ = checked(options); }

bool recomputes_call(const LayerBase& layer, const Values& outputs) {
  if (layer.remat() == nullptr) return false;
  const RematScopeOptions& options = *layer.remat();
  if (options.mode == "larger_than")
    return elements_of_a_row(outputs) > options.output_size_threshold;
  if (options.mode == "list_of_layers")
    return std::ranges::find(options.layer_names, layer.label()) != options.layer_names.end();
  return options.mode == "full";
}

bool recomputes_activations(const LayerBase& layer) {
  return layer.remat() != nullptr && layer.remat()->mode == "activations";
}

std::function<Value(const Value&)> remat(std::function<Value(const Value&)> function) {
  if (!function) throw ValueError("remat: the function is empty");
  Layer sketched = remat(Lambda(function));
  return [function = std::move(function), sketched](const Value& x) {
    if (x.traced() == nullptr) return sketched(x);
    Graph& graph = *x.traced()->graph;
    size_t first = graph.nodes().size();
    Value y = function(x);
    mark_for_remat(graph, first);
    return y;
  };
}

Layer remat(const Layer& layer) {
  layer.base().set_remat({});
  return layer;
}

}  // namespace stoker
