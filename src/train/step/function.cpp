#include <stoker/function.h>

#include <utility>

#include <fmt/format.h>

#include "base/one_thread.h"
#include "graph/placement.h"
#include "train/model/settings.h"
#include "train/model/trainer.h"
#include "train/optimizers/optimizer_impl.h"
#include "train/step/program_cache.h"
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
  std::vector<Applied> optimizers;                          // whose apply() the body calls
  std::vector<std::shared_ptr<LazyTensor::State>> results;  // of the last call
  size_t traces = 0;
  OneThread one_thread;

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
  impl_->options = std::move(options);
}

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
  auto graph = std::make_unique<Graph>();
  graph->set_training(options.training);
  set_precision(*graph, *context);
  graph->set_random_state(graph->variable(random_state));
  Values values;
  for (size_t i = 0; i < inputs.size(); ++i)
    values.push_back(
        graph->input(fmt::format("argument {} of {}", i, options.name), inputs[i].spec()));
  Values outputs;
  {
    Graph::Scope scope(*graph, options.name);
    outputs = body(values);
    outputs = place(*graph, outputs);  // variables and constants join the graph
    bool drawn = graph->use_counts()[size_t(graph->random_state().traced()->id)] > 0;
    if (options.training || drawn) {
      Graph::Scope phase(*graph, Phase::update);
      graph->assign(random_state, Value(random_state) + Value(Tensor::from<int64_t>({0, 1}, {2})),
                    Assign::always);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    graph->output(outputs[i], fmt::format("result {}", i));
  ++traces;
  optimizers = graph->notes<AppliedOptimizers>().list;
  return programs.add(kind(), specs_of(inputs), std::move(graph), *context);
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
  TracedFunction once([&](const Values&) { return Values{body()}; },
                      {.training = false, .name = "compute", .context = context});
  return once.call({})[0].tensor();
}

}  // namespace stoker
