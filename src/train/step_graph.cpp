#include "train/step_graph.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "train/model_base.h"
#include "train/settings.h"

namespace stoker {

namespace {

// The layers as compile() saw them, for as long as a step is traced.
class AsCompiled {
 public:
  explicit AsCompiled(const Compiled* compiled) {
    if (compiled == nullptr) return;
    for (const auto& [layer, trainable] : compiled->trainable_layers)
      if (layer->trainable() != trainable) {
        changed_.push_back(layer);
        layer->set_trainable(trainable);
      }
  }
  ~AsCompiled() {
    for (const auto& layer : changed_) layer->set_trainable(!layer->trainable());
  }
  AsCompiled(const AsCompiled&) = delete;
  AsCompiled& operator=(const AsCompiled&) = delete;

 private:
  std::vector<std::shared_ptr<LayerBase>> changed_;
};

struct Traced {
  Values targets, weights;  // one for each output; weights may be undefined
  Values predictions;
};

Traced trace_forward(ModelBase& model, Graph& graph, const Compiled* compiled,
                     std::span<const TensorSpec> specs) {
  const Topology& topology = model.topology("a step");
  Values inputs;
  for (size_t i = 0; i < topology.inputs.size(); ++i)
    inputs.push_back(graph.input(topology.input_names[i], specs[i]));
  CallContext context(graph);
  Traced traced;
  Graph::Scope scope(graph, "inputs");
  traced.predictions = model.call(inputs, context);
  for (Value& prediction : traced.predictions)  // losses and metrics count in float32
    if (is_floating(prediction.dtype()) && prediction.dtype() != DType::float32)
      prediction = ops::cast(prediction, DType::float32);
  if (compiled == nullptr) return traced;

  size_t next = inputs.size(), outputs = traced.predictions.size();
  for (size_t i = 0; i < outputs; ++i, ++next) {
    std::string name = outputs == 1 ? "y" : "y of " + topology.output_names[i];
    traced.targets.push_back(graph.input(name, specs[next]));
  }
  for (; next < specs.size(); ++next)
    traced.weights.push_back(graph.input("sample_weight", specs[next]));
  traced.weights.resize(outputs, traced.weights.empty() ? Value() : traced.weights[0]);
  return traced;
}

struct StepLoss {
  Value total;
  Values of_outputs;
};

StepLoss trace_loss(Graph& graph, const Compiled& compiled, const Traced& traced) {
  Graph::Scope scope(graph, "loss");
  StepLoss loss;
  for (size_t i = 0; i < traced.predictions.size(); ++i) {
    Value one = compiled.losses[i](traced.targets[i], traced.predictions[i], traced.weights[i]);
    loss.of_outputs.push_back(one);
    Value weighted = compiled.loss_weights[i] == 1.0 ? one : one * compiled.loss_weights[i];
    loss.total = i == 0 ? weighted : loss.total + weighted;
  }
  for (const Value& penalty : graph.penalties()) loss.total = loss.total + penalty;
  return loss;
}

// With loss scaling the optimiser has named its alarm as the guard: it skips steps whose gradients
// are not finite, until its scale cannot become smaller. A loss that is not finite has nothing to
// do with the scale. Else: not finite when the loss or any gradient is not. A loss can hide a bad
// gradient: the slope of sqrt at 0, or a NaN that max(x, 0) swallowed. One pass over the gradients,
// 0.1 % of a step of the seeds' CNN.
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

void count_step(Graph& graph, const Variable& random_state) {
  Graph::Scope scope(graph, "metrics");
  Graph::Scope phase(graph, Phase::update);
  graph.assign(random_state, Value(random_state) + Value(Tensor::from<int64_t>({0, 1}, {2})),
               Assign::always);
}

}  // namespace

std::unique_ptr<Graph> trace_step(ModelBase& model, Trainer& trainer, StepKind kind,
                                  std::span<const TensorSpec> specs) {
  if (!trainer.compiled && trainer.programs.latest(int(kind)) == nullptr)
    say_settings_without_effect(*trainer.context);  // compile() has, where there was one
  auto graph = std::make_unique<Graph>();
  bool training = kind == StepKind::train || kind == StepKind::accumulate;
  graph->set_training(training);
  set_precision(*graph, *trainer.context);
  if (training) graph->set_random_state(graph->variable(trainer.random_state));
  const Compiled* compiled = kind == StepKind::predict ? nullptr : trainer.compiled.get();
  AsCompiled layers(compiled);
  Traced traced = trace_forward(model, *graph, compiled, specs);
  if (compiled == nullptr) {
    for (size_t i = 0; i < traced.predictions.size(); ++i)
      graph->output(traced.predictions[i], model.topology("predict").output_names[i]);
    return graph;
  }
  StepLoss loss = trace_loss(*graph, *compiled, traced);
  if (training) {
    const Optimizer& optimizer = compiled->args.optimizer;
    Values slopes = trace_gradients(*graph, optimizer.scale_loss(loss.total), compiled->trainable);
    optimizer.apply(slopes, compiled->trainable);
    count_step(*graph, trainer.random_state);
    graph->guard(make_guard(*graph, optimizer, loss.total, slopes));
  }
  const MetricSet& sums = training ? *compiled->training : *compiled->evaluation;
  sums.append(*graph, loss.total, loss.of_outputs, traced.targets, traced.predictions,
              traced.weights, specs[0].shape[0]);
  graph->output(loss.total, "loss");
  return graph;
}

}  // namespace stoker
