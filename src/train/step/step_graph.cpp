#include "train/step/step_graph.h"

#include <algorithm>
#include <ostream>
#include <set>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "nn/called_weights.h"
#include "nn/layer_tree.h"
#include "nn/masks.h"
#include "train/model/model_base.h"
#include "train/model/settings.h"
#include "train/step/replica_sums.h"

namespace stoker {

namespace {

// The layers as compile() saw them, for as long as a step is traced.
class AsCompiled {
 public:
  explicit AsCompiled(const Compiled* compiled) {
    if (compiled == nullptr) return;
    bool same = std::ranges::all_of(compiled->trainable_layers, [](const auto& each) {
      return each.first->trainable() == each.second;
    });
    if (same) return;
    for (const auto& [layer, trainable] : compiled->trainable_layers)
      now_.emplace_back(layer, layer->trainable());
    set(compiled->trainable_layers);
  }
  ~AsCompiled() { set(now_); }
  AsCompiled(const AsCompiled&) = delete;
  AsCompiled& operator=(const AsCompiled&) = delete;

 private:
  using States = std::vector<std::pair<std::shared_ptr<LayerBase>, bool>>;
  // A layer sets those inside of it too, and these come later in the list.
  static void set(const States& states) {
    for (const auto& [layer, trainable] : states) layer->set_trainable(trainable);
  }
  States now_;
};

std::set<const void*> ids_of(const std::vector<Variable>& variables) {
  std::set<const void*> ids;
  for (const Variable& variable : variables) ids.insert(variable.id());
  return ids;
}

// What the forward pass reads and wants trained must be known to the optimiser; else training would
// leave it as it is without a word.
void check_all_trained(const ModelBase& model, const Graph& graph, const Compiled& compiled) {
  std::set<const void*> known = ids_of(compiled.weights);
  for (const Variable& weight : model.weights())
    if (!known.contains(weight.id()))
      throw Error(
          fmt::format("{}: weight \"{}\" appeared after compile(), so it would not be trained: its "
                      "layer was never called before this step; call it in every mode (its result "
                      "need not be used), or compile again now that it has its weights",
                      model.title(), weight.name()));
  for (const Descendant& inner : descendants(model))  // also what its parent does not list
    known.merge(ids_of(inner.layer.weights()));
  known.merge(ids_of(model.borrowed_weights()));
  for (const GraphVariable& used : graph.variables()) {
    const Variable& variable = used.variable;
    if (variable.category() == MemoryCategory::weights && variable.trainable() &&
        !known.contains(variable.id()))
      throw Error(
          fmt::format("{}: variable \"{}\" is used, but is no weight of one of its layers, so it "
                      "would not be trained; make it with add_weight(), or say "
                      "{{.trainable = false}} if it stays as it is",
                      model.title(), variable.name()));
  }
}

// The same of variables that the loss alone reads: those from `first` on. Another network's weights, as
// those of a perceptual loss, belong to a layer; a variable that belongs to none was meant to be trained.
void check_loss_variables(const ModelBase& model, Graph& graph, size_t first) {
  std::set<const void*> known = ids_of(model.weights());
  known.merge(ids_of(model.borrowed_weights()));
  const std::set<const void*>& called = called_weights(graph).ids;
  known.insert(called.begin(), called.end());
  for (size_t i = first; i < graph.variables().size(); ++i) {
    const Variable& variable = graph.variables()[i].variable;
    if (variable.category() == MemoryCategory::weights && variable.trainable() &&
        !known.contains(variable.id()))
      throw Error(fmt::format(
          "{}: the loss reads variable \"{}\", which is no weight of a layer, so it would not be "
          "trained; make it a weight of a layer that adds the loss (CallContext::add_loss), train "
          "it in a train_step, or say {{.trainable = false}} if it stays as it is",
          model.title(), variable.name()));
  }
}

StepValues trace_forward(ModelBase& model, Graph& graph, const Compiled* compiled,
                         std::span<const TensorSpec> specs) {
  const Topology& topology = model.topology("a step");
  StepValues traced;
  for (size_t i = 0; i < topology.inputs.size(); ++i)
    traced.inputs.push_back(graph.input(topology.input_names[i], specs[i]));
  CallContext context(graph);
  Graph::Scope scope(graph, "inputs");
  traced.predictions = model.call(traced.inputs, context);
  for (Value& prediction : traced.predictions)  // losses and metrics count in float32
    if (is_floating(prediction.dtype()) && prediction.dtype() != DType::float32) {
      Value wide = ops::cast(prediction, DType::float32);
      copy_mask(prediction, wide);
      prediction = wide;
    }
  if (compiled == nullptr) return traced;

  size_t next = traced.inputs.size(), outputs = traced.predictions.size();
  traced.targets.resize(outputs);
  traced.weights.resize(outputs);
  for (size_t i : compiled->judged) {
    std::string name = outputs == 1 ? "y" : "y of " + topology.output_names[i];
    traced.targets[i] = graph.input(name, specs[next++]);
  }
  Values weights;  // none, one for all, or one per target
  for (; next < specs.size(); ++next) weights.push_back(graph.input("sample_weight", specs[next]));
  for (size_t i = 0; i < compiled->judged.size() && !weights.empty(); ++i)
    traced.weights[compiled->judged[i]] = weights[weights.size() == 1 ? 0 : i];
  return traced;
}

// `beside`: of the outputs where there are several, then the model's own.
StepLoss trace_loss(ModelBase& model, Graph& graph, const Compiled& compiled,
                    const StepValues& traced) {
  Graph::Scope scope(graph, "loss");
  Value of_targets;
  Values of_outputs;
  for (size_t i : compiled.judged) {
    Value one = compiled.losses[i](traced.targets[i], traced.predictions[i], traced.weights[i]);
    of_outputs.push_back(one);
    Value weighted = compiled.loss_weights[i] == 1.0 ? one : one * compiled.loss_weights[i];
    of_targets = of_targets.defined() ? of_targets + weighted : weighted;
  }
  Values penalties = graph.penalties();
  StepLoss loss = model.step_loss(graph, of_targets, traced);
  for (const Value& penalty : penalties)
    loss.total = loss.total.defined() ? loss.total + penalty : penalty;
  if (!loss.total.defined() && graph.training())
    throw Error(
        "fit: there is nothing to minimise: no output has a loss, and no layer adds one "
        "(CallContext::add_loss) or has a regulariser; give compile() a loss");
  if (!loss.total.defined()) loss.total = graph.number(Tensor(0.0F));
  if (of_outputs.size() > 1)
    loss.beside.insert(loss.beside.begin(), of_outputs.begin(), of_outputs.end());
  return loss;
}

// Of the outputs that have a loss.
Values judged_of(const Values& all, const Compiled& compiled) {
  Values some;
  for (size_t i : compiled.judged) some.push_back(all[i]);
  return some;
}

// The losses of the whole batch, of which the replica computed a part.
StepLoss over_replicas(Graph& graph, const StepLoss& own) {
  Values means = own.beside;
  means.push_back(own.total);
  means = means_over_replicas(graph, means);
  StepLoss whole{.total = means.back(), .beside = {}};
  whole.beside.assign(means.begin(), means.end() - 1);
  return whole;
}

// With loss scaling the optimiser has named its alarm as the guard: it skips steps whose gradients
// are not finite, until its scale cannot become smaller. A loss that is not finite has nothing to
// do with the scale. Else: not finite when the loss or any gradient is not. A loss can hide a bad
// gradient: the slope of sqrt at 0, or a NaN that max(x, 0) swallowed. One pass over the gradients,
// 0.1 % of a step of the CNN 64/128.
Value make_guard(Graph& graph, const Optimizer& optimizer, const Value& loss,
                 const Values& slopes) {
  if (optimizer.scales_loss()) return graph.guard() < 0 ? loss : loss + graph.value(graph.guard());
  if (slopes.empty()) return loss;
  Graph::Scope scope(graph, "loss");
  Graph::Scope phase(graph, Phase::backward);
  Value norm =
      apply("clip_scales", slopes, {{"mode", std::string("global")}, {"max_norm", 1e30}})[1];
  return loss + norm * 0.0;
}

// Zeros for weights that this loss does not reach, as a second head that has no loss of its own.
Values trace_gradients(Graph& graph, const Value& loss, const std::vector<Variable>& weights) {
  Values slopes = gradients(loss, weights, {.unconnected = Unconnected::undefined});
  if (!slopes.empty() && std::ranges::none_of(slopes, &Value::defined))
    throw Error(
        fmt::format("fit: the loss depends on none of the {} trainable weights, so training would "
                    "change nothing; compute the loss from the model's outputs, without argmax, "
                    "comparisons or ops::stop_gradient in between",
                    weights.size()));
  Graph::Scope phase(graph, Phase::backward);
  for (size_t i = 0; i < slopes.size(); ++i)
    if (!slopes[i].defined())
      slopes[i] = ops::broadcast_to(graph.number(Tensor(0.0F)), weights[i].shape());
  return slopes;
}

// The gradients of this part and of those before it. The last part leaves zeros for the next batch,
// also in a step that is skipped.
Values add_part(Graph& graph, Trainer& trainer, const Values& slopes, bool last) {
  Graph::Scope scope(graph, "optimizer");
  Graph::Scope phase(graph, Phase::update);
  const std::vector<Variable>& trainable = trainer.compiled->trainable;
  trainer.part_sums.resize(trainable.size());
  Values sums;
  for (size_t i = 0; i < trainable.size(); ++i) {
    Variable& sum = trainer.part_sums[i];
    if (!sum.defined() || sum.shape() != trainable[i].shape())
      sum = Variable(trainable[i].name() + "/part_sum", Tensor::zeros(trainable[i].shape()),
                     {.trainable = false, .category = MemoryCategory::gradients});
    sums.push_back(Value(sum) + slopes[i]);
    Value zeros = ops::broadcast_to(graph.number(Tensor(0.0F)), sum.shape());
    graph.assign(sum, last ? zeros : sums.back(), Assign::always);
  }
  return sums;
}

void count_step(Graph& graph, const Variable& random_state) {
  Graph::Scope scope(graph, "metrics");
  Graph::Scope phase(graph, Phase::update);
  graph.assign(random_state, Value(random_state) + Value(Tensor::from<int64_t>({0, 1}, {2})),
               Assign::always);
}

}  // namespace

namespace {

// What draws random numbers outside of training: layers called with {.training = true}. Predictions
// leave the state of the training alone.
Variable inference_state(Trainer& trainer, StepKind kind) {
  if (kind != StepKind::predict) return trainer.random_state;
  if (!trainer.predict_state.defined())
    trainer.predict_state =
        make_random_state("predict/random_state", trainer.context->seed.value(), kPredictPurpose);
  return trainer.predict_state;
}

}  // namespace

namespace {

// Once per layer.
void say_dropped_masks(Trainer& trainer, Graph& graph) {
  std::ostream* out = trainer.context->out;
  for (const std::string& layer : layers_that_dropped_masks(graph))
    if (trainer.masks_dropped.insert(layer).second && out != nullptr)
      *out << fmt::format(
          "{}: its input carries a mask, which it does not support: what follows counts every "
          "step\n",
          layer);
}

}  // namespace

std::unique_ptr<Graph> trace_step(ModelBase& model, Trainer& trainer, StepKind kind,
                                  std::span<const TensorSpec> specs, int64_t whole,
                                  const Replica& replica) {
  if (!trainer.compiled && !trainer.settings_said.exchange(true))
    say_settings_without_effect(*trainer.context);  // compile() has, where there was one
  auto graph = std::make_unique<Graph>();
  replica_of(*graph) = replica;
  bool training = is_training(kind);
  graph->set_training(training);
  set_precision(*graph, *trainer.context);
  if (training)
    graph->set_random_state(random_state_of_replica(*graph, trainer.random_state));
  else
    graph->offer_random_state([&trainer, kind] { return inference_state(trainer, kind); });
  const Compiled* compiled = kind == StepKind::predict ? nullptr : trainer.compiled.get();
  AsCompiled layers(compiled);
  StepValues traced = trace_forward(model, *graph, compiled, specs);
  say_dropped_masks(trainer, *graph);
  if (compiled == nullptr) {
    for (size_t i = 0; i < traced.predictions.size(); ++i)
      graph->output(traced.predictions[i], model.topology("predict").output_names[i]);
    if (graph->has_random_state()) count_step(*graph, trainer.predict_state);
    return graph;
  }
  if (training) check_all_trained(model, *graph, *compiled);
  average_assigned(*graph);
  size_t of_model = graph->variables().size();
  StepLoss loss = trace_loss(model, *graph, *compiled, traced);
  if (training) check_loss_variables(model, *graph, of_model);
  Value own_loss = replica.alone() ? loss.total : loss.total * replica.share();
  loss = over_replicas(*graph, loss);
  if (training) {
    const Optimizer& optimizer = compiled->args.optimizer;
    Values slopes;
    if (!compiled->trainable.empty()) {  // a summary may ask for the step of a frozen model
      Value differentiated = optimizer.scale_loss(own_loss);
      if (whole > 0) differentiated = differentiated * (double(specs[0].shape[0]) / double(whole));
      slopes = trace_gradients(*graph, differentiated, compiled->trainable);
      slopes = sum_gradients(*graph, slopes);
      if (whole > 0) slopes = add_part(*graph, trainer, slopes, kind != StepKind::part);
      if (kind != StepKind::part) optimizer.apply(slopes, compiled->trainable);
    }
    count_step(*graph, trainer.random_state);
    graph->guard(make_guard(*graph, optimizer, loss.total, slopes));
  } else if (graph->has_random_state()) {
    count_step(*graph, trainer.random_state);
  }
  const MetricSet& sums = training ? *compiled->training : *compiled->evaluation;
  sums.append(*graph, loss.total, loss.beside, judged_of(traced.targets, *compiled),
              judged_of(traced.predictions, *compiled), judged_of(traced.weights, *compiled),
              replica.alone() ? specs[0].shape[0] : replica.whole);
  assign_pending_sums(*graph);
  graph->output(loss.total, "loss");
  return graph;
}

}  // namespace stoker
