#include "graph/reverse_sweep.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/emit.h"

namespace stoker {

std::string describe(const Node& node) {
  return node.scope.empty() ? node.op->name : fmt::format("{} \"{}\"", node.op->name, node.scope);
}

std::vector<bool> differentiable_from(const Graph& graph, size_t first, std::span<const int> wrt,
                                      const OwnGradients& own) {
  std::vector<bool> depends(graph.values().size());
  for (int value : wrt) depends[size_t(value)] = true;
  for (size_t i = first; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const OwnGradient* by_hand = find(own, node);
    if (node.traits().stops_gradient && by_hand == nullptr) continue;
    if (std::ranges::none_of(by_hand ? by_hand->inputs : node.inputs,
                             [&](int id) { return bool(depends[size_t(id)]); }))
      continue;
    for (int id : node.outputs)
      if (is_floating(graph.spec(id).dtype)) depends[size_t(id)] = true;
  }
  return depends;
}

ReverseSweep::ReverseSweep(Graph& graph, size_t first, std::span<const int> wrt)
    : graph_(graph),
      first_(first),
      last_(graph.nodes().size()),
      own_(graph.notes<OwnGradients>()),
      depends_(differentiable_from(graph, first, wrt, own_)),
      gradients_(graph.values().size()),
      recomputed_(graph, last_) {}

void ReverseSweep::seed(const Value& output, const Value& gradient) {
  Value& sum = gradients_[size_t(output.traced()->id)];
  sum = sum.defined() ? sum + gradient : gradient;
}

void ReverseSweep::run() {
  for (size_t i = last_; i-- > first_;) visit(graph_.nodes()[i]);
}

Value ReverseSweep::gradient(int value) {
  flush(value);
  return gradients_[size_t(value)];
}

void ReverseSweep::visit(Node node) {  // a copy: the rule appends nodes
  if (const OwnGradient* own = find(own_, node)) return visit_own(node, *own);
  std::vector<bool> needed;
  for (int id : node.inputs) needed.push_back(depends_[size_t(id)]);
  if (std::ranges::find(needed, true) == needed.end()) return;
  Values output_gradients;
  for (int id : node.outputs) output_gradients.push_back(gradient(id));
  if (std::ranges::none_of(output_gradients, &Value::defined)) return;

  Graph::Scope layer(graph_, node.scope);
  Graph::ComputeDtype compute(graph_, dtype_of(node));  // of the layer that emitted it
  if (node.is("slice")) {  // its gradients are added up as slices, not as padded images
    slices_[node.inputs[0]].add(node.attrs.get<Ints>("begin"), output_gradients[0]);
    return;
  }
  Values found = call_rule(node, needed, output_gradients);
  for (size_t i = 0; i < found.size(); ++i)
    if (needed[i] && found[i].defined()) accumulate(node, node.inputs[i], found[i]);
}

// A gradient by hand (ops::custom_gradient), of values that may stand far before the node.
void ReverseSweep::visit_own(const Node& node, OwnGradient own) {  // a copy: it may add others
  Value upstream = gradient(node.outputs[0]);
  if (!upstream.defined()) return;
  Graph::Scope layer(graph_, node.scope);
  Graph::ComputeDtype compute(graph_, dtype_of(node));
  Values found = own.pull(upstream);
  if (found.size() != own.inputs.size())
    throw Error(
        fmt::format("custom_gradient: the gradient function gave {} gradients for {} inputs",
                    found.size(), own.inputs.size()));
  for (size_t i = 0; i < found.size(); ++i)
    if (depends_[size_t(own.inputs[i])] && found[i].defined())
      accumulate(node, own.inputs[i], found[i]);
}

Values ReverseSweep::call_rule(const Node& node, const std::vector<bool>& needed,
                               const Values& output_gradients) {
  if (!node.op->gradient)
    throw Error(fmt::format(
        "gradients: {} lies between the loss and a value to differentiate by, and has no gradient; "
        "compute its result from other ops. Only where the loss is meant to treat that result as a "
        "constant, put ops::stop_gradient around it",
        describe(node)));
  Values inputs = values(node, node.inputs), outputs = values(node, node.outputs);
  try {
    return node.op->gradient({graph_, node.attrs, inputs, outputs, output_gradients, needed});
  } catch (const ShapeError&) {
    throw;  // names the op of the rule that failed
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", describe(node), error.what()));
  }
}

// What the node was computed in.
DType ReverseSweep::dtype_of(const Node& node) const {
  for (int id : node.outputs)
    if (is_floating(graph_.spec(id).dtype)) return graph_.spec(id).dtype;
  return graph_.compute_dtype();
}

void ReverseSweep::accumulate(const Node& node, int value, const Value& gradient) {
  if (gradient.spec() != graph_.spec(value))
    throw Error(fmt::format("{}: its gradient rule gave {} for an input {}", describe(node),
                            to_string(gradient.spec()), to_string(graph_.spec(value))));
  flush(value);
  Value& sum = gradients_[size_t(value)];
  sum = sum.defined() ? sum + gradient : gradient;
}

// Adds the slices' gradients that have arrived, behind those that came before them.
void ReverseSweep::flush(int value) {
  auto waiting = slices_.find(value);
  if (waiting == slices_.end()) return;
  Value together = waiting->second.sum(graph_.spec(value).shape);
  slices_.erase(waiting);
  Value& sum = gradients_[size_t(value)];
  sum = sum.defined() ? sum + together : together;
}

Values ReverseSweep::values(const Node& node, const std::vector<int>& ids) {
  Values values;
  for (int id : ids) values.push_back(recomputed_.value(node, id));
  return values;
}

}  // namespace stoker
