#include <stoker/function.h>

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/one_thread.h"
#include "graph/placement.h"
#include "train/model/settings.h"
#include "train/model/trainer.h"
#include "train/optimizers/optimizer_impl.h"
#include "train/step/distribution.h"
#include "train/step/program_cache.h"
#include "train/step/replica_sums.h"
#include "train/step/step_tap.h"

namespace stoker {

// Where a result is: still with the program, or fetched.
struct LazyTensor::State {
  Program* program = nullptr;  // null once fetched
  size_t index = 0;
  Tensor value;

  void fetch() {
    if (program == nullptr) return;
    Program* from = std::exchange(program, nullptr);
    value = from->output(index);
  }
};

Tensor LazyTensor::tensor() const {
  if (state_ == nullptr) throw Error("an empty LazyTensor was read");
  state_->fetch();
  return state_->value;
}

double LazyTensor::item() const {
  if (state_ != nullptr && state_->program != nullptr)
    return state_->program->scalar(state_->index);
  return tensor().item();
}

struct TracedFunction::Impl {
  Body body;
  FunctionOptions options;
  Context* context;
  ProgramCache programs;
  Variable random_state;
  bool draws = false;               // a program of it reads the random state
  bool numbered = false;            // the random state is that of no other function
  std::vector<Applied> optimizers;  // whose apply() the body calls
  std::vector<std::shared_ptr<LazyTensor::State>> results;  // of the last call
  size_t traces = 0;
  OneThread one_thread;
  std::shared_ptr<Distribution> distribution;  // of the scope it was made in; null: one device
  std::set<const void*> alike;                 // variables that all processes began with alike

  ~Impl() {
    try {
      release_results();
    } catch (const std::exception&) {  // the holder finds an undefined tensor
    }
  }
  // Which of their programs the optimisers ask for. Applied once: does it update? Applied several
  // times: which of them updates depends on how many batches have been accumulated.
  int kind() const {
    int64_t kind = 0;
    for (const auto& [optimizer, times] : optimizers)
      kind = times == 1
                 ? kind * 2 + int64_t(updates_next(optimizer))
                 : kind * optimizer.gradient_accumulation_steps() + optimizer.accumulated_batches();
    return int(kind);
  }
  CachedProgram& trace(std::span<const Tensor> inputs);
  CachedProgram& trace_replicas(std::vector<TensorSpec> specs);
  std::unique_ptr<Graph> graph_of(const Replica& replica, std::span<const TensorSpec> specs);
  Values over_replicas(Graph& graph, const Values& returned) const;
  void begin_alike(Graph& graph);
  void number_draws();
  // A later run overwrites the outputs: results that are still held are fetched first.
  void release_results() {
    for (const auto& result : results)
      if (result.use_count() > 1) result->fetch();
    results.clear();
  }
};

TracedFunction::TracedFunction(Body body, FunctionOptions options)
    : impl_(std::make_shared<Impl>()) {
  impl_->body = std::move(body);
  impl_->context = options.context ? options.context : &default_context();
  if (options.replicated) impl_->distribution = distribution_of_functions();
  impl_->options = std::move(options);
}

namespace {

// Of the arguments that are divided among replicas; 0: there are only scalars, or none.
int64_t rows_of_arguments(const std::string& name, std::span<const Tensor> inputs) {
  int64_t rows = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].shape().rank() == 0) continue;
    int64_t own = inputs[i].shape()[0];
    if (rows > 0 && own != rows)
      throw ValueError(fmt::format(
          "{}: argument {} has {} rows and another one {}; inside a strategy's scope all arguments "
          "but scalars are divided by rows. Give them as many rows, make what all devices need a "
          "Variable, or set FunctionOptions::replicated to false",
          name, i, own, rows));
    rows = own;
  }
  return rows;
}

}  // namespace

size_t TracedFunction::traces() const { return impl_->traces; }

HostMemory& pinned_memory(const Context& context) { return engine_of(context).host_memory(); }

CachedProgram& TracedFunction::Impl::trace(std::span<const Tensor> inputs) {
  std::lock_guard lock(building());
  if (traces == 0) {
    check_settings(*context);
    say_settings_without_effect(*context);
  }
  if (!random_state.defined()) {
    random_state =
        make_random_state(options.name + "/random_state", context->seed.value(), kDropoutPurpose);
  }
  if (distribution != nullptr && rows_of_arguments(options.name, inputs) > 0)
    return trace_replicas(specs_of(inputs));
  std::vector<TensorSpec> specs = specs_of(inputs);
  std::unique_ptr<Graph> graph = graph_of({}, specs);
  ++traces;
  number_draws();
  optimizers = graph->notes<AppliedOptimizers>().list;
  return programs.add(kind(), std::move(specs), std::move(graph), *context);
}

std::unique_ptr<Graph> TracedFunction::Impl::graph_of(const Replica& replica,
                                                      std::span<const TensorSpec> specs) {
  auto graph = std::make_unique<Graph>();
  replica_of(*graph) = replica;
  replica_of(*graph).averages_gradients = true;
  graph->set_training(options.training);
  set_precision(*graph, *context);
  graph->set_random_state(random_state_of_replica(*graph, random_state));
  Values values;
  for (size_t i = 0; i < specs.size(); ++i)
    values.push_back(graph->input(fmt::format("argument {} of {}", i, options.name), specs[i]));
  Values outputs;
  {
    Graph::Scope scope(*graph, options.name);
    outputs = body(values);
    outputs = place(*graph, outputs);  // variables and constants join the graph
    if (!replica.alone()) {
      average_assigned(*graph);
      assign_pending_sums(*graph);
      outputs = over_replicas(*graph, outputs);
    }
    bool drawn = graph->use_counts()[size_t(graph->random_state().traced()->id)] > 0;
    draws |= drawn;
    if (options.training || drawn) {
      Graph::Scope phase(*graph, Phase::update);
      graph->assign(random_state, Value(random_state) + Value(Tensor::from<int64_t>({0, 1}, {2})),
                    Assign::always);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    graph->output(outputs[i], fmt::format("result {}", i));
  return graph;
}

CachedProgram& TracedFunction::Impl::trace_replicas(std::vector<TensorSpec> specs) {
  DistributedStep step{.specs = specs,
                       .trace = [&](const Replica& replica, std::span<const TensorSpec> own) {
                         return graph_of(replica, own);
                       }};
  Distribution::Made made = distribution->compile(step, *context);
  ++traces;
  number_draws();
  begin_alike(*made.graph);
  optimizers = made.graph->notes<AppliedOptimizers>().list;
  return programs.add(kind(), std::move(specs), std::move(made.graph), std::move(made.program));
}

// Rows stay as they are and are joined; what is left are means over the replica's rows.
Values TracedFunction::Impl::over_replicas(Graph& graph, const Values& returned) const {
  const Replica& replica = replica_of(graph);
  int64_t rows = std::max<int64_t>(replica.rows, 1);
  auto& joined = graph.notes<JoinedOutputs>().list;
  Values means, all = returned;
  for (size_t i = 0; i < returned.size(); ++i) {
    const Shape& shape = returned[i].shape();
    joined.push_back(shape.rank() > 0 && shape[0] == rows);
    if (joined.back() && distribution->processes() != nullptr)
      throw ValueError(fmt::format(
          "{}: result {}, {}, has a row per sample, and every process has only its own ones; "
          "return means, or set FunctionOptions::replicated to false",
          options.name, i, to_string(returned[i].spec())));
    if (!joined.back() && !is_floating(returned[i].dtype()))
      throw ValueError(fmt::format(
          "{}: result {} is {}, and results of several devices are averaged; cast it to float32",
          options.name, i, to_string(returned[i].spec())));
    if (!joined.back()) means.push_back(returned[i]);
  }
  means = means_over_replicas(graph, means);
  for (size_t i = 0, next = 0; i < all.size(); ++i)
    if (!joined[i]) all[i] = means[next++];
  return all;
}

// A function that draws has a key of its own, by its place among the initialisers and functions of the
// program: two functions, and two calls of compute(), give different numbers.
void TracedFunction::Impl::number_draws() {
  if (!draws || numbered) return;
  numbered = true;
  uint64_t key = derived_seed(context->seed.value(), kDropoutPurpose);
  random_state.write(make_random_state("", key, context->next_stream()).read());
}

// Every process begins with what the first one holds. State that one replica keeps is as it was made.
void TracedFunction::Impl::begin_alike(Graph& graph) {
  const std::shared_ptr<StateShards>& shards = replica_of(graph).shards;
  std::vector<Variable> fresh;
  for (const GraphVariable& used : graph.variables())
    if ((shards == nullptr || shards->keeper_of(used.variable) < 0) &&
        alike.insert(used.variable.id()).second)
      fresh.push_back(used.variable);
  if (distribution->processes() != nullptr) distribution->broadcast(fresh);
}

namespace {

// Only loss scaling guards an own loop: its scale is as small as it may become.
[[noreturn]] void fail_non_finite(const std::string& name, Program& program,
                                  std::span<const Tensor> inputs) {
  std::optional<NonFinite> found = program.find_non_finite(inputs);
  throw NonFiniteError(fmt::format(
      "{}: a gradient is not finite although the loss scale is 1{}; no weight was changed", name,
      found ? fmt::format(": the first bad value comes out of op \"{}\" in layer \"{}\"", found->op,
                          found->scope)
            : ""));
}

}  // namespace

std::vector<LazyTensor> TracedFunction::call(std::span<const Tensor> inputs) const {
  Impl& impl = *impl_;
  OneThread::Scope scope(impl.one_thread, impl.options.name.c_str());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined())
      throw ValueError(fmt::format("{}: argument {} is an undefined tensor", impl.options.name, i));
  impl.release_results();
  CachedProgram* known = impl.programs.find(impl.kind(), inputs);
  CachedProgram& cached = known ? *known : impl.trace(inputs);
  RunStatus status = run_tapped({.context = *impl.context,
                                 .cached = cached,
                                 .inputs = inputs,
                                 .kind = impl.options.name,
                                 .alone = true});
  if (status == RunStatus::skipped_non_finite)
    fail_non_finite(impl.options.name, *cached.program, inputs);
  for (const auto& [optimizer, times] : impl.optimizers)
    for (int64_t i = 0; i < times; ++i) count_batch(optimizer);
  std::vector<LazyTensor> results;
  for (size_t i = 0; i < cached.graph->outputs().size(); ++i) {
    impl.results.push_back(std::make_shared<LazyTensor::State>());
    impl.results.back()->program = cached.program.get();
    impl.results.back()->index = i;
    results.push_back(LazyTensor(impl.results.back()));
  }
  return results;
}

Tensor compute(const std::function<Value()>& body, Context* context) {
  TracedFunction once(
      [&](const Values&) { return Values{body()}; },
      {.training = false, .name = "compute", .context = context, .replicated = false});
  return once.call({})[0].tensor();
}

}  // namespace stoker
