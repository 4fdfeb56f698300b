// gradients(), and the gradients of compositions.
#include "graph/autodiff.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/placement.h"
#include "graph/reverse_sweep.h"
#include "graph/unconnected.h"

namespace stoker {

namespace {

// A constant scalar, repeated: a full tensor of the shape would be kept in memory for nothing.
Value filled(Graph& graph, const TensorSpec& spec, double number) {
  return emit::broadcast_to(graph.number(Tensor::full({}, number, spec.dtype)), spec.shape);
}

void expect_float(const Value& value, const char* what) {
  if (!is_floating(value.dtype()))
    throw ShapeError(
        fmt::format("gradients: {} must be floating point, got {}", what, to_string(value.spec())));
}

// The values of the graph that stand for one that was asked for: of a variable all its versions.
std::vector<int> ids_of(Graph& graph, const Value& wrt) {
  if (wrt.scalar() != nullptr)
    throw Error(
        fmt::format("gradients: the number {} cannot be differentiated by, because every use of a "
                    "C++ number is a constant of its own; make it a Tensor, an input of the "
                    "function or a Variable",
                    *wrt.scalar()));
  expect_float(wrt, "a value to differentiate by");
  int id = place(graph, wrt).traced()->id;
  const ValueInfo& info = graph.values()[size_t(id)];
  if (wrt.variable() != nullptr) return graph.reads_of(*wrt.variable());
  if (info.kind == ValueKind::variable)
    return graph.reads_of(graph.variables()[size_t(info.source)].variable);
  return {id};
}

class Differentiation {
 public:
  Differentiation(Graph& graph, const Value& loss, const Values& wrt) : graph_(graph), loss_(loss) {
    for (const Value& value : wrt) {
      asked_.push_back(ids_of(graph, value));
      all_.insert(all_.end(), asked_.back().begin(), asked_.back().end());
    }
  }

  Values run(Unconnected unconnected) {
    Graph::Scope phase(graph_, Phase::backward);
    ReverseSweep sweep(graph_, 0, all_);
    sweep.seed(loss_, filled(graph_, loss_.spec(), 1));
    sweep.run();
    Values found;
    for (const std::vector<int>& ids : asked_) found.push_back(sum_over(sweep, ids));
    expect_connected(found, unconnected);
    for (size_t i = 0; i < found.size(); ++i)
      if (!found[i].defined() && (unconnected != Unconnected::undefined || is_flat(asked_[i])))
        found[i] = filled(graph_, graph_.spec(asked_[i][0]), 0);
    return found;
  }

 private:
  static Value sum_over(ReverseSweep& sweep, const std::vector<int>& ids) {
    Value sum;
    for (int id : ids) {
      Value one = sweep.gradient(id);
      if (one.defined()) sum = sum.defined() ? sum + one : one;
    }
    return sum;
  }

  // A path that carries gradients, but all of them zero: floor, sign.
  bool is_flat(const std::vector<int>& ids) const {
    return differentiable_from(graph_, 0, ids,
                               graph_.notes<OwnGradients>())[size_t(loss_.traced()->id)];
  }

  void expect_connected(const Values& found, Unconnected unconnected) const {
    if (unconnected != Unconnected::error) return;
    std::vector<std::vector<int>> missing;
    for (size_t i = 0; i < found.size(); ++i)
      if (!found[i].defined() && !is_flat(asked_[i])) missing.push_back(asked_[i]);
    if (!missing.empty()) fail_unconnected(graph_, loss_.traced()->id, missing);
  }

  Graph& graph_;
  const Value& loss_;
  std::vector<std::vector<int>> asked_;
  std::vector<int> all_;
};

}  // namespace

Values gradients(const Value& loss, const Values& wrt, const GradientOptions& options) {
  if (loss.traced() == nullptr)
    throw Error(
        "gradients: the loss is not part of a graph; call it inside function(), on a value "
        "computed there");
  Graph& graph = *loss.traced()->graph;
  Values together = wrt;
  together.push_back(loss);
  graph_of("gradients", together);
  expect_float(loss, "the loss");
  return Differentiation(graph, loss, wrt).run(options.unconnected);
}

Values gradients(const Value& loss, const std::vector<Variable>& wrt,
                 const GradientOptions& options) {
  return gradients(loss, Values(wrt.begin(), wrt.end()), options);
}

Values pull_back(Graph& graph, const Values& inputs, const std::vector<bool>& needed,
                 const std::function<Values(const Values&)>& compute,
                 const Values& output_gradients) {
  size_t first = graph.nodes().size();
  Values outputs = compute(inputs);
  std::vector<int> wrt;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (needed[i]) wrt.push_back(inputs[i].traced()->id);
  ReverseSweep sweep(graph, first, wrt);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].defined() && output_gradients[i].defined())
      sweep.seed(outputs[i], output_gradients[i]);
  sweep.run();
  Values found(inputs.size());
  std::vector<int> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    int id = inputs[i].traced()->id;
    if (!needed[i] || std::ranges::find(given, id) != given.end()) continue;
    found[i] = sweep.gradient(id);
    given.push_back(id);
  }
  return found;
}

decltype(OpDef::gradient) gradient_of(Composition composition) {
  return [composition = std::move(composition)](const GradientCall& call) {
    auto compute = [&](const Values& inputs) { return composition(call.attrs, inputs); };
    return pull_back(call.graph, call.inputs, call.needed, compute, call.output_gradients);
  };
}

}  // namespace stoker
