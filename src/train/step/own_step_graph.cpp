#include "train/step/own_step_graph.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/placement.h"
#include "nn/layer_tree.h"
#include "train/model/model_base.h"
#include "train/optimizers/optimizer_impl.h"
#include "train/step/program_cache.h"

namespace stoker {

namespace {

const char* name_of_step(StepKind kind) {
  return kind == StepKind::test ? "test_step" : "train_step";
}

// The values of the logs as float32 scalars of the graph. ValueError for logs that cannot be shown.
StepLogs placed_logs(Graph& graph, const StepLogs& logs, const char* step) {
  if (logs.empty())
    throw ValueError(fmt::format(
        "{}: it returned nothing to log; return a loss, or {{{{\"loss\", loss}}}}", step));
  std::set<std::string> names;
  StepLogs placed;
  for (const StepLog& each : logs) {
    if (each.name().empty() || !names.insert(each.name()).second)
      throw ValueError(fmt::format("{}: two of its logs are named \"{}\", or one has no name", step,
                                   each.name()));
    if (each.metric()) {
      placed.push_back(each);
      continue;
    }
    if (!each.value().defined())
      throw ValueError(fmt::format("{}: its log \"{}\" is an undefined Value", step, each.name()));
    Value value = place(graph, each.value());
    if (value.shape().rank() != 0)
      throw ShapeError(fmt::format("{}: its log \"{}\" is {}, expected a scalar; take ops::mean()",
                                   step, each.name(), to_string(value.spec())));
    placed.emplace_back(each.name(), ops::cast(value, DType::float32));
  }
  return placed;
}

// Not finite when a number of the logs or a gradient that was applied is not.
void guard_step(Graph& graph, const StepLogs& logs) {
  Graph::Scope scope(graph, "train_step");
  Graph::Scope phase(graph, Phase::backward);
  Value guard;
  auto watch = [&](const Value& value) { guard = guard.defined() ? guard + value : value; };
  for (const StepLog& each : logs)
    if (!each.metric()) watch(each.value());
  if (graph.guard() >= 0) watch(graph.value(graph.guard()));  // of a loss scale at its floor
  for (const Values& slopes : graph.notes<AppliedOptimizers>().unscaled)
    watch(apply("clip_scales", slopes, {{"mode", std::string("global")}, {"max_norm", 1e30}})[1] *
          0.0);
  if (guard.defined()) graph.guard(guard);
}

void count_step_of(Graph& graph, const Variable& random_state) {
  Graph::Scope phase(graph, Phase::update);
  graph.assign(random_state, Value(random_state) + Value(Tensor::from<int64_t>({0, 1}, {2})),
               Assign::always);
}

// What a training step changes, beside its model's own weights, the sums of its logs and the state of
// its random numbers: what a checkpoint has to keep.
void note_updates(const ModelBase& model, Compiled& compiled, const Variable& random_state,
                  Graph& graph) {
  OwnTraining& own = compiled.own;
  own.optimizers.clear();
  for (const Applied& each : graph.notes<AppliedOptimizers>().list)
    own.optimizers.push_back({each.optimizer, each.times});
  std::set<const void*> known = {random_state.id()};
  for (const Variable& weight : model.weights()) known.insert(weight.id());
  for (const OwnOptimizer& each : own.optimizers)
    for (const Variable& variable : each.optimizer.variables()) known.insert(variable.id());
  for (const auto& [name, variable] : compiled.training->variables()) known.insert(variable.id());
  compiled.weights = model.weights();
  // A step that only accumulates gradients assigns no weight.
  std::vector<Variable> changed = graph.notes<AppliedOptimizers>().parameters;
  for (const Assignment& assignment : graph.assignments())
    changed.push_back(graph.variables()[size_t(assignment.variable)].variable);
  compiled.trainable.clear();
  own.others.clear();
  for (const Variable& variable : each_once(changed)) {
    if (variable.category() == MemoryCategory::weights && variable.trainable())
      compiled.trainable.push_back(variable);
    if (known.insert(variable.id()).second) own.others.push_back(variable);
  }
  if (compiled.trainable.empty())
    throw Error(
        "fit: the train_step changes no trainable weight, so training would change nothing; call "
        "optimizer.apply(gradients(loss, variables), variables) in it");
  auto is_given = [&](const OwnOptimizer& each) {
    return each.optimizer == compiled.args.optimizer;
  };
  if (!own.optimizers.empty() && std::ranges::none_of(own.optimizers, is_given))
    compiled.args.optimizer = own.optimizers[0].optimizer;
}

}  // namespace

const OwnStep& own_step(const Compiled& compiled, StepKind kind) {
  static const OwnStep none;
  if (kind == StepKind::predict) return none;
  return kind == StepKind::test ? compiled.args.test_step : compiled.args.train_step;
}

void check_own_step_specs(const Trainer& trainer, StepKind kind, std::span<const TensorSpec> specs,
                          const std::string& action) {
  const std::optional<size_t>& arity = own_step(*trainer.compiled, kind).arity();
  if (arity && *arity != specs.size())
    throw ValueError(
        fmt::format("{}: the {} takes {} tensors, the batch has {} (inputs, targets, "
                    "sample weights)",
                    action, name_of_step(kind), *arity, specs.size()));
  for (const TensorSpec& spec : specs)
    if (spec.shape.rank() == 0 || spec.shape[0] != specs[0].shape[0])
      throw ShapeError(
          fmt::format("{}: got {} and {}; expected tensors with the same number of rows", action,
                      to_string(specs[0]), to_string(spec)));
  if (specs[0].shape[0] == 0) throw ValueError(action + ": the data is empty: it has no rows");
}

std::unique_ptr<Graph> trace_own_step(ModelBase& model, Trainer& trainer, StepKind kind,
                                      std::span<const TensorSpec> specs) {
  Compiled& compiled = *trainer.compiled;
  if (!compiled.training)
    throw Error(
        fmt::format("{} needs the shape of its input for an own step; begin the list with Input(…)",
                    model.title()));
  bool training = is_training(kind);
  const char* step = name_of_step(kind);
  auto graph = std::make_unique<Graph>();
  graph->set_training(training);
  set_precision(*graph, *trainer.context);
  if (training)
    graph->set_random_state(graph->variable(trainer.random_state));
  else
    graph->offer_random_state([&trainer] { return trainer.random_state; });
  Values batch;
  for (size_t i = 0; i < specs.size(); ++i)
    batch.push_back(graph->input(fmt::format("tensor {} of the batch", i), specs[i]));
  StepLogs logs;
  {
    Graph::Scope scope(*graph, step);
    logs = placed_logs(*graph, own_step(compiled, kind)(batch), step);
    if (training || graph->has_random_state()) count_step_of(*graph, trainer.random_state);
  }
  if (training) guard_step(*graph, logs);
  MetricSet& sums = training ? *compiled.training : *compiled.evaluation;
  sums.take(logs, step);
  sums.append(*graph, logs, specs[0].shape[0]);
  if (training) note_updates(model, compiled, trainer.random_state, *graph);
  for (const StepLog& each : logs)
    if (!each.metric()) graph->output(each.value(), each.name());
  return graph;
}

int64_t own_program(const Compiled& compiled) {
  int64_t program = 0;
  for (const auto& [optimizer, times] : compiled.own.optimizers)
    program = times == 1 ? program * 2 + int64_t(!updates_next(optimizer))
                         : program * optimizer.gradient_accumulation_steps() +
                               optimizer.accumulated_batches();
  return program;
}

void count_own_batch(const Compiled& compiled) {
  for (const auto& [optimizer, times] : compiled.own.optimizers)
    for (int64_t i = 0; i < times; ++i) count_batch(optimizer);
}

void check_own_fit(const Trainer& trainer, const FitArgs& args) {
  if (!has_own_step(trainer, StepKind::train)) return;
  auto refuse = [](const char* what, const char* instead) {
    throw ValueError(
        fmt::format("fit: {} is not for models with a train_step of their own; {}", what, instead));
  };
  if (!args.class_weight.empty()) refuse("class_weight", "weigh the samples in the step");
  if (args.batch_size.automatic()) refuse("batch_size = Auto", "give a number");
  if (args.on_out_of_memory == OnOutOfMemory::halve)
    refuse("on_out_of_memory = halve", "take a smaller batch");
}

void check_own_evaluation(const Trainer& trainer, const std::string& action) {
  const Compiled& compiled = *trainer.compiled;
  if (compiled.args.train_step.defined() && !compiled.args.test_step.defined() &&
      compiled.args.loss.list().empty())
    throw ValueError(fmt::format(
        "{}: the model has a train_step of its own, and neither a test_step nor a loss to "
        "evaluate with; give compile() one of them",
        action));
}

}  // namespace stoker
