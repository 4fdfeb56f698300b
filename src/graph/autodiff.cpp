// Reverse-mode differentiation: one sweep from the loss back, emitting the gradient rules' nodes.
#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/placement.h"

namespace stoker {

namespace {

class ReverseSweep {
 public:
  ReverseSweep(Graph& graph, const Values& wrt) : graph_(graph), depends_(graph.values().size()) {
    for (const Value& value : wrt) depends_[size_t(value.traced()->id)] = true;
    for (const Node& node : graph.nodes()) mark(node);
  }

  void run(const Value& loss) {
    Graph::Scope phase(graph_, Phase::backward);
    size_t forward_nodes = graph_.nodes().size();  // what follows is emitted here
    gradients_.resize(graph_.values().size());
    gradients_[size_t(loss.traced()->id)] = filled(loss.spec(), 1);
    for (size_t i = forward_nodes; i-- > 0;) visit(graph_.nodes()[i]);
  }

  // Zeros where the loss does not depend on the value.
  Value gradient(const Value& value) {
    Graph::Scope phase(graph_, Phase::backward);
    Value gradient = gradients_[size_t(value.traced()->id)];
    return gradient.defined() ? gradient : filled(value.spec(), 0);
  }

 private:
  // A value carries a gradient when it is a float that depends on one of those asked for.
  void mark(const Node& node) {
    if (node.op->name == "identity") return;  // stop_gradient
    bool any = false;
    for (int id : node.inputs) any |= depends_[size_t(id)];
    for (int id : node.outputs)
      if (any && is_floating(graph_.spec(id).dtype)) depends_[size_t(id)] = true;
  }

  void visit(Node node) {  // a copy: the rule appends nodes
    std::vector<bool> needed;
    bool any_needed = false, any_gradient = false;
    for (int id : node.inputs) needed.push_back(depends_[size_t(id)]);
    for (bool one : needed) any_needed |= one;
    Values inputs = values(node.inputs), outputs = values(node.outputs), output_gradients;
    for (int id : node.outputs) {
      output_gradients.push_back(gradients_[size_t(id)]);
      any_gradient |= output_gradients.back().defined();
    }
    if (!any_needed || !any_gradient) return;

    Graph::Scope layer(graph_, node.scope);
    Graph::ComputeDtype compute(graph_, dtype_of(node));  // of the layer that emitted it
    if (!node.op->gradient)
      throw Error(
          fmt::format("{}: the loss depends on it, but it has no gradient; wrap its result in "
                      "ops::stop_gradient if none is wanted",
                      describe(node)));
    Values found = call(node, {graph_, node.attrs, inputs, outputs, output_gradients, needed});
    for (size_t i = 0; i < found.size(); ++i)
      if (needed[i] && found[i].defined()) accumulate(node, node.inputs[i], found[i]);
  }

  // What the node was computed in.
  DType dtype_of(const Node& node) const {
    for (int id : node.outputs)
      if (is_floating(graph_.spec(id).dtype)) return graph_.spec(id).dtype;
    return graph_.compute_dtype();
  }

  static Values call(const Node& node, const GradientCall& call) {
    try {
      return node.op->gradient(call);
    } catch (const ShapeError&) {
      throw;  // names the op of the rule that failed
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", describe(node), error.what()));
    }
  }

  void accumulate(const Node& node, int id, const Value& gradient) {
    if (gradient.spec() != graph_.spec(id))
      throw Error(fmt::format("{}: its gradient rule gave {} for an input {}", describe(node),
                              to_string(gradient.spec()), to_string(graph_.spec(id))));
    Value& sum = gradients_[size_t(id)];
    sum = sum.defined() ? sum + gradient : gradient;
  }

  // A constant scalar, repeated: a full tensor of the shape would be kept in memory for nothing.
  Value filled(const TensorSpec& spec, double number) {
    return emit::broadcast_to(graph_.constant(Tensor::full({}, number, spec.dtype)), spec.shape);
  }

  Values values(const std::vector<int>& ids) {
    Values values;
    for (int id : ids) values.push_back(graph_.value(id));
    return values;
  }

  static std::string describe(const Node& node) {
    return node.scope.empty() ? node.op->name : fmt::format("{} \"{}\"", node.op->name, node.scope);
  }

  Graph& graph_;
  std::vector<bool> depends_;  // per value: floats that depend on a value asked for
  Values gradients_;           // per value: d(loss)/d(value) as far as it is known
};

void expect_float(const Value& value, const char* what) {
  if (!is_floating(value.dtype()))
    throw ShapeError(
        fmt::format("gradients: {} must be floating point, got {}", what, to_string(value.spec())));
}

}  // namespace

Values gradients(const Value& loss, const Values& wrt) {
  if (loss.traced() == nullptr)
    throw Error(
        "gradients: the loss is not part of a graph; call it inside function(), on a value "
        "computed there");
  Graph& graph = *loss.traced()->graph;
  Values together = wrt;
  together.push_back(loss);
  graph_of("gradients", together);
  expect_float(loss, "the loss");
  Values placed = place(graph, wrt);
  for (const Value& value : placed) expect_float(value, "a value to differentiate by");
  ReverseSweep sweep(graph, placed);
  sweep.run(loss);
  Values found;
  for (const Value& value : placed) found.push_back(sweep.gradient(value));
  return found;
}

Values gradients(const Value& loss, const std::vector<Variable>& wrt) {
  return gradients(loss, Values(wrt.begin(), wrt.end()));
}

}  // namespace stoker
