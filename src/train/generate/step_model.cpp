#include "train/generate/step_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/emit.h"
#include "nn/logits.h"
#include "train/model/trainer.h"

namespace stoker {

namespace {

Value float_logits(const Value& output) {
  Value logits = logits_behind_softmax(output);
  return emit::cast(logits.defined() ? logits : output, DType::float32);
}

void check_logits(const ModelBase& model, const Shape& tokens, const Value& logits) {
  const Shape& shape = logits.shape();
  bool steps = shape.rank() == 3 && shape[0] == tokens[0] && shape[1] == tokens[1];
  bool last = shape.rank() == 2 && shape[0] == tokens[0];
  if (!steps && !last)
    throw ShapeError(fmt::format(
        "generate: {}: expected logits [B, T, vocabulary] or [B, vocabulary], got {} for tokens {}",
        model.title(), to_string(shape), to_string(tokens)));
}

}  // namespace

TracedLogits trace_logits(ModelBase& model, std::span<const TensorSpec> specs) {
  const Topology& topology = model.topology("generate");
  Trainer& trainer = trainer_of(model);
  TracedLogits traced{std::make_unique<Graph>(), {}, -1};
  Graph& graph = *traced.graph;
  set_precision(graph, *trainer.context);
  graph.offer_random_state([&trainer] {
    return make_random_state("generate/random_state", trainer.context->seed.value(),
                             kPredictPurpose);
  });
  Values inputs;
  for (size_t i = 0; i < specs.size(); ++i)
    inputs.push_back(graph.input(topology.input_names[i], specs[i]));
  CallContext context(graph);
  Graph::Scope scope(graph, "inputs");
  Values outputs = model.call(inputs, context);
  Value logits = float_logits(outputs[0]);
  check_logits(model, specs.back().shape, logits);
  traced.logits = logits.traced()->id;
  traced.tokens = {.value = inputs.back().traced()->id,
                   .length = specs.back().shape[1],
                   .any_length = topology.inputs.back().shape()[1] < 0};
  return traced;
}

StepModel::StepModel(TracedLogits logits, int64_t cache_capacity)
    : traced(std::move(logits)), capacity(cache_capacity) {
  if (!graph().assignments().empty())
    throw NotInSteps{fmt::format(
        "variable \"{}\" changes with every prediction",
        graph().variables()[size_t(graph().assignments()[0].variable)].variable.name())};
  traced.graph->output(traced.graph->value(traced.logits), "logits");
  traced.graph->remove_dead_nodes();
  axes = find_time_axes(graph(), traced.tokens);
  for (const GraphInput& input : graph().inputs())
    if (input.value != traced.tokens.value) other_inputs.push_back(graph().spec(input.value));
  for (const Node& node : graph().nodes())
    if (attends_to_tokens(node, axes) && !node.attrs.get_or("causal", false))
      masks.push_back(node.inputs[3]);
}

// --- the fixed values -----------------------------------------------------------------------------

namespace {

// Copies the fixed part of a traced graph, as far as it is asked for.
class FixedWriter {
 public:
  FixedWriter(const StepModel& model, Graph& to) : model_(model), to_(to) {
    for (const GraphInput& input : model.graph().inputs())
      if (input.value != model.traced.tokens.value)
        there_[input.value] = to.input(input.name, model.graph().spec(input.value));
  }

  Value at(int id) {
    if (auto known = there_.find(id); known != there_.end()) return known->second;
    const Graph& from = model_.graph();
    const ValueInfo& info = from.values()[size_t(id)];
    if (info.kind == ValueKind::constant)
      return there_[id] = to_.constant(from.constants()[size_t(info.source)].tensor);
    if (info.kind == ValueKind::variable)
      return there_[id] = to_.variable(from.variables()[size_t(info.source)].variable);
    const Node& node = *from.producer(id);
    Values operands;
    for (int input : node.inputs) operands.push_back(at(input));
    Graph::Scope scope(to_, node.scope);
    Values results = to_.add(*node.op, operands, node.attrs);
    for (size_t i = 0; i < results.size(); ++i) there_[node.outputs[i]] = results[i];
    return there_.at(id);
  }

 private:
  const StepModel& model_;
  Graph& to_;
  std::map<int, Value> there_;
};

// [before, T, behind] → [T, before, behind]
Value with_time_first(const Value& x, int axis) {
  int64_t before = 1, behind = 1;
  for (int i = 0; i < x.shape().rank(); ++i)
    if (i != axis) (i < axis ? before : behind) *= x.shape()[i];
  Value flat = emit::reshape(x, {before, x.shape()[axis], behind});
  return before == 1 ? emit::reshape(flat, {x.shape()[axis], before, behind})
                     : emit::transpose(flat, {1, 0, 2});
}

}  // namespace

std::unique_ptr<Graph> fixed_graph(const StepModel& model) {
  if (model.fixed.empty() && model.masks.empty()) return nullptr;
  auto graph = std::make_unique<Graph>();
  FixedWriter writer(model, *graph);
  for (const auto& [form, variable] : model.fixed) {
    Graph::Scope scope(*graph, "generate");
    Value value = writer.at(form.value);
    if (form.time_first >= 0)
      value = with_time_first(emit::cast(value, variable.dtype()), form.time_first);
    graph->assign(variable, emit::cast(value, variable.dtype()), Assign::always);
  }
  for (int mask : model.masks) graph->output(writer.at(mask), "mask");
  return graph;
}

bool is_causal_mask(const Tensor& mask) {
  int64_t keys = mask.shape()[-1], queries = mask.shape()[-2];
  // What softmax makes 0 of, whatever the other scores are.
  constexpr double kHidden = -1e8;
  for (int64_t i = 0; i < mask.elements(); ++i) {
    bool later = i % keys > i / keys % queries;
    double hidden = mask.dtype() == DType::bool_ ? 0 : kHidden;
    if (later && mask.at(i) > hidden) return false;
  }
  return keys == queries;
}

}  // namespace stoker
