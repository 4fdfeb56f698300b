#include "graph/graph.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/context.h>

namespace stoker {

namespace {

thread_local Graph* innermost = nullptr;

}  // namespace

// --- building
// ------------------------------------------------------------------------------------------

Value Graph::input(std::string name, const TensorSpec& spec) {
  if (!spec.shape.is_known())
    throw ShapeError(
        fmt::format("graph input \"{}\" needs a concrete shape, got {}", name, to_string(spec)));
  int id = add_leaf(spec, ValueKind::input, inputs_.size());
  inputs_.push_back({id, std::move(name), std::nullopt});
  return value(id);
}

Value Graph::constant(const Tensor& tensor) {
  if (!tensor.defined()) throw Error("an undefined tensor cannot be a constant of a graph");
  // Scalars repeat (epsilons, ones): one value for all of a kind.
  if (tensor.shape().rank() == 0)
    for (const GraphConstant& known : constants_)
      if (known.tensor == tensor) return value(known.value);
  int id = add_leaf(tensor.spec(), ValueKind::constant, constants_.size());
  constants_.push_back({id, tensor});
  return value(id);
}

Value Graph::variable(const Variable& variable) {
  auto [known, is_new] = variable_values_.try_emplace(variable.id(), int(values_.size()));
  if (is_new) {
    add_leaf(variable.spec(), ValueKind::variable, variables_.size());
    variables_.push_back({known->second, variable});
  }
  return value(known->second);
}

Values Graph::add(const OpDef& op, const Values& inputs, Attrs attrs) {
  Node node{.op = &op,
            .attrs = std::move(attrs),
            .inputs = {},
            .outputs = {},
            .scope = scope_,
            .phase = phase_};
  std::vector<TensorSpec> specs;
  for (const Value& input : inputs) {
    node.inputs.push_back(own(input, op.name.c_str()));
    specs.push_back(spec(node.inputs.back()));
  }
  Values outputs;
  for (const TensorSpec& inferred : infer(op, node.attrs, specs, scope_)) {
    node.outputs.push_back(add_value(inferred, int(nodes_.size())));
    outputs.push_back(value(node.outputs.back()));
  }
  nodes_.push_back(std::move(node));
  if (op.indices) limit(inputs[op.indices->operand], {op.indices->limit(specs), op.indices->what});
  return outputs;
}

void Graph::output(const Value& value, std::string name) {
  outputs_.push_back({own(value, "output"), std::move(name)});
}

void Graph::assign(const Variable& variable, const Value& value, Assign when) {
  int to = own(this->variable(variable), "assign");
  int from = own(value, "assign");
  if (spec(from) != spec(to))
    throw ShapeError(fmt::format("variable \"{}\" holds {}, cannot be assigned {}", variable.name(),
                                 to_string(spec(to)), to_string(spec(from))));
  int index = values_[size_t(to)].source;
  auto earlier = std::ranges::find(assignments_, index, &Assignment::variable);
  if (earlier != assignments_.end())
    *earlier = {index, from, when};
  else
    assignments_.push_back({index, from, when});
}

void Graph::limit(const Value& value, InputLimit limit) {
  int id = own(value, "limit");
  while (const Node* node = producer(id)) {
    if (node->op->name != "reshape" && node->op->name != "cast") return;
    id = node->inputs[0];
  }
  const ValueInfo& info = values_[size_t(id)];
  if (info.kind != ValueKind::input || !is_integer(info.spec.dtype)) return;
  std::optional<InputLimit>& known = inputs_[size_t(info.source)].limit;
  if (!known || limit.limit < known->limit) known = std::move(limit);
}

int Graph::own_scalar(const Value& value, const char* what) const {
  int id = own(value, what);
  if (spec(id) != TensorSpec{DType::float32, {}})
    throw ShapeError(fmt::format("{} takes a float32 scalar, got {}", what, to_string(spec(id))));
  return id;
}

void Graph::guard(const Value& value) { guard_ = own_scalar(value, "guard"); }
void Graph::gate(const Value& value) { gate_ = own_scalar(value, "gate"); }

DType Graph::policy_dtype(const std::string& policy) const {
  return policy_dtypes_ ? policy_dtypes_(policy) : stoker::compute_dtype(policy);
}

Graph::Scope::Scope(Graph& graph, std::string name)
    : graph_(graph), outer_(innermost), name_(graph.scope_), phase_(graph.phase_) {
  graph.scope_ = std::move(name);
  innermost = &graph;
}

Graph::Scope::Scope(Graph& graph, Phase phase)
    : graph_(graph), outer_(innermost), name_(graph.scope_), phase_(graph.phase_) {
  graph.phase_ = phase;
  innermost = &graph;
}

Graph::Scope::~Scope() {
  graph_.scope_ = std::move(name_);
  graph_.phase_ = phase_;
  innermost = outer_;
}

Graph::Outside::Outside() : outer_(innermost) { innermost = nullptr; }
Graph::Outside::~Outside() { innermost = outer_; }

Graph* Graph::current() { return innermost; }

const Value& Graph::random_state() {
  if (!random_state_.defined() && offered_state_) random_state_ = variable(offered_state_());
  return random_state_;
}

int Graph::add_leaf(const TensorSpec& spec, ValueKind kind, size_t index) {
  values_.push_back({spec, kind, int(index)});
  return int(values_.size()) - 1;
}

int Graph::own(const Value& value, const char* what) const {
  if (value.traced() == nullptr || value.traced()->graph != this)
    throw Error(fmt::format("{}: a value does not belong to this graph", what));
  return value.traced()->id;
}

// --- reading
// -------------------------------------------------------------------------------------------

const Node* Graph::producer(int value) const {
  const ValueInfo& info = values_[size_t(value)];
  return info.kind == ValueKind::computed && info.source >= 0 ? &nodes_[size_t(info.source)]
                                                              : nullptr;
}

Cost Graph::cost(const Node& node) const {
  std::vector<TensorSpec> inputs, outputs;
  for (int id : node.inputs) inputs.push_back(spec(id));
  for (int id : node.outputs) outputs.push_back(spec(id));
  return node.op->cost(node.attrs, inputs, outputs);
}

Cost Graph::cost(Phase phase) const {
  Cost sum;
  for (const Node& node : nodes_) {
    if (node.phase != phase) continue;
    Cost one = cost(node);
    sum.flops += one.flops;
    sum.bytes += one.bytes;
  }
  return sum;
}

}  // namespace stoker
