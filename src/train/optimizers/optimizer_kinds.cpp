#include "train/optimizers/optimizer_kinds.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "train/optimizers/optimizer_impl.h"

namespace stoker {

namespace {

using KindPointer = std::shared_ptr<const OptimizerKind>;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

bool is_rate(std::string_view option) {
  return option == "learning_rate" || option.starts_with("learning_rate/");
}

// What LossScaleOptimizer adds to the options of any kind.
const Fields<LossScaleOptions>& loss_scale_fields() {
  static const Fields<LossScaleOptions> fields = {
      {"initial_scale", &LossScaleOptions::initial_scale,
       between(LossScale::kMin, LossScale::kMax).saying("a number in [1, 2^24]")},
      {"dynamic_growth_steps", &LossScaleOptions::dynamic_growth_steps, at_least(1)}};
  return fields;
}

// Splits the options of loss scaling off; checked, and all of them or none.
Attrs take_loss_scale(const std::string& kind, Attrs& config) {
  Attrs rest, found;
  std::vector<std::string_view> names = loss_scale_fields().names();
  for (const auto& [option, value] : config.entries())
    (std::ranges::find(names, option) == names.end() ? rest : found).set(option, value);
  if (found.entries().empty()) return found;
  if (found.entries().size() != names.size())
    throw ValueError(fmt::format("{}: initial_scale and dynamic_growth_steps go together", kind));
  config = rest;
  return loss_scale_fields().write(loss_scale_fields().made(kind, found));
}

// What exclude_from_weight_decay() left in a configuration, taken out of it; "": nothing.
std::string take_exclusions(Attrs& config) {
  auto found = config.get_or(kExclusions, std::string());
  Attrs rest;
  for (const auto& [option, value] : config.entries())
    if (option != kExclusions) rest.set(option, value);
  config = rest;
  return found;
}

void check_averages(const std::string& kind, const Attrs& config) {
  if (config.has("ema_overwrite_frequency") && !config.get_or("use_ema", false))
    throw ValueError(
        fmt::format("{}: ema_overwrite_frequency is without effect unless use_ema = true", kind));
}

void check_clipping(const std::string& kind, const Attrs& config) {
  std::string given;
  int count = 0;
  for (const char* option : {"clipnorm", "clipvalue", "global_clipnorm"})
    if (config.has(option))
      given += fmt::format("{}{} = {}", count++ ? ", " : "", option, config.get<double>(option));
  if (count > 1)
    throw ValueError(fmt::format(
        "{}: only one of clipnorm, clipvalue and global_clipnorm may be set, got {}", kind, given));
}

}  // namespace

const std::vector<KindPointer>& optimizer_kinds() {
  static const std::vector<KindPointer> all = [] {
    std::vector<KindPointer> kinds;
    for (auto make : {sgd_kind, adam_kind, adamw_kind, rmsprop_kind, adagrad_kind, lion_kind,
                      nadam_kind, adamax_kind, adadelta_kind, adafactor_kind, lamb_kind, ftrl_kind,
                      muon_kind, schedule_free_kind})
      kinds.push_back(std::make_shared<const OptimizerKind>(make()));
    return kinds;
  }();
  return all;
}

KindPointer find_optimizer_kind(const std::string& name) {
  if (lower(name) == lower(multi_optimizer_kind()->kind)) return multi_optimizer_kind();
  std::string names;
  for (const KindPointer& kind : optimizer_kinds()) {
    if (lower(kind->kind) == lower(name)) return kind;
    names += (names.empty() ? "\"" : ", \"") + lower(kind->kind) + "\"";
  }
  throw ValueError(fmt::format("unknown optimizer \"{}\"; expected one of {}", name, names));
}

Attrs without_rate(const Attrs& config) {
  Attrs rest;
  for (const auto& [option, value] : config.entries())
    if (!is_rate(option)) rest.set(option, value);
  return rest;
}

OptimizerConfig complete_optimizer_config(const OptimizerKind& kind, const Attrs& config,
                                          const LearningRate* rate) {
  Attrs rest = config, loss_scale = take_loss_scale(kind.kind, rest);
  std::string exclusions = take_exclusions(rest);
  OptimizerConfig complete = kind.complete(rest, rate);
  check_clipping(kind.kind, complete.options);
  check_averages(kind.kind, complete.options);
  if (!exclusions.empty()) complete.options.set(kExclusions, exclusions);
  for (const auto& [option, value] : loss_scale.entries()) complete.options.set(option, value);
  return complete;
}

Value one_minus(const Value& share) {
  if (const double* number = share.scalar()) return 1 - *number;
  return 1.0 - share;
}

// 1 − e²ˣ = −2 tanh x / (1 − tanh x), which loses no digits where the power is near 1.
Value one_minus_power(const Value& base, const Value& power) {
  const double* number = base.scalar();
  Value half = number != nullptr ? power * (std::log(*number) / 2) : power * ops::log(base) * 0.5;
  Value tanh = ops::tanh(half);
  return tanh * -2.0 / (1.0 - tanh);
}

}  // namespace stoker
