// The nodes of an update: the scales of the gradients, the rule for each parameter, the assignments;
// and the node that does all of it at once, which engines run where they have a kernel for it.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/placement.h"
#include "graph/replica.h"
#include "nn/constraint_notes.h"
#include "train/optimizers/optimizer_impl.h"
#include "train/step/trained_masks.h"

namespace stoker {

namespace {

// An update that a gate of its own may skip.
void assign_gated(Graph& graph, const Variable& variable, const Value& value, const Value& gate) {
  if (!gate.defined()) return graph.assign(variable, value);
  Value kept = ops::where(emit::is_finite(gate), value, Value(variable));
  graph.assign(variable, kept, Assign::always);
}

// The first of each list is the parameter after its update, which only its owner has.
void gather_parameters(Graph& graph, const std::vector<Variable>& parameters,
                       std::vector<Values>& updated) {
  Graph::Scope scope(graph, "replicas");
  Values own;
  for (const Values& of_one : updated) own.push_back(of_one[0]);
  Values all = gather_over_replicas(graph, own, parameters);
  for (size_t i = 0; i < updated.size(); ++i) updated[i][0] = all[i];
}

// What a rule returned for `variable`, as part of the graph.
Value checked(Graph& graph, const std::string& name, const Value& value, const Variable& variable) {
  if (!value.defined())
    throw ValueError(
        fmt::format("optimizer \"{}\": its rule returned an undefined Value for \"{}\"", name,
                    variable.name()));
  Value placed = place(graph, value);
  if (placed.spec() != variable.spec())
    throw ShapeError(fmt::format("optimizer \"{}\": its rule returned {} for \"{}\", expected {}",
                                 name, to_string(placed.spec()), variable.name(),
                                 to_string(variable.spec())));
  return placed;
}

}  // namespace

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

Optimizer::Impl::Rates Optimizer::Impl::append_rates() const {
  Rates rates;
  rates.learning_rate = schedule.defined() ? schedule(Value(iterations)) : Value(learning_rate);
  if (kind->momentum.empty()) return rates;
  auto fixed = config.get<double>(kind->momentum);
  // A momentum of 0 is none; a beta of 0 is one that happens to forget at once.
  rates.cycles = schedule.cycles_momentum() && (kind->momentum != "momentum" || fixed > 0);
  rates.momentum = rates.cycles ? schedule.momentum(Value(iterations)) : Value(fixed);
  return rates;
}

// The attributes of the fused op: the kind's own options, and what all kinds take.
Attrs Optimizer::Impl::fused_attrs(const Rates& rates, bool scaled, double decay) const {
  Attrs attrs;
  for (const auto& [option, value] : kind->options.entries())
    attrs.set(option, *config.find(option));
  attrs.set("weight_decay", decay);
  attrs.set("clipvalue", clipvalue);
  attrs.set("scaled", scaled);
  if (rates.cycles) attrs.set("momentum_given", true);
  return attrs;
}

// The operands that all parameters share, as the fused op wants them; none where there is no such op.
Values Optimizer::Impl::fused_head(const Rates& rates, const Value& scales) const {
  if (kind->fused.empty()) return {};
  Values head = {rates.learning_rate};
  if (rates.cycles)
    head[0] = ops::concatenate(
        {ops::expand_dims(rates.learning_rate, 0), ops::expand_dims(rates.momentum, 0)}, 0);
  if (kind->fused_takes_iterations) head.emplace_back(iterations);
  if (scales.defined()) head.push_back(scales);
  return head;
}

Values Optimizer::Impl::apply_rule(Graph& graph, const Rates& rates, const Value& scale,
                                   double decay, const Slots& state,
                                   std::span<const Value> operands) const {
  RuleInput at{.variable = state.parameter,
               .options = config,
               .parameter = operands[0],
               .gradient = ops::cast(operands[1], DType::float32),
               .slots = Values(operands.begin() + 2, operands.end()),
               .learning_rate = rates.learning_rate,
               .momentum = rates.momentum,
               .iterations = iterations};
  if (decay > 0) at.parameter = at.parameter - rates.learning_rate * decay * at.parameter;
  if (scale.defined()) at.gradient = at.gradient * scale;
  if (clipvalue > 0) at.gradient = ops::clip(at.gradient, -clipvalue, clipvalue);
  RuleOutput next = kind->update(at);
  if (next.slots.size() != state.own.size())
    throw ValueError(
        fmt::format("optimizer \"{}\": its rule returned {} slots for \"{}\", expected {}", name(),
                    next.slots.size(), state.parameter.name(), state.own.size()));
  Values updated = {checked(graph, name(), next.parameter, state.parameter)};
  for (size_t i = 0; i < next.slots.size(); ++i)
    updated.push_back(checked(graph, name(), next.slots[i], state.own[i]));
  return updated;
}

std::vector<bool> Optimizer::Impl::own_parameters(Graph& graph,
                                                  const std::vector<Variable>& parameters) {
  const Replica& replica = replica_of(graph);
  if (replica.shards == nullptr) return std::vector<bool>(parameters.size(), true);
  std::vector<bool> own;
  std::vector<int64_t> owners = replica.shards->owners(parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    own.push_back(owners[i] == replica.rank);
    for (const Variable& slot : slots_of(parameters[i]).own) replica.shards->keep(slot, owners[i]);
  }
  return own;
}

std::vector<Optimizer::Impl::Group> Optimizer::Impl::groups_of(
    Graph& graph, const std::vector<Variable>& parameters, const std::vector<bool>& own) const {
  std::vector<Group> groups;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!own[i]) continue;
    double decay = decay_of(parameters[i]);
    bool constrained = constraint_of(graph, parameters[i]) || parameters[i].mask().defined();
    auto known = std::ranges::find_if(groups, [&](const Group& group) {
      return group.weight_decay == decay && group.constrained == constrained;
    });
    if (known == groups.end()) known = groups.insert(groups.end(), {decay, constrained, {}});
    known->members.push_back(i);
  }
  return groups;
}

std::vector<Values> Optimizer::Impl::update_group(Graph& graph, const Group& group,
                                                  const Rates& rates, const Value& scales,
                                                  const Values& gradients,
                                                  const std::vector<Variable>& parameters) {
  Value own_scales = scales;
  if (scales.defined() && group.members.size() < parameters.size() && !kind->fused.empty()) {
    std::vector<int32_t> rows(group.members.begin(), group.members.end());
    own_scales = ops::gather(scales, Tensor::from(rows, {int64_t(rows.size())}));
  }
  Values operands = place(graph, fused_head(rates, own_scales)), updated;
  std::vector<size_t> begin;  // of each member's operands
  for (size_t i : group.members) {
    begin.push_back(operands.size());
    operands.insert(operands.end(), {place(graph, parameters[i]), place(graph, gradients[i])});
    for (const Variable& slot : slots_of(parameters[i]).own) operands.push_back(place(graph, slot));
  }
  begin.push_back(operands.size());
  std::vector<Values> all;
  for (size_t member = 0; member < group.members.size(); ++member) {
    size_t i = group.members[member];
    Value scale;
    if (scales.defined()) scale = ops::reshape(ops::slice(scales, {int64_t(i)}, {1}), {});
    all.push_back(
        apply_rule(graph, rates, scale, group.weight_decay, slots_of(parameters[i]),
                   std::span(operands).subspan(begin[member], begin[member + 1] - begin[member])));
    updated.insert(updated.end(), all.back().begin(), all.back().end());
  }
  if (!kind->fused.empty())
    graph.offer_fused(OpRegistry::get().find(kind->fused), operands,
                      fused_attrs(rates, scales.defined(), group.weight_decay), updated);
  return all;
}

void Optimizer::Impl::append_update(Graph& graph, const Values& gradients,
                                    const std::vector<Variable>& parameters) {
  auto [scales, gate] = append_scales(graph, gradients);
  auto assign = [&, &own_gate = gate](const Variable& variable, const Value& value) {
    assign_gated(graph, variable, value, own_gate);
  };
  Rates rates = append_rates();
  if (schedule.defined()) assign(learning_rate, rates.learning_rate);
  std::vector<Values> updated(parameters.size(), Values(1));
  std::vector<bool> own = own_parameters(graph, parameters);
  for (const Group& group : groups_of(graph, parameters, own)) {
    std::vector<Values> of_group = update_group(graph, group, rates, scales, gradients, parameters);
    for (size_t member = 0; member < of_group.size(); ++member)
      updated[group.members[member]] = std::move(of_group[member]);
  }
  if (replica_of(graph).shards != nullptr) gather_parameters(graph, parameters, updated);
  Value overwrites = ema_overwrite_frequency > 0 ? overwrites_now() : Value();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Slots& state = slots_of(parameters[i]);
    Value parameter = unhidden(parameters[i], updated[i][0]);
    if (use_ema) {
      Value average = unhidden(parameters[i], next_average(state, parameter));
      assign(state.average, average);
      if (overwrites.defined()) parameter = ops::where(overwrites, average, parameter);
    }
    if (Constraint constraint = constraint_of(graph, parameters[i]))
      parameter = unhidden(parameters[i], constraint(parameter));
    assign(parameters[i], parameter);
    for (size_t slot = 0; own[i] && slot < state.own.size(); ++slot)
      assign(state.own[slot], updated[i][slot + 1]);
  }
  assign(iterations, Value(iterations) + 1.0);
}

}  // namespace stoker
