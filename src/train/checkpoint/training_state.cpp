#include "train/checkpoint/training_state.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace stoker {

namespace {

constexpr std::array<std::string_view, 3> kLossScaleNames = {
    "optimizer/loss_scale", "optimizer/good_steps", "optimizer/skipped_steps"};

}  // namespace

NamedVariables with_prefix(const std::string& prefix, NamedVariables named) {
  for (auto& [name, variable] : named) name = prefix + name;
  return named;
}

namespace {

// Numbered: the names of variables of several models and optimisers need not differ.
void add_numbered(const std::string& prefix, const std::vector<Variable>& variables,
                  NamedVariables& named) {
  for (const Variable& variable : variables)
    named.emplace_back(fmt::format("{}/{}/{}", prefix, named.size(), variable.name()), variable);
}

NamedVariables own_training_state(const Trainer& trainer) {
  NamedVariables named;
  for (const OwnOptimizer& each : trainer.compiled->own.optimizers)
    add_numbered("optimizer", each.optimizer.variables(), named);
  add_numbered("step", trainer.compiled->own.others, named);
  named.emplace_back("random_state", trainer.random_state);
  return named;
}

}  // namespace

NamedVariables training_state(const Trainer& trainer, const NamedVariables& weights) {
  if (trainer.compiled->args.train_step.defined()) return own_training_state(trainer);
  const Optimizer& optimizer = trainer.compiled->args.optimizer;
  std::vector<Variable> all = optimizer.variables();
  NamedVariables named = {{"optimizer/learning_rate", all[0]}, {"optimizer/iterations", all[1]}};
  if (optimizer.scales_loss())
    for (size_t i = 0; i < kLossScaleNames.size(); ++i)
      named.emplace_back(kLossScaleNames[i], all[2 + i]);
  std::set<const void*> trainable;
  for (const Variable& variable : trainer.compiled->trainable) trainable.insert(variable.id());
  for (const auto& [path, weight] : weights) {
    if (!trainable.contains(weight.id())) continue;
    for (const Variable& slot : optimizer.slots(weight))
      named.emplace_back(
          fmt::format("optimizer/{}/{}", path, slot.name().substr(slot.name().rfind('/') + 1)),
          slot);
  }
  named.emplace_back("random_state", trainer.random_state);
  return named;
}

bool is_training_state(std::string_view name) {
  return name.starts_with("optimizer/") || name == "random_state";
}

bool is_loss_scale(std::string_view name) {
  return std::ranges::find(kLossScaleNames, name) != kLossScaleNames.end();
}

}  // namespace stoker
