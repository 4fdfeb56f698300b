#include "graph/graph.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>
#include <stoker/context.h>

namespace stoker {

namespace {

thread_local Graph* innermost = nullptr;

uint64_t next_serial() {
  static std::atomic<uint64_t> count = 0;
  return ++count;
}

}  // namespace

Graph::Graph() : serial_(next_serial()) {}

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
  if (outer_ != nullptr) return capture(outer_->constant(tensor));
  std::vector<int>& there = constants_at_[tensor.raw()];
  for (int index : there)
    if (constants_[size_t(index)].tensor.spec() == tensor.spec())
      return value(constants_[size_t(index)].value);
  there.push_back(int(constants_.size()));
  int id = add_leaf(tensor.spec(), ValueKind::constant, constants_.size());
  constants_.push_back({id, tensor});
  return value(id);
}

Value Graph::number(const Tensor& scalar) {
  if (outer_ != nullptr) return capture(outer_->number(scalar));
  std::string bytes(static_cast<const char*>(scalar.raw()), size_of(scalar.dtype()));
  auto [known, is_new] = numbers_.try_emplace({scalar.dtype(), std::move(bytes)}, -1);
  if (is_new) known->second = constant(scalar).traced()->id;
  return value(known->second);
}

Value Graph::variable(const Variable& variable) {
  if (outer_ != nullptr) return capture(outer_->variable(variable));
  auto [known, is_new] = variable_values_.try_emplace(variable.id(), int(values_.size()));
  if (is_new) {
    add_leaf(variable.spec(), ValueKind::variable, variables_.size());
    variables_.push_back({known->second, variable});
    versions_.emplace_back();
    assignment_of_.push_back(-1);
    read_values_.insert(known->second);
  }
  return value(known->second);
}

Node Graph::make_node(const OpDef& op, const Values& inputs, Attrs attrs) const {
  Node node{.op = &op,
            .attrs = std::move(attrs),
            .inputs = {},
            .outputs = {},
            .scope = scope_,
            .phase = phase_};
  for (const Value& input : inputs) node.inputs.push_back(own(input, op.name.c_str()));
  return node;
}

std::vector<TensorSpec> Graph::specs(const std::vector<int>& values) const {
  std::vector<TensorSpec> found;
  found.reserve(values.size());
  for (int id : values) found.push_back(spec(id));
  return found;
}

Values Graph::add(const OpDef& op, const Values& inputs, Attrs attrs) {
  Node node = make_node(op, inputs, std::move(attrs));
  std::vector<TensorSpec> given = specs(node.inputs);
  Values outputs;
  for (const TensorSpec& inferred : infer(op, node.attrs, given, scope_)) {
    node.outputs.push_back(add_value(inferred, int(nodes_.size())));
    outputs.push_back(value(node.outputs.back()));
  }
  nodes_.push_back(std::move(node));
  if (op.indices) limit(inputs[op.indices->operand], {op.indices->limit(given), op.indices->what});
  return outputs;
}

void Graph::offer_fused(const OpDef& op, const Values& inputs, Attrs attrs, const Values& outputs) {
  Node node = make_node(op, inputs, std::move(attrs));
  std::unordered_set<int> distinct;
  for (const Value& output : outputs) {
    node.outputs.push_back(own(output, op.name.c_str()));
    if (producer(node.outputs.back()) == nullptr || !distinct.insert(node.outputs.back()).second)
      throw Error(
          fmt::format("{}: the fused form of nodes needs distinct results of theirs, and "
                      "output {} is none",
                      op.name, node.outputs.size() - 1));
  }
  if (infer(op, node.attrs, specs(node.inputs), scope_) != specs(node.outputs))
    throw ShapeError(fmt::format("{}: the fused form gives other specs than its nodes", op.name));
  fused_forms_.push_back(std::move(node));
}

void Graph::output(const Value& value, std::string name) {
  outputs_.push_back({own(value, "output"), std::move(name)});
}

void Graph::limit(const Value& value, InputLimit limit) {
  int id = own(value, "limit");
  while (const Node* node = producer(id)) {
    if (!node->traits().shares_bytes && !node->is("cast")) return;
    id = node->inputs[0];
  }
  const ValueInfo& info = values_[size_t(id)];
  if (info.kind != ValueKind::input) return;
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

void Graph::gate(const Value& value) {
  gate_ = own_scalar(value, "gate");
  for (size_t variable = 0; variable < variables_.size(); ++variable) settle(int(variable));
}

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
  if (!random_state_.defined() && outer_ != nullptr && outer_->random_state().defined())
    random_state_ = input("random state", {DType::int64, {2}});
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
  return node.op->cost(node.attrs, specs(node.inputs), specs(node.outputs));
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
