// MultiOptimizer: a rule that asks the rule of another optimiser, by the parameter's name.
//
// In a configuration "default_optimizer" holds a kind and "default_optimizer/OPTION" its options;
// "optimizers/N", "optimizers/N/pattern" and "optimizers/N/OPTION" those of expression number N.
#include <stoker/multi_optimizer.h>

#include <map>
#include <regex>

#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_statistics.h>

#include "train/optimizers/optimizer_impl.h"

namespace stoker {

namespace {

using KindPointer = std::shared_ptr<const OptimizerKind>;
using OwnKinds = std::map<std::string, KindPointer>;

constexpr const char* kKindName = "MultiOptimizer";
constexpr const char* kDefault = "default_optimizer";
constexpr int64_t kMost = 1000;  // expressions

std::string numbered(int64_t number) { return fmt::format("optimizers/{}", number); }

const Fields<MultiOptimizerOptions>& outer_fields() {
  static const Fields<MultiOptimizerOptions> fields = optimizer_fields<MultiOptimizerOptions>({});
  return fields;
}

bool is_inner(std::string_view option) {
  return option == kDefault || option.starts_with(std::string(kDefault) + "/") ||
         option.starts_with("optimizers/");
}

// One of the optimisers.
struct Part {
  KindPointer kind;
  OptimizerConfig config;

  double number(const char* option) const { return config.options.get_or<double>(option, 0.0); }
  double decay_of(const Variable& parameter) const {
    return kind->decay ? kind->decay(parameter, config.options) : number("weight_decay");
  }
};

void check_part(const Part& part) {
  for (const char* option : {"use_ema", "global_clipnorm", "gradient_accumulation_steps",
                             "ema_overwrite_frequency", "initial_scale", kExclusions})
    if (part.config.options.has(option) && *part.config.options.find(option) != Attr(false))
      throw ValueError(
          fmt::format("MultiOptimizer: {} of {} has no effect inside of it; set it on the "
                      "MultiOptimizer",
                      option, part.kind->kind));
}

Part part_from(const Attrs& config, const std::string& key, const OwnKinds& own) {
  if (!config.has(key) || !std::holds_alternative<std::string>(*config.find(key)))
    throw ValueError(
        fmt::format("MultiOptimizer: \"{}\" is missing; make one with MultiOptimizer(map)", key));
  auto kind = config.get<std::string>(key);
  if (kind == kKindName) throw ValueError("MultiOptimizer: it cannot stand inside another");
  auto known = own.find(kind);
  Part part{.kind = known != own.end() ? known->second : find_optimizer_kind(kind), .config = {}};
  Attrs options;
  for (const auto& [option, value] : config.entries())
    if (option.starts_with(key + "/") && option != key + "/pattern")
      options.set(option.substr(key.size() + 1), value);
  part.config = complete_optimizer_config(*part.kind, options);
  check_part(part);
  return part;
}

int64_t expressions_in(const Attrs& config) {
  int64_t count = 0;
  while (count < kMost && config.has(numbered(count))) ++count;
  return count;
}

std::string pattern_of(const Attrs& config, int64_t number) {
  const Attr* pattern = config.find(numbered(number) + "/pattern");
  if (pattern == nullptr || !std::holds_alternative<std::string>(*pattern))
    throw ValueError(
        fmt::format("MultiOptimizer: \"{}/pattern\" is missing or no text", numbered(number)));
  return std::get<std::string>(*pattern);
}

// The key of the optimiser that a weight of this name has.
std::string key_for(const Attrs& config, const std::string& name) {
  std::string found;
  for (int64_t i = 0; i < expressions_in(config); ++i) {
    std::string pattern = pattern_of(config, i);
    if (pattern == name) return numbered(i);
    if (!std::regex_match(name, checked_regex(kKindName, pattern))) continue;
    if (!found.empty())
      throw ValueError(
          fmt::format("MultiOptimizer: two expressions find the weight \"{}\": \"{}\" and \"{}\"",
                      name, config.get<std::string>(found + "/pattern"), pattern));
    found = numbered(i);
  }
  return found.empty() ? kDefault : found;
}

void write_part(Attrs& config, const std::string& key, const Part& part) {
  config.set(key, part.kind->kind);
  for (const auto& [option, value] : part.config.options.entries())
    config.set(fmt::format("{}/{}", key, option), value);
}

OptimizerConfig complete(const Attrs& config, const LearningRate* rate, const OwnKinds& own) {
  Attrs outer;
  for (const auto& [option, value] : config.entries())
    if (!is_inner(option)) outer.set(option, value);
  MultiOptimizerOptions options;
  outer_fields().read(kKindName, rate != nullptr ? without_rate(outer) : outer, options);
  if (rate != nullptr) options.learning_rate = *rate;
  outer_fields().check(kKindName, options);
  Attrs whole = outer_fields().write(options);
  write_part(whole, kDefault, part_from(config, kDefault, own));
  for (int64_t i = 0; i < expressions_in(config); ++i) {
    std::string pattern = pattern_of(config, i), key = numbered(i);
    checked_regex(kKindName, pattern);
    write_part(whole, key, part_from(config, key, own));
    whole.set(key + "/pattern", pattern);
  }
  return {whole, options.learning_rate};
}

Value clipped(const Part& part, const Value& gradient) {
  double norm = part.number("clipnorm"), limit = part.number("clipvalue");
  if (limit > 0) return ops::clip(gradient, -limit, limit);
  if (norm <= 0) return gradient;
  return gradient * (norm / ops::maximum(ops::norm(gradient), norm));
}

RuleOutput update(const RuleInput& at, const OwnKinds& own) {
  Part part = part_from(at.options, key_for(at.options, at.variable.name()), own);
  const LearningRateSchedule& schedule = part.config.rate.schedule();
  Value rate = at.learning_rate *
               (schedule.defined() ? schedule(at.iterations) : Value(part.config.rate.value()));
  RuleInput inner{.variable = at.variable,
                  .options = part.config.options,
                  .parameter = at.parameter,
                  .gradient = clipped(part, at.gradient),
                  .slots = at.slots,
                  .learning_rate = rate,
                  .momentum = {},
                  .iterations = at.iterations};
  if (!part.kind->momentum.empty()) {
    auto fixed = part.config.options.get<double>(part.kind->momentum);
    bool cycles = schedule.defined() && schedule.cycles_momentum() &&
                  (part.kind->momentum != "momentum" || fixed > 0);
    inner.momentum = cycles ? schedule.momentum(at.iterations) : Value(fixed);
  }
  if (double decay = part.decay_of(at.variable); decay > 0)
    inner.parameter = inner.parameter - rate * decay * inner.parameter;
  return part.kind->update(inner);
}

OptimizerKind multi_kind(OwnKinds own) {
  OptimizerKind kind;
  kind.kind = kKindName;
  kind.custom = !own.empty();
  kind.fields = outer_fields().text();
  kind.slots = OptimizerSlots([own](const Variable& parameter, const Attrs& options) {
    Part part = part_from(options, key_for(options, parameter.name()), own);
    return part.kind->slots.of(parameter, part.config.options);
  });
  kind.update = [own](const RuleInput& at) { return update(at, own); };
  kind.complete = [own](const Attrs& config, const LearningRate* rate) {
    return complete(config, rate, own);
  };
  return kind;
}

}  // namespace

KindPointer multi_optimizer_kind() {
  static const auto kind = std::make_shared<const OptimizerKind>(multi_kind({}));
  return kind;
}

namespace {

// What is inside of another optimiser.
struct MultiOptimizerParts : Optimizer {
  explicit MultiOptimizerParts(const Optimizer& optimizer) : Optimizer(optimizer) {}
  KindPointer kind_of_it() const { return impl_->kind; }
};

}  // namespace

MultiOptimizer::MultiOptimizer(const OptimizerMap& map, const MultiOptimizerOptions& options)
    : map_(map) {
  Attrs config = without_rate(outer_fields().write(options));
  OwnKinds own;
  auto add = [&](const std::string& key, const Optimizer& optimizer) {
    if (!optimizer.defined())
      throw ValueError(fmt::format("MultiOptimizer: the optimiser \"{}\" is undefined", key));
    if (optimizer.schedule().defined() && optimizer.schedule().custom())
      throw ValueError(
          "MultiOptimizer: a schedule that is a C++ function cannot stand inside of it; set it on "
          "the MultiOptimizer");
    if (optimizer.custom()) own[optimizer.kind()] = MultiOptimizerParts(optimizer).kind_of_it();
    config.set(key, optimizer.kind());
    for (const auto& [option, value] : optimizer.config().entries())
      config.set(fmt::format("{}/{}", key, option), value);
  };
  add(kDefault, map.default_optimizer);
  for (size_t i = 0; i < map.optimizers.size(); ++i) {
    if (i >= size_t(kMost))
      throw ValueError(fmt::format("MultiOptimizer: expected at most {} expressions", kMost));
    add(numbered(int64_t(i)), map.optimizers[i].second);
    config.set(numbered(int64_t(i)) + "/pattern", map.optimizers[i].first);
  }
  KindPointer kind =
      own.empty() ? multi_optimizer_kind() : std::make_shared<const OptimizerKind>(multi_kind(own));
  impl_ = std::make_shared<Impl>(kind, config, &options.learning_rate);
}

Optimizer MultiOptimizer::at(const std::string& variable) const {
  std::string key = key_for(impl_->config, variable);
  if (key == kDefault) return map_.default_optimizer;
  return map_.optimizers[size_t(std::stoll(key.substr(key.find('/') + 1)))].second;
}

}  // namespace stoker
