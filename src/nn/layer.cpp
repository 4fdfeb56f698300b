#include <stoker/layer.h>

#include <algorithm>

#include <fmt/format.h>
#include <stoker/context.h>
#include <stoker/error.h>

#include "graph/graph.h"
#include "nn/layer_call.h"
#include "nn/names.h"

namespace stoker {

// --- CallContext ---------------------------------------------------------------------------------

bool CallContext::training() const { return graph_.training(); }

Value CallContext::random_state() const {
  if (!graph_.random_state().defined())
    throw Error(
        fmt::format("layer \"{}\" asks for random numbers in a graph that has no random state",
                    graph_.scope()));
  return graph_.random_state();
}

int64_t CallContext::next_stream() { return graph_.next_stream(); }

void CallContext::update(const Variable& variable, const Value& value) {
  bool floats = is_floating(value.dtype()) && is_floating(variable.dtype());
  graph_.assign(variable, floats ? ops::cast(value, variable.dtype()) : value);
}

Value CallContext::current(const Variable& variable) const { return graph_.read(variable); }

void CallContext::add_loss(const Value& scalar) { graph_.add_penalty(scalar); }

// --- LayerBase: names, weights -------------------------------------------------------------------

std::string LayerBase::label() const { return name_.empty() ? snake_case(kind()) : name_; }

void LayerBase::set_name(std::string name) {
  name_ = std::move(name);
  for (Weight& weight : weights_) weight.variable.rename(label() + "/" + weight.local_name);
}

void LayerBase::set_trainable(bool trainable) {
  trainable_ = trainable;
  for (Weight& weight : weights_) weight.variable.set_trainable(weight.trainable && trainable);
}

void LayerBase::set_dtype_policy(const std::string& policy) {
  if (!policy.empty()) compute_dtype(policy);  // checks it
  dtype_policy_ = policy;
}

std::vector<Variable> LayerBase::weights() const {
  std::vector<Variable> all;
  for (bool trainable : {true, false})
    for (const Weight& weight : weights_)
      if (weight.trainable == trainable) all.push_back(weight.variable);
  return all;
}

std::vector<Variable> LayerBase::trainable_weights() const {
  std::vector<Variable> learning;
  for (const Weight& weight : weights_)
    if (weight.trainable && trainable_) learning.push_back(weight.variable);
  return learning;
}

int64_t LayerBase::parameters() const {
  int64_t elements = 0;
  for (const Variable& weight : weights()) elements += weight.shape().elements();
  return elements;
}

Variable LayerBase::add_weight(const std::string& name, const Shape& shape,
                               const WeightOptions& options) {
  Variable variable(label() + "/" + name, options.initializer(shape, options.dtype),
                    {.trainable = options.trainable && trainable_});
  weights_.push_back({variable, name, options.regularizer, options.trainable});
  return variable;
}

// --- LayerBase: calls ----------------------------------------------------------------------------

void LayerBase::ensure_built(const std::vector<Shape>& inputs) {
  if (built_) return;
  try {
    build(inputs);
  } catch (...) {
    weights_.clear();  // so that the next input, a fitting one, starts from nothing
    throw;
  }
  built_ = true;
}

namespace {

bool is_short(const Value& value) {
  return is_floating(value.dtype()) && value.dtype() != DType::float32;
}

Values as_float32(const Values& inputs) {
  Values wide;
  wide.reserve(inputs.size());
  for (const Value& input : inputs)
    wide.push_back(is_short(input) ? ops::cast(input, DType::float32) : input);
  return wide;
}

}  // namespace

Values LayerBase::run(Graph& graph, const Values& inputs) {
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const Value& input : inputs) shapes.push_back(input.shape());
  ensure_built(shapes);
  Graph::Scope scope(graph, label());
  bool own_policy = !dtype_policy_.empty();
  DType dtype = own_policy ? graph.policy_dtype(dtype_policy_) : graph.compute_dtype();
  Graph::ComputeDtype compute(graph, dtype);
  CallContext context(graph);
  Values outputs = call(dtype == DType::float32 ? as_float32(inputs) : inputs, context);
  add_penalties(graph);
  return outputs;
}

namespace {

// Whether `value` is computed from this variable, constants and nothing else, in the few nodes that
// a regulariser takes.
bool comes_only_from(const Graph& graph, int value, int variable, int depth) {
  if (value == variable) return true;
  const Node* node = graph.producer(value);
  if (node == nullptr) return graph.values()[size_t(value)].kind == ValueKind::constant;
  return depth > 0 && std::ranges::all_of(node->inputs, [&](int input) {
           return comes_only_from(graph, input, variable, depth - 1);
         });
}

bool has_penalty(Graph& graph, const Variable& weight) {
  constexpr int kRegulariserDepth = 4;  // add, mul, reduce, abs or square
  int variable = graph.read(weight).traced()->id;
  return std::ranges::any_of(graph.penalties(), [&](const Value& penalty) {
    return penalty.traced() &&
           comes_only_from(graph, penalty.traced()->id, variable, kRegulariserDepth);
  });
}

}  // namespace

void LayerBase::add_penalties(Graph& graph) const {
  if (!trainable_) return;
  for (const Weight& weight : weights_)
    if (weight.regularizer && weight.trainable && !has_penalty(graph, weight.variable))
      graph.add_penalty(weight.regularizer(graph.read(weight.variable)));
}

// --- LayerBase: errors ---------------------------------------------------------------------------

namespace {

std::string title(const LayerBase& layer) {
  return layer.name().empty() ? layer.kind() : fmt::format("{} \"{}\"", layer.kind(), layer.name());
}

}  // namespace

void LayerBase::fail_input(const std::string& expected, const Shape& got,
                           const std::string& advice) const {
  fail_input(fmt::format("expected {}, got {}{}{}", expected, to_string(got),
                         advice.empty() ? "" : "; ", advice));
}

void LayerBase::fail_input(const std::string& what) const {
  throw ShapeError(fmt::format("{}: {}", title(*this), what));
}

void LayerBase::fail_option(const std::string& what) const {
  throw ValueError(fmt::format("{}: {}", title(*this), what));
}

// --- Layer ---------------------------------------------------------------------------------------

Values Layer::call_all(const Values& inputs) const {
  if (base_ == nullptr)
    throw Error("an empty Layer was called: it was declared, but never given a layer");
  auto call = std::make_shared<LayerCall>(*this);
  call->trial = std::ranges::any_of(inputs, [](const Value& v) { return v.sketched() != nullptr; });
  Values outputs = stoker::apply(call, inputs);
  call->trial = false;
  return outputs;
}

Value Layer::operator()(const Values& inputs) const {
  Values outputs = call_all(inputs);
  if (outputs.size() != 1)
    throw Error(
        fmt::format("{} has {} outputs; take them with call_all()", title(*base_), outputs.size()));
  return outputs[0];
}

Value Layer::operator()(const Value& input) const { return (*this)(Values{input}); }

std::vector<Tensor> Layer::get_weights() const {
  std::vector<Tensor> values;
  for (const Variable& weight : base_->weights()) values.push_back(weight.read());
  return values;
}

void Layer::set_weights(const std::vector<Tensor>& values) const {
  std::vector<Variable> weights = base_->weights();
  if (values.size() != weights.size())
    throw ValueError(fmt::format("{}: set_weights got {} tensors for {} weights{}", title(*base_),
                                 values.size(), weights.size(),
                                 base_->built() ? "" : "; it has not met an input yet"));
  for (size_t i = 0; i < weights.size(); ++i)
    if (!values[i].defined() || values[i].spec() != weights[i].spec())
      throw ShapeError(fmt::format("{}: set_weights: \"{}\" is {}, got {}", title(*base_),
                                   weights[i].name(), to_string(weights[i].spec()),
                                   values[i].defined() ? to_string(values[i].spec()) : "nothing"));
  for (size_t i = 0; i < weights.size(); ++i) weights[i].write(values[i]);
}

}  // namespace stoker
