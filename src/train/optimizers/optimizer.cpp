#include <stoker/optimizers.h>

#include <algorithm>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/emit.h"
#include "graph/graph.h"
#include "train/optimizers/optimizer_impl.h"
#include "train/optimizers/schedule_config.h"

namespace stoker {

namespace {

thread_local AppliedOptimizers* innermost = nullptr;

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

AppliedOptimizers::AppliedOptimizers() : outer_(innermost) { innermost = this; }
AppliedOptimizers::~AppliedOptimizers() { innermost = outer_; }

int64_t AppliedOptimizers::note(const Optimizer& optimizer) {
  if (innermost == nullptr) return 0;
  auto known = std::ranges::find(innermost->list_, optimizer, &Applied::optimizer);
  if (known != innermost->list_.end()) return known->times++;
  innermost->list_.push_back({optimizer, 1});
  return 0;
}

Optimizer::Optimizer(const std::string& name) : Optimizer(from_config(optimizer_kind(name), {})) {}

Optimizer Optimizer::from_config(const std::string& kind, const Attrs& config) {
  const Attr* rate = config.find("learning_rate");
  bool scheduled = rate != nullptr && std::holds_alternative<std::string>(*rate);
  return make(kind, config,
              scheduled ? schedule_from_entries("learning_rate", config) : LearningRateSchedule());
}

Optimizer Optimizer::from_config(const std::string& kind, Attrs config, const LearningRate& rate) {
  Attrs entries = {{"learning_rate", rate.value()}};
  if (rate.schedule().defined()) entries = schedule_entries("learning_rate", rate.schedule());
  for (const auto& [option, value] : entries.entries()) config.set(option, value);
  return make(kind, config, rate.schedule());
}

Optimizer Optimizer::make(const std::string& kind, const Attrs& config,
                          const LearningRateSchedule& schedule) {
  auto impl = std::make_shared<Impl>();
  impl->kind = optimizer_kind(kind);
  impl->config = complete_optimizer_config(impl->kind, config);
  impl->schedule = schedule;
  impl->rule = optimizer_rule(impl->kind, impl->config);
  impl->clipnorm = impl->config.get_or<double>("clipnorm", 0.0);
  impl->global_clipnorm = impl->config.get_or<double>("global_clipnorm", 0.0);
  impl->accumulation_steps = impl->config.get_or<int64_t>("gradient_accumulation_steps", 1);
  const std::string& name = impl->config.get<std::string>("name");
  Tensor rate(
      float(schedule.defined() ? schedule.at(0) : impl->config.get<double>("learning_rate")));
  impl->learning_rate = Variable(name + "/learning_rate", rate, kOptimizerState);
  impl->iterations =
      Variable(name + "/iterations", Tensor::zeros({}, DType::int64), kOptimizerState);
  impl->make_loss_scale();
  return Optimizer(std::move(impl));
}

const std::string& Optimizer::kind() const { return impl_->kind; }
const std::string& Optimizer::name() const { return impl_->config.get<std::string>("name"); }
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
  complete_optimizer_config(impl_->kind, {{"learning_rate", value}});  // checks it
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

bool updates_next(const Optimizer& optimizer) {
  return optimizer.accumulated_batches() + 1 >= optimizer.gradient_accumulation_steps();
}

void count_batch(const Optimizer& optimizer) {
  int64_t steps = optimizer.gradient_accumulation_steps();
  if (steps > 1) optimizer.set_accumulated_batches((optimizer.accumulated_batches() + 1) % steps);
}

Optimizer::Impl::Slots& Optimizer::Impl::slots_of(const Variable& parameter) {
  auto [known, is_new] = slot_index.try_emplace(parameter.id(), slots.size());
  if (is_new) {
    Slots made{.parameter = parameter, .moments = {}, .gradient_sum = {}};
    std::string prefix = config.get<std::string>("name") + "/" + parameter.name() + "/";
    auto make = [&](const std::string& slot) {
      return Variable(prefix + slot, Tensor::zeros(parameter.shape()), kOptimizerState);
    };
    for (const std::string& slot : rule.slots) made.moments.push_back(make(slot));
    if (accumulation_steps > 1) made.gradient_sum = make("gradient_sum");
    slots.push_back(std::move(made));
  }
  return slots[known->second];
}

void Optimizer::build(const std::vector<Variable>& parameters) const {
  for (const Variable& parameter : parameters) impl_->slots_of(parameter);
}

std::vector<Variable> Optimizer::slots(const Variable& parameter) const {
  const Impl::Slots& made = impl_->slots_of(parameter);
  std::vector<Variable> all = made.moments;
  if (made.gradient_sum.defined()) all.push_back(made.gradient_sum);
  return all;
}

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> all = {impl_->learning_rate, impl_->iterations};
  for (const Variable& variable : impl_->loss_scale.variables()) all.push_back(variable);
  for (const Impl::Slots& slots : impl_->slots) {
    all.insert(all.end(), slots.moments.begin(), slots.moments.end());
    if (slots.gradient_sum.defined()) all.push_back(slots.gradient_sum);
  }
  return all;
}

Optimizer::Impl::Scales Optimizer::Impl::append_scales(Graph& graph, const Values& gradients) {
  bool clips = clipnorm > 0 || global_clipnorm > 0, scales_loss = bool(loss_scale);
  if (!clips && !scales_loss) return {};
  constexpr double kNoLimit = 1e30;
  double max_norm = clipnorm > 0 ? clipnorm : clips ? global_clipnorm : kNoLimit;
  Values operands = gradients;
  if (scales_loss) operands.push_back(loss_scale.scale);
  Values found = stoker::apply("clip_scales", operands,
                               {{"mode", std::string(clipnorm > 0 ? "each" : "global")},
                                {"max_norm", max_norm},
                                {"scaled", scales_loss}});
  return {found[0], scales_loss ? append_loss_scale(graph, found[1]) : Value()};
}

namespace {

// An update that a gate of its own may skip.
void assign_gated(Graph& graph, const Variable& variable, const Value& value, const Value& gate) {
  if (!gate.defined()) return graph.assign(variable, value);
  Value kept = ops::where(emit::is_finite(gate), value, Value(variable));
  graph.assign(variable, kept, Assign::always);
}

}  // namespace

void Optimizer::Impl::append_update(Graph& graph, const Values& gradients,
                                    const std::vector<Variable>& parameters) {
  auto [scales, gate] = append_scales(graph, gradients);
  auto assign = [&, &own_gate = gate](const Variable& variable, const Value& value) {
    assign_gated(graph, variable, value, own_gate);
  };
  Values operands = {learning_rate};
  if (schedule.defined()) {
    operands[0] = schedule(Value(iterations));
    assign(learning_rate, operands[0]);
  }
  bool cycles = schedule.cycles_momentum() && rule.has_momentum();
  if (cycles) {
    Value momentum = schedule.momentum(Value(iterations));
    operands[0] =
        ops::concatenate({ops::expand_dims(operands[0], 0), ops::expand_dims(momentum, 0)}, 0);
  }
  if (rule.takes_iterations) operands.push_back(iterations);
  if (scales.defined()) operands.push_back(scales);
  for (size_t i = 0; i < parameters.size(); ++i) {
    operands.insert(operands.end(), {parameters[i], gradients[i]});
    for (const Variable& moment : slots_of(parameters[i]).moments) operands.push_back(moment);
  }
  Attrs attrs = rule.attrs;
  attrs.set("scaled", scales.defined());
  if (cycles) attrs.set("momentum_given", true);
  Values updated = stoker::apply(rule.op, operands, std::move(attrs));
  size_t next = 0;
  for (const Variable& parameter : parameters) {
    assign(parameter, updated[next++]);
    for (const Variable& moment : slots_of(parameter).moments) assign(moment, updated[next++]);
  }
  assign(iterations, Value(iterations) + 1.0);
}

void Optimizer::apply(const Values& gradients, const std::vector<Variable>& variables) const {
  check_gradients(name(), gradients, variables);
  if (variables.empty())
    throw ValueError(fmt::format(
        "optimizer \"{}\": apply() got no variables, so nothing would be trained; a layer "
        "has its weights once it has been called, and no trainable ones while it is "
        "frozen",
        name()));
  int64_t before = AppliedOptimizers::note(*this);
  Graph& graph = graph_of(name(), gradients);
  Graph::Scope scope(graph, "optimizer");
  Graph::Scope phase(graph, Phase::update);

  Values step = gradients;
  if (impl_->accumulation_steps > 1) {
    bool update = (impl_->accumulated + before + 1) % impl_->accumulation_steps == 0;
    for (size_t i = 0; i < variables.size(); ++i) {
      const Variable sum = impl_->slots_of(variables[i]).gradient_sum;
      step[i] = Value(sum) + gradients[i];
      // Also in a step that is skipped: a sum with a bad gradient in it must go.
      graph.assign(sum, update ? zeros_like(graph, sum) : step[i], Assign::always);
      if (update) step[i] = step[i] * (1.0 / double(impl_->accumulation_steps));
    }
    if (!update) return;
  }
  impl_->append_update(graph, step, variables);
}

}  // namespace stoker
