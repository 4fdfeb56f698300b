#include <stoker/optimizers.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/graph.h"
#include "graph/replica.h"
#include "train/optimizers/optimizer_impl.h"
#include "train/step/replica_sums.h"
#include "train/step/trained_masks.h"

namespace stoker {

namespace {

constexpr Variable::Options kOptimizerState = {.trainable = false,
                                               .category = MemoryCategory::optimizer};

Graph& graph_of(const std::string& name, const Values& gradients) {
  for (const Value& gradient : gradients)
    if (const Value::Traced* traced = gradient.traced()) return *traced->graph;
  throw Error(fmt::format(
      "optimizer \"{}\": apply() belongs inside function(), on what gradients() returned", name));
}

void check_gradients(const std::string& name, const Values& gradients,
                     const std::vector<Variable>& variables) {
  if (gradients.size() != variables.size())
    throw ValueError(fmt::format("optimizer \"{}\": {} gradients for {} variables", name,
                                 gradients.size(), variables.size()));
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!gradients[i].defined())
      throw ValueError(fmt::format(
          "optimizer \"{}\": the gradient of \"{}\" is undefined: the loss does not depend on it; "
          "leave the variable out, or ask gradients() for zeros",
          name, variables[i].name()));
    if (gradients[i].shape() != variables[i].shape())
      throw ShapeError(fmt::format(
          "optimizer \"{}\": the gradient of \"{}\" has shape {}, expected {}", name,
          variables[i].name(), to_string(gradients[i].shape()), to_string(variables[i].shape())));
    if (variables[i].dtype() != DType::float32)
      throw ShapeError(fmt::format("optimizer \"{}\": \"{}\" is {}, expected float32", name,
                                   variables[i].name(), stoker::name(variables[i].dtype())));
  }
}

Value zeros_like(Graph& graph, const Variable& variable) {
  return ops::broadcast_to(graph.number(Tensor(0.0F)), variable.shape());
}

}  // namespace

int64_t AppliedOptimizers::note(const Optimizer& optimizer) {
  auto known = std::ranges::find(list, optimizer, &Applied::optimizer);
  if (known != list.end()) return known->times++;
  list.push_back({optimizer, 1});
  return 0;
}

Optimizer::Impl::Impl(std::shared_ptr<const OptimizerKind> kind_of, const Attrs& given,
                      const LearningRate* given_rate)
    : kind(std::move(kind_of)) {
  OptimizerConfig complete = complete_optimizer_config(*kind, given, given_rate);
  config = complete.options;
  schedule = complete.rate.schedule();
  clipnorm = config.get_or<double>("clipnorm", 0.0);
  clipvalue = config.get_or<double>("clipvalue", 0.0);
  global_clipnorm = config.get_or<double>("global_clipnorm", 0.0);
  weight_decay = config.get_or<double>("weight_decay", 0.0);
  use_ema = config.get_or("use_ema", false);
  ema_momentum = config.get_or("ema_momentum", 0.99);
  ema_overwrite_frequency = config.get_or<int64_t>("ema_overwrite_frequency", 0);
  if (config.has(kExclusions))
    excluded_names = checked_regex(name(), config.get<std::string>(kExclusions));
  accumulation_steps = config.get_or<int64_t>("gradient_accumulation_steps", 1);
  Tensor rate(float(schedule.defined() ? schedule.at(0) : complete.rate.value()));
  learning_rate = Variable(name() + "/learning_rate", rate, kOptimizerState);
  iterations = Variable(name() + "/iterations", Tensor::zeros({}, DType::int64), kOptimizerState);
  make_loss_scale();
}

Optimizer::Optimizer(const std::string& name) : Optimizer(from_config(name, {})) {}

Optimizer::Optimizer(const OptimizerRule& rule) : Optimizer(rule, OptimizerOptions()) {}

Optimizer Optimizer::from_config(const std::string& kind, const Attrs& config) {
  return Optimizer(std::make_shared<Impl>(find_optimizer_kind(kind), config));
}

Optimizer Optimizer::from_config(const std::string& kind, const Attrs& config,
                                 const LearningRate& rate) {
  return Optimizer(std::make_shared<Impl>(find_optimizer_kind(kind), config, &rate));
}

Optimizer Optimizer::with_config(const Attrs& config) const {
  return Optimizer(std::make_shared<Impl>(impl_->kind, config));
}

Optimizer Optimizer::with_config(const Attrs& config, const LearningRate& rate) const {
  return Optimizer(std::make_shared<Impl>(impl_->kind, config, &rate));
}

bool Optimizer::custom() const { return impl_->kind->custom; }
const std::string& Optimizer::kind() const { return impl_->kind->kind; }
const std::string& Optimizer::name() const { return impl_->name(); }
const Attrs& Optimizer::config() const { return impl_->config; }

const LearningRateSchedule& Optimizer::schedule() const { return impl_->schedule; }

double Optimizer::learning_rate() const {
  if (impl_->schedule.defined()) return impl_->schedule.at(iterations());
  return impl_->learning_rate.read().item();
}

void Optimizer::set_learning_rate(double value) const {
  if (impl_->schedule.defined())
    throw Error(
        fmt::format("optimizer \"{}\": the learning rate is the schedule {}'s and cannot be set to "
                    "{}; give the optimiser a number if callbacks are to change it",
                    name(), impl_->schedule.kind(), value));
  LearningRate rate = value;
  complete_optimizer_config(*impl_->kind, {}, &rate);  // checks it
  impl_->config.set("learning_rate", value);
  impl_->learning_rate.write(Tensor(float(value)));
}

int64_t Optimizer::iterations() const { return impl_->iterations.read().data<int64_t>()[0]; }

void Optimizer::set_iterations(int64_t value) const {
  impl_->iterations.write(Tensor::from<int64_t>({value}, {}));
}

int64_t Optimizer::gradient_accumulation_steps() const { return impl_->accumulation_steps; }
int64_t Optimizer::accumulated_batches() const { return impl_->accumulated; }

void Optimizer::set_accumulated_batches(int64_t count) const {
  if (count < 0 || count >= impl_->accumulation_steps)
    throw ValueError(fmt::format("optimizer \"{}\": {} accumulated batches, expected 0 to {}",
                                 name(), count, impl_->accumulation_steps - 1));
  impl_->accumulated = count;
}

Value unhidden(const Variable& parameter, const Value& value) {
  if (!parameter.mask().defined()) return value;
  return ops::where(Value(parameter.mask()), value, 0.0);
}

bool updates_next(const Optimizer& optimizer) {
  return optimizer.accumulated_batches() + 1 >= optimizer.gradient_accumulation_steps();
}

void count_batch(const Optimizer& optimizer) {
  int64_t steps = optimizer.gradient_accumulation_steps();
  if (steps > 1) optimizer.set_accumulated_batches((optimizer.accumulated_batches() + 1) % steps);
}

namespace {

// The name of a slot is the last part of its variable's.
void check_slots(const std::string& name, const std::vector<OptimizerSlot>& slots) {
  std::set<std::string> names = {"gradient_sum", "average"};
  for (const OptimizerSlot& slot : slots)
    if (slot.name.empty() || slot.name.find('/') != std::string::npos ||
        !names.insert(slot.name).second)
      throw ValueError(
          fmt::format("optimizer \"{}\": a slot is called \"{}\"; expected names that differ, "
                      "without \"/\", and neither \"gradient_sum\" nor \"average\"",
                      name, slot.name));
}

}  // namespace

Optimizer::Impl::Slots& Optimizer::Impl::slots_of(const Variable& parameter) {
  auto known = slot_index.find(parameter.id());
  if (known != slot_index.end()) return slots[known->second];
  Slots made{.parameter = parameter, .own = {}, .average = {}, .gradient_sum = {}};
  std::vector<OptimizerSlot> wanted = kind->slots.of(parameter, config);
  check_slots(name(), wanted);
  auto make = [&](const OptimizerSlot& slot) {
    return Variable(fmt::format("{}/{}/{}", name(), parameter.name(), slot.name),
                    Tensor::full(slot.shape.value_or(parameter.shape()), slot.initial),
                    kOptimizerState);
  };
  for (const OptimizerSlot& slot : wanted) made.own.push_back(make(slot));
  if (use_ema) made.average = make({"average"});
  if (accumulation_steps > 1) made.gradient_sum = make({"gradient_sum"});
  slot_index[parameter.id()] = slots.size();
  slots.push_back(std::move(made));
  return slots.back();
}

void Optimizer::build(const std::vector<Variable>& parameters) const {
  for (const Variable& parameter : parameters) impl_->slots_of(parameter);
}

std::vector<Variable> Optimizer::slots(const Variable& parameter) const {
  const Impl::Slots& made = impl_->slots_of(parameter);
  std::vector<Variable> all = made.own;
  if (made.average.defined()) all.push_back(made.average);
  if (made.gradient_sum.defined()) all.push_back(made.gradient_sum);
  return all;
}

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> all = {impl_->learning_rate, impl_->iterations};
  for (const Variable& variable : impl_->loss_scale.variables()) all.push_back(variable);
  for (const Impl::Slots& slots : impl_->slots) {
    all.insert(all.end(), slots.own.begin(), slots.own.end());
    if (slots.average.defined()) all.push_back(slots.average);
    if (slots.gradient_sum.defined()) all.push_back(slots.gradient_sum);
  }
  return all;
}

void Optimizer::apply(const Values& gradients, const std::vector<Variable>& variables) const {
  check_gradients(name(), gradients, variables);
  if (variables.empty())
    throw ValueError(fmt::format(
        "optimizer \"{}\": apply() got no variables, so nothing would be trained; a layer "
        "has its weights once it has been called, and no trainable ones while it is "
        "frozen",
        name()));
  Graph& graph = graph_of(name(), gradients);
  auto& applied = graph.notes<AppliedOptimizers>();
  int64_t before = applied.note(*this);
  applied.parameters.insert(applied.parameters.end(), variables.begin(), variables.end());
  Values step =
      replica_of(graph).averages_gradients ? average_gradients(graph, gradients) : gradients;
  Graph::Scope scope(graph, "optimizer");
  Graph::Scope phase(graph, Phase::update);

  if (impl_->accumulation_steps > 1) {
    bool update = (impl_->accumulated + before + 1) % impl_->accumulation_steps == 0;
    for (size_t i = 0; i < variables.size(); ++i) {
      const Variable sum = impl_->slots_of(variables[i]).gradient_sum;
      step[i] = Value(sum) + ops::cast(step[i], DType::float32);
      // Also in a step that is skipped: a sum with a bad gradient in it must go.
      graph.assign(sum, update ? zeros_like(graph, sum) : step[i], Assign::always);
      if (update) step[i] = step[i] * (1.0 / double(impl_->accumulation_steps));
    }
    if (!update) return;
  }
  // Moments and norms know nothing of what is hidden.
  auto& masks = graph.notes<TrainedMasks>();
  for (size_t i = 0; i < variables.size(); ++i) {
    masks.note(variables[i]);
    step[i] = unhidden(variables[i], step[i]);
  }
  if (!scales_loss()) applied.unscaled.push_back(step);
  impl_->append_update(graph, step, variables);
}

}  // namespace stoker
