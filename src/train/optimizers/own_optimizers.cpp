// Optimisers from a rule of the user's own.
#include <algorithm>

#include <fmt/format.h>

#include "train/optimizers/optimizer_impl.h"

namespace stoker {

namespace {

const Fields<OptimizerOptions>& shared_fields() {
  static const Fields<OptimizerOptions> fields = optimizer_fields<OptimizerOptions>({});
  return fields;
}

void check_rule(const OptimizerRule& rule) {
  if (rule.kind.empty()) throw ValueError("an OptimizerRule needs a kind, its name in files");
  if (!rule.update) throw ValueError(fmt::format("{}: the rule has no update function", rule.kind));
  std::vector<std::string_view> shared = shared_fields().names();
  for (const auto& [option, value] : rule.options.entries())
    if (std::ranges::find(shared, option) != shared.end())
      throw ValueError(
          fmt::format("{}: \"{}\" is an option of every optimiser; set it in OptimizerOptions",
                      rule.kind, option));
  const Attr* momentum = rule.options.find(rule.momentum);
  bool number = momentum != nullptr && std::holds_alternative<double>(*momentum);
  if (!rule.momentum.empty() && !number)
    throw ValueError(fmt::format("{}: momentum names \"{}\", which is no option with a number",
                                 rule.kind, rule.momentum));
}

// The rule's own options out of a configuration, each of its own type; the others stay in `rest`.
Attrs take_own(const OptimizerRule& rule, const Attrs& config, Attrs& rest) {
  Attrs own = rule.options;
  for (const auto& [option, value] : config.entries()) {
    const Attr* known = rule.options.find(option);
    if (known == nullptr) {
      rest.set(option, value);
      continue;
    }
    if (known->index() != value.index())
      throw ValueError(fmt::format("{}: wrong type of option \"{}\": expected that of {}",
                                   rule.kind, option, to_string(Attrs{{option, *known}})));
    own.set(option, value);
  }
  return own;
}

OptimizerConfig complete_own(const OptimizerRule& rule, const Attrs& config,
                             const LearningRate* rate) {
  Attrs rest;
  Attrs own = take_own(rule, config, rest);
  OptimizerOptions options{.name = rule.kind};
  shared_fields().read(rule.kind, rate != nullptr ? without_rate(rest) : rest, options);
  if (rate != nullptr) options.learning_rate = *rate;
  shared_fields().check(rule.kind, options);
  Attrs complete = shared_fields().write(options);
  for (const auto& [option, value] : own.entries()) complete.set(option, value);
  return {complete, options.learning_rate};
}

}  // namespace

std::shared_ptr<const OptimizerKind> own_optimizer_kind(const OptimizerRule& rule) {
  check_rule(rule);
  OptimizerKind kind{rule};
  kind.custom = true;
  kind.complete = [rule](const Attrs& config, const LearningRate* rate) {
    return complete_own(rule, config, rate);
  };
  return std::make_shared<const OptimizerKind>(std::move(kind));
}

Optimizer::Optimizer(const OptimizerRule& rule, const OptimizerOptions& options) {
  Attrs config = without_rate(shared_fields().write(options));
  if (options.name.empty()) config.set("name", rule.kind);
  impl_ = std::make_shared<Impl>(own_optimizer_kind(rule), config, &options.learning_rate);
}

}  // namespace stoker
