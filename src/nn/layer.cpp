#include <stoker/layer.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/context.h>
#include <stoker/error.h>

#include "graph/graph.h"
#include "graph/placement.h"
#include "graph/remat.h"
#include "graph/sketch.h"
#include "nn/constraint_notes.h"
#include "nn/layer_call.h"
#include "nn/layer_tree.h"
#include "nn/layers/recurrent.h"
#include "nn/masks.h"
#include "nn/names.h"
#include "nn/remat_mode.h"

namespace stoker {

// --- CallContext ---------------------------------------------------------------------------------

bool CallContext::training() const { return graph_.training(); }

Value CallContext::random_state() const {
  const Value& state = graph_.random_state();
  if (!state.defined())
    throw Error(
        fmt::format("layer \"{}\" asks for random numbers in a graph that has no random state",
                    graph_.scope()));
  return state;
}

int64_t CallContext::next_stream() { return graph_.next_stream(); }

void CallContext::update(const Variable& variable, const Value& value) {
  bool floats = is_floating(value.dtype()) && is_floating(variable.dtype());
  graph_.assign(variable, floats ? ops::cast(value, variable.dtype()) : value);
}

Value CallContext::current(const Variable& variable) const { return graph_.read(variable); }

void CallContext::add_loss(const Value& scalar) { graph_.add_penalty(scalar); }

Value CallContext::mask_of(const Value& value) const { return stoker::mask_of(value); }

void CallContext::set_mask(const Value& value, const Value& mask) {
  stoker::set_mask(value, mask, graph_.scope());
}

namespace {

void append(std::vector<Variable>& all, const std::vector<Variable>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

// --- LayerBase: names, weights -------------------------------------------------------------------

LayerBase::LayerBase() : remat_(current_remat()) {
  if (const Graph* graph = Graph::current())
    born_in_ = graph->scope().empty() ? "a graph" : graph->scope();
}

std::string LayerBase::title() const { return titled(kind(), name_); }

std::string LayerBase::label() const { return name_.empty() ? snake_case(kind()) : name_; }

void LayerBase::set_dtype_policy(const std::string& policy) {
  if (!policy.empty()) compute_dtype(policy);  // checks it
  dtype_policy_ = policy;
}

std::vector<Variable> LayerBase::weights() const {
  std::vector<Variable> all;
  for (bool trainable : {true, false})
    for (const Weight& weight : weights_)
      if (weight.trainable == trainable) all.push_back(weight.variable);
  if (children_.empty()) return all;
  for (const Child& child : children_) append(all, child.layer->weights());
  return each_once(all);
}

std::vector<Variable> LayerBase::trainable_weights() const {
  std::vector<Variable> learning;
  for (const Weight& weight : weights_)
    if (weight.trainable && trainable_) learning.push_back(weight.variable);
  if (children_.empty()) return learning;
  for (const Child& child : children_) append(learning, child.layer->trainable_weights());
  return each_once(learning);
}

int64_t LayerBase::parameters() const {
  int64_t elements = 0;
  for (const Variable& weight : each_once(weights())) elements += weight.shape().elements();
  return elements;
}

Variable LayerBase::add_weight(const std::string& name, const Shape& shape,
                               const WeightOptions& options) {
  if (!born_in_.empty())
    throw Error(
        fmt::format("{}: it is constructed while \"{}\" is traced, which would give it new weights "
                    "in every trace; construct it once, as a member of the layer that calls it or "
                    "outside of function()",
                    title(), born_in_));
  if (built_)
    throw Error(
        fmt::format("{}: add_weight(\"{}\") after it is built; call() runs once per graph, and "
                    "would add a weight in each; add it in build()",
                    title(), name));
  if (!shape.is_known())
    throw ShapeError(
        fmt::format("{}: its weight \"{}\" would be {}: it needs a known size where its input has "
                    "None; give Input that size, or reduce the dimension before it "
                    "(GlobalAveragePooling1D, GlobalMaxPooling1D; Flatten needs a known size)",
                    title(), name, to_string(shape)));
  bool reshaped = options.drawn_as.rank() > 0;
  Tensor values = options.initializer(reshaped ? options.drawn_as : shape, options.dtype);
  Variable variable(path() + "/" + name, reshaped ? values.reshape(shape) : values,
                    {.trainable = options.trainable && trainable_});
  weights_.push_back({variable, name, options.regularizer, options.constraint, options.trainable});
  return variable;
}

// --- LayerBase: calls ----------------------------------------------------------------------------

void LayerBase::ensure_built(const std::vector<Shape>& inputs) {
  if (built_) return;
  weights_before_build_ = weights_.size();
  try {
    Graph::Outside outside;  // layers may be constructed in build()
    build(inputs);
  } catch (...) {
    unbuild();  // so that the next input, a fitting one, starts from nothing
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

Values LayerBase::compute_mask(const Values& inputs, const Values& masks) const {
  (void)inputs;
  return supports_masking() ? masks : Values();
}

namespace {

void check_arguments(const LayerBase& layer, const Attrs& arguments) {
  std::vector<std::string> known = layer.call_arguments();
  for (const auto& [name, value] : arguments.entries())
    if (std::ranges::find(known, name) == known.end())
      throw ValueError(
          fmt::format("{}: a call has no argument \"{}\"; there {}", layer.title(), name,
                      known.empty() ? "are none" : fmt::format("are {}", fmt::join(known, ", "))));
}

}  // namespace

namespace {

void check_returned(const LayerBase& layer, const Values& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i].defined())
      throw Error(
          fmt::format("{}: call() returned an undefined Value as output {}", layer.title(), i));
}

}  // namespace

Values LayerBase::run(Graph& graph, const Values& inputs, const Values& masks,
                      const Attrs& arguments) {
  check_arguments(*this, arguments);
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const Value& input : inputs) shapes.push_back(declared_shape(graph, input));
  bool first = !built_;
  size_t known = children_.size();
  ensure_built(shapes);
  try {
    Graph::Scope scope(graph, path());
    bool own_policy = !dtype_policy_.empty();
    DType dtype = own_policy ? graph.policy_dtype(dtype_policy_) : graph.compute_dtype();
    Graph::ComputeDtype compute(graph, dtype);
    CallContext context(graph, masks, arguments);
    size_t first_node = graph.nodes().size();
    Values outputs = call(dtype == DType::float32 ? as_float32(inputs) : inputs, context);
    check_returned(*this, outputs);
    if (recomputes_call(*this, outputs)) mark_for_remat(graph, first_node);
    add_penalties(graph);
    mask_outputs(graph, *this, inputs, masks, outputs);
    return outputs;
  } catch (...) {
    disown_from(known);
    if (first) unbuild();
    throw;
  }
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

// Weights whose regularisers are among the penalties of a graph.
struct PenalisedWeights {
  std::set<const void*> ids;
};

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
  Graph* step = &graph;
  while (step->outer() != nullptr) step = step->outer();  // not inside the body of a loop
  for (const Weight& weight : weights_) {
    if (!weight.trainable) continue;
    if (weight.constraint) note_constraint(*step, weight.variable, weight.constraint);
    if (weight.regularizer && !has_penalty(*step, weight.variable) &&
        step->notes<PenalisedWeights>().ids.insert(weight.variable.id()).second)
      step->add_penalty(weight.regularizer(step->read(weight.variable)));
  }
}

// --- LayerBase: errors ---------------------------------------------------------------------------

void LayerBase::fail_input(const std::string& expected, const Shape& got,
                           const std::string& advice) const {
  fail_input(fmt::format("expected {}, got {}{}{}", expected, to_string(got),
                         advice.empty() ? "" : "; ", advice));
}

void LayerBase::fail_input(const std::string& what) const {
  throw ShapeError(fmt::format("{}: {}", title(), what));
}

void LayerBase::fail_option(const std::string& what) const {
  throw ValueError(fmt::format("{}: {}", title(), what));
}

// --- Layer ---------------------------------------------------------------------------------------

namespace {

// What a layer calls in training only has weights too, which the model must know from the start.
void find_children_in_training(LayerCall& call, const Values& inputs) {
  try {
    try_out(call, inputs, /*training=*/true);
  } catch (const std::exception&) {
    // The placeholder's batch size may not suit it. If more is wrong, the training step says so.
  }
}

}  // namespace

Values Layer::call_all(const Values& inputs, const CallOptions& options) const {
  if (base_ == nullptr)
    throw Error("an empty Layer was called: it was declared, but never given a layer");
  auto call = std::make_shared<LayerCall>(*this, options.training, options.arguments);
  Values operands = call->with_masks(inputs, options.mask);
  call->trial = std::ranges::any_of(inputs, [](const Value& v) { return v.sketched() != nullptr; });
  if (call->trial) call->expect_masks_of(inputs);
  graph_of(base_->title(), operands);  // what belongs to nothing is named with its layer
  bool first = call->trial && !base_->built();
  Values outputs;
  try {
    outputs = stoker::apply(call, operands);
  } catch (...) {
    if (first && base_->built()) base_->unbuild();  // one extent fits it, another does not
    throw;
  }
  if (first && !base_->children_.empty() && !options.training)
    find_children_in_training(*call, operands);
  call->trial = false;
  return outputs;
}

Value Layer::operator()(const Values& inputs, const CallOptions& options) const {
  Values outputs = call_all(inputs, options);
  if (outputs.size() != 1)
    throw Error(fmt::format("{} has {} outputs; take them with call_all()", base_->title(),
                            outputs.size()));
  return outputs[0];
}

Value Layer::operator()(const Value& input, const CallOptions& options) const {
  return (*this)(Values{input}, options);
}

std::vector<Variable> Layer::weights() const { return each_once(base_->weights()); }

std::vector<Variable> Layer::trainable_weights() const {
  return each_once(base_->trainable_weights());
}

std::vector<Tensor> Layer::get_weights() const {
  std::vector<Tensor> values;
  for (const Variable& weight : weights_without_states(*base_, weights()))
    values.push_back(weight.read());
  return values;
}

void Layer::set_weights(const std::vector<Tensor>& values) const {
  std::vector<Variable> weights = weights_without_states(*base_, this->weights());
  if (values.size() != weights.size())
    throw ValueError(fmt::format("{}: set_weights got {} tensors for {} weights{}", base_->title(),
                                 values.size(), weights.size(),
                                 base_->built() ? "" : "; it has not met an input yet"));
  for (size_t i = 0; i < weights.size(); ++i)
    if (!values[i].defined() || values[i].spec() != weights[i].spec())
      throw ShapeError(fmt::format("{}: set_weights: \"{}\" is {}, got {}", base_->title(),
                                   weights[i].name(), to_string(weights[i].spec()),
                                   values[i].defined() ? to_string(values[i].spec()) : "nothing"));
  for (size_t i = 0; i < weights.size(); ++i) weights[i].write(values[i]);
}

}  // namespace stoker
