// scan: a loop, whose gradient is a loop back.
#include "graph/ops/scan.h"

#include <fmt/format.h>

#include "graph/autodiff.h"
#include "graph/emit.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

ScanCall::ScanCall(std::shared_ptr<const Graph> graph, int64_t steps, bool backwards,
                   std::vector<ScanRole> input_roles)
    : body(std::move(graph)), length(steps), reverse(backwards), roles(std::move(input_roles)) {}

ScanCall::ScanCall(const Attrs& attrs)
    : body(attrs.get<std::shared_ptr<const Graph>>("body")),
      length(attrs.get<int64_t>("length")),
      reverse(attrs.get<bool>("reverse")),
      gate(attrs.get_or("gate", int64_t(-1))) {
  for (int64_t role : attrs.get<Ints>("roles")) roles.push_back(ScanRole(role));
}

Attrs ScanCall::attrs() const {
  Ints numbers;
  for (ScanRole role : roles) numbers.push_back(int64_t(role));
  Attrs made = {{"body", body}, {"length", length}, {"reverse", reverse}, {"roles", numbers}};
  if (gate >= 0) made.set("gate", gate);
  return made;
}

std::vector<size_t> ScanCall::inputs_of(ScanRole role) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < roles.size(); ++i)
    if (roles[i] == role) found.push_back(i);
  return found;
}

namespace {

TensorSpec stacked(const TensorSpec& spec, int64_t length) {
  return {spec.dtype, spec.shape.prepend(length)};
}

void check_body(const ScanCall& call) {
  if (call.body == nullptr || !call.body->variables().empty())
    throw ShapeError("expected a body without variables of its own");
  if (call.roles.size() != call.body->inputs().size() || call.length < 0)
    throw ShapeError(fmt::format("expected a role per input of the body, {}, got {}",
                                 call.body->inputs().size(), call.roles.size()));
  std::vector<size_t> carries = call.inputs_of(ScanRole::carry);
  if (call.body->outputs().size() < carries.size())
    throw ShapeError("expected the body to give every carry");
  for (size_t i = 0; i < carries.size(); ++i)
    expect_spec(call.output(i), call.input(carries[i]), "a carry from the body");
  if (call.gate >= int64_t(call.roles.size()))
    throw ShapeError(fmt::format("expected a gate among {} inputs of the body, got {}",
                                 call.roles.size(), call.gate));
  if (call.gate >= 0)
    expect_spec(call.input(size_t(call.gate)), {DType::bool_, {}}, "the gate of the loop");
}

std::vector<TensorSpec> infer_scan(const Attrs& attrs, Specs inputs) {
  ScanCall call(attrs);
  check_body(call);
  expect_count(inputs, call.roles.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    expect_spec(
        inputs[i],
        call.roles[i] == ScanRole::sequence ? stacked(call.input(i), call.length) : call.input(i),
        "an operand of the loop");
  std::vector<TensorSpec> outputs;
  size_t carries = call.carries();
  for (size_t i = 0; i < call.body->outputs().size(); ++i)
    outputs.push_back(i < carries ? call.output(i) : stacked(call.output(i), call.length));
  for (size_t i = 0; i < carries; ++i) outputs.push_back(stacked(call.output(i), call.length));
  return outputs;
}

Cost scan_cost(const Attrs& attrs, Specs inputs, Specs outputs) {
  ScanCall call(attrs);
  Cost cost = cost_of(0, inputs, outputs);
  for (const Node& node : call.body->nodes()) {
    Cost one = call.body->cost(node);
    cost.flops += one.flops * double(call.length);
    cost.bytes += one.bytes * double(call.length);
  }
  return cost;
}

// --- the gradient ---

bool is_float(const TensorSpec& spec) { return is_floating(spec.dtype); }

Value zeros(Graph& graph, const TensorSpec& spec) {
  return emit::broadcast_to(graph.number(Tensor::zeros({}, spec.dtype)), spec.shape);
}

// Emits the nodes of a body into another graph, in their layers; what its outputs are there.
Values emit_body(Graph& graph, const Graph& body, const Values& inputs) {
  std::unordered_map<int, Value> there;
  for (size_t i = 0; i < inputs.size(); ++i) there[body.inputs()[i].value] = inputs[i];
  for (const Node& node : body.nodes()) {
    Graph::Scope scope(graph, node.scope);
    Values operands;
    for (int id : node.inputs) operands.push_back(there.at(id));
    Values results = graph.add(*node.op, operands, node.attrs);
    for (size_t i = 0; i < results.size(); ++i) there[node.outputs[i]] = results[i];
  }
  Values outputs;
  for (const GraphOutput& output : body.outputs()) outputs.push_back(there.at(output.value));
  return outputs;
}

// The loop back. A step computes the forward step again from the carries it began with, and pulls
// the gradients through it. Carries: the gradients of the forward carries, then a float32 sum per
// captured operand. Results: the gradients of the slices.
class ScanGradient {
 public:
  explicit ScanGradient(const GradientCall& call)
      : call_(call), scan_(call.attrs), body_(std::make_shared<Graph>()) {
    body_->begin_body(call.graph);
  }

  Values run() {
    Graph::Scope scope(*body_, Phase::backward);
    add_forward_inputs();
    add_gradients();
    trace();
    return emit();
  }

 private:
  // An input of the body, and what the loop is called with there.
  Value add_input(ScanRole role, const TensorSpec& step, const Value& operand) {
    roles_.push_back(role);
    operands_.push_back(operand);
    return body_->input("", step);
  }
  Value slices(const TensorSpec& step, const Value& operand) {
    return add_input(ScanRole::sequence, step, operand);
  }

  void add_forward_inputs() {
    size_t results = scan_.body->outputs().size(), carry = 0;
    for (size_t i = 0; i < scan_.roles.size(); ++i) {
      if (scan_.roles[i] == ScanRole::carry)
        forward_.push_back(slices(scan_.input(i), call_.outputs[results + carry++]));
      else if (scan_.roles[i] == ScanRole::sequence)
        forward_.push_back(slices(scan_.input(i), call_.inputs[i]));
      else
        forward_.push_back(add_input(ScanRole::captured, scan_.input(i), call_.inputs[i]));
    }
  }

  void add_gradients() {
    size_t carries = scan_.carries(), results = scan_.body->outputs().size();
    gradients_.resize(results);
    history_.resize(carries);
    for (size_t i = 0; i < carries; ++i) {
      const TensorSpec& spec = scan_.output(i);
      if (!is_float(spec)) continue;
      const Value& given = call_.output_gradients[i];
      gradients_[i] =
          add_input(ScanRole::carry, spec, given.defined() ? given : zeros(call_.graph, spec));
      const Value& history = call_.output_gradients[results + i];
      if (history.defined()) history_[i] = slices(spec, history);
    }
    for (size_t i = carries; i < results; ++i)
      if (const Value& given = call_.output_gradients[i]; given.defined())
        gradients_[i] = slices(scan_.output(i), given);
    sums_.resize(scan_.roles.size());
    for (size_t i : scan_.inputs_of(ScanRole::captured)) {
      TensorSpec wide{DType::float32, scan_.input(i).shape};
      if (call_.needed[i] && is_float(scan_.input(i)))
        sums_[i] = add_input(ScanRole::carry, wide, zeros(call_.graph, wide));
    }
  }

  void trace() {
    std::vector<bool> needed;
    for (size_t i = 0; i < scan_.roles.size(); ++i)
      needed.push_back(is_float(scan_.input(i)) &&
                       (scan_.roles[i] == ScanRole::carry || call_.needed[i]));
    auto step = [&](const Values& inputs) { return emit_body(*body_, *scan_.body, inputs); };
    Values found = pull_back(*body_, forward_, needed, step, gradients_);
    size_t carry = 0;
    for (size_t i : scan_.inputs_of(ScanRole::carry)) {
      size_t index = carry++;
      if (!is_float(scan_.input(i))) continue;
      Value sum = history_[index];
      if (found[i].defined()) sum = sum.defined() ? found[i] + sum : found[i];
      body_->output(sum.defined() ? sum : zeros(*body_, scan_.input(i)), "");
    }
    for (size_t i : scan_.inputs_of(ScanRole::captured))
      if (sums_[i].defined())
        body_->output(
            found[i].defined() ? sums_[i] + emit::cast(found[i], DType::float32) : sums_[i], "");
    for (size_t i : scan_.inputs_of(ScanRole::sequence)) {
      if (!call_.needed[i] || !found[i].defined()) continue;
      body_->output(found[i], "");
      slices_.push_back(i);
    }
    body_->remove_dead_nodes();
  }

  Values emit() {
    // What the rules captured comes behind the inputs that were made here.
    for (size_t i = operands_.size(); i < body_->inputs().size(); ++i) {
      roles_.push_back(ScanRole::captured);
      operands_.push_back(body_->captured()[i]);
    }
    ordered();
    body_->end_body();
    ScanCall back(body_, scan_.length, !scan_.reverse, roles_);
    back.gate = scan_.gate;  // the inputs of the forward body come first, in their order
    Values results = apply("scan", operands_, back.attrs());
    Values gradients(scan_.roles.size());
    size_t next = 0;
    for (size_t i : scan_.inputs_of(ScanRole::carry))
      if (is_float(scan_.input(i))) gradients[i] = results[next++];
    for (size_t i : scan_.inputs_of(ScanRole::captured))
      if (sums_[i].defined()) gradients[i] = emit::cast(results[next++], scan_.input(i).dtype);
    for (size_t i : slices_) gradients[i] = results[next++];
    return gradients;
  }

  void ordered() const {
    if (roles_.size() != body_->inputs().size())
      throw Error("the gradient of a loop lost an input of its body");
  }

  const GradientCall& call_;
  ScanCall scan_;
  std::shared_ptr<Graph> body_;
  std::vector<ScanRole> roles_;
  Values operands_;   // by input of the body
  Values forward_;    // by input of the forward body: what it is here
  Values gradients_;  // by output of the forward body
  Values history_;    // by carry
  Values sums_;       // by input of the forward body
  std::vector<size_t> slices_;
};

Values scan_gradient(const GradientCall& call) { return ScanGradient(call).run(); }

}  // namespace

void register_scan_ops(OpRegistry& registry) {
  registry.add({.name = "scan",
                .infer = infer_scan,
                .gradient = scan_gradient,
                .cost = scan_cost,
                .dtypes = {}});
}

}  // namespace stoker
