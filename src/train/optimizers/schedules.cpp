#include <stoker/schedules.h>

#include <algorithm>

#include <fmt/format.h>
#include <stoker/function.h>
#include <stoker/ops.h>

#include "train/optimizers/schedule_config.h"
#include "train/optimizers/schedule_rules.h"

namespace stoker {

struct LearningRateSchedule::Impl {
  std::string kind;
  Attrs config;
  Function rate;
  bool custom = false;
  Function momentum = {};  // empty: left alone
};

namespace {

constexpr const char* kWarmUp = "WarmUp";
constexpr const char* kConstant = "Constant";  // what WarmUp has inside it for a number

const ScheduleRule& find_rule(const std::string& kind) {
  std::string kinds;
  for (const ScheduleRule& rule : schedule_rules()) {
    if (rule.kind == kind) return rule;
    kinds += rule.kind + ", ";
  }
  throw ValueError(
      fmt::format("unknown learning rate schedule \"{}\"; there are {}{}", kind, kinds, kWarmUp));
}

Attrs complete(const ScheduleRule& rule, const Attrs& config) {
  Attrs all = rule.defaults;
  for (const auto& [option, value] : config.entries()) {
    const Attr* model = rule.defaults.find(option);
    if (model == nullptr) model = rule.optional.find(option);
    if (model == nullptr || model->index() != value.index())
      throw ValueError(fmt::format("{}: {} option \"{}\"", rule.kind,
                                   model ? "wrong type of" : "unknown", option));
    all.set(option, value);
  }
  rule.check(all);
  return all;
}

double constant_rate(const Attrs& config) {
  double rate = config.get_or<double>("learning_rate", -1.0);
  check_schedule(rate >= 0, kWarmUp, "schedule", rate, "a number of at least 0");
  return rate;
}

double on_host(const LearningRateSchedule::Function& function, int64_t step) {
  Context host{.seed = 0, .device = "reference", .out = nullptr};
  TracedFunction evaluate([&](const Values& steps) { return Values{function(steps[0])}; },
                          {.training = false, .name = "schedule", .context = &host});
  std::vector<Tensor> steps = {Tensor::from<int64_t>({step}, {})};
  return evaluate.call(steps)[0].item();
}

}  // namespace

Attrs schedule_entries(const std::string& name, const LearningRateSchedule& schedule) {
  Attrs entries = {{name, schedule.kind()}};
  fields::put_nested(entries, name, schedule.config(), '/');
  return entries;
}

LearningRateSchedule schedule_from_entries(const std::string& name, const Attrs& entries) {
  const Attr* kind = entries.find(name);
  if (kind == nullptr || !std::holds_alternative<std::string>(*kind))
    throw ValueError(fmt::format("\"{}\" is not the name of a learning rate schedule", name));
  return LearningRateSchedule::from_config(std::get<std::string>(*kind),
                                           fields::nested(entries, name, '/'));
}

void FieldType<LearningRate>::write(Attrs& attrs, std::string_view name,
                                    const LearningRate& value) {
  if (!value.schedule().defined()) return attrs.set(name, value.value());
  for (const auto& [entry, part] : schedule_entries(std::string(name), value.schedule()).entries())
    attrs.set(entry, part);
}

bool FieldType<LearningRate>::read(const Attrs& attrs, std::string_view name, LearningRate& value) {
  if (std::holds_alternative<std::string>(fields::entry(attrs, name))) {
    value = schedule_from_entries(std::string(name), attrs);
    return true;
  }
  double number = 0;
  if (!FieldType<double>::read(attrs, name, number)) return false;
  value = number;
  return true;
}

std::string FieldType<LearningRate>::text(const LearningRate& value) {
  return value.schedule().defined() ? value.schedule().kind() : fields::number_text(value.value());
}

std::vector<double> FieldType<LearningRate>::numbers(const LearningRate& value) {
  if (value.schedule().defined()) return {};
  return {value.value()};
}

LearningRateSchedule::LearningRateSchedule(std::string name, Function function) {
  if (!function) throw ValueError(fmt::format("schedule \"{}\": the function is empty", name));
  impl_ = std::make_shared<Impl>(Impl{std::move(name), {}, std::move(function), true});
}

LearningRateSchedule LearningRateSchedule::from_config(const std::string& kind,
                                                       const Attrs& config) {
  if (kind == kConstant) {
    double rate = constant_rate(config);
    auto same = [rate](const Value& step) { return step * 0.0 + rate; };
    return LearningRateSchedule(std::make_shared<Impl>(Impl{kind, config, same}));
  }
  if (kind == kWarmUp) return warm_up(config, schedule_from_entries("schedule", config));
  const ScheduleRule& rule = find_rule(kind);
  Attrs all = complete(rule, config);
  auto rate = [all, &rule](const Value& step) { return rule.rate(all, step); };
  Function momentum;
  if (rule.momentum != nullptr && all.get_or("cycle_momentum", false))
    momentum = [all, &rule](const Value& step) { return rule.momentum(all, step); };
  return LearningRateSchedule(std::make_shared<Impl>(Impl{kind, all, rate, false, momentum}));
}

LearningRateSchedule LearningRateSchedule::warm_up(const Attrs& config,
                                                   const LearningRateSchedule& after) {
  auto steps = double(config.get_or<int64_t>("warmup_steps", 0));
  double first = config.get_or<double>("initial_learning_rate", 0.0);
  check_schedule(steps >= 1, kWarmUp, "warmup_steps", steps, "at least 1");
  check_schedule(first >= 0, kWarmUp, "initial_learning_rate", first, "a number of at least 0");
  Attrs all = {{"warmup_steps", int64_t(steps)}, {"initial_learning_rate", first}};
  Attrs inside = schedule_entries("schedule", after);
  for (const auto& [option, value] : inside.entries()) all.set(option, value);
  for (const auto& [option, value] : config.entries())
    if (!all.has(option))
      throw ValueError(fmt::format("{}: unknown option \"{}\"", kWarmUp, option));
  double target = after.at(0);
  auto rate = [=](const Value& step) {
    Value line = step * ((target - first) / steps) + first;
    Value later = after(ops::maximum(step - steps, 0.0));
    return ops::where(ops::less(step, steps), line, later);
  };
  Function momentum;
  if (after.cycles_momentum())
    momentum = [=](const Value& step) { return after.momentum(ops::maximum(step - steps, 0.0)); };
  return LearningRateSchedule(
      std::make_shared<Impl>(Impl{kWarmUp, all, rate, after.custom(), momentum}));
}

const std::string& LearningRateSchedule::kind() const { return impl_->kind; }
const Attrs& LearningRateSchedule::config() const { return impl_->config; }
bool LearningRateSchedule::custom() const { return impl_->custom; }

bool LearningRateSchedule::cycles_momentum() const { return defined() && impl_->momentum; }

Value LearningRateSchedule::momentum(const Value& step) const {
  if (!cycles_momentum())
    throw Error("a LearningRateSchedule that leaves momentum alone was asked");
  return impl_->momentum(ops::cast(step, DType::float32));
}

Value LearningRateSchedule::operator()(const Value& step) const {
  if (!defined()) throw Error("an empty LearningRateSchedule was called");
  Value number = ops::cast(step, DType::float32);
  Value rate = impl_->rate(number);
  if (rate.traced() == nullptr && rate.sketched() == nullptr)
    rate = number * 0.0 + rate;  // a constant joins the graph
  if (rate.spec() != TensorSpec{DType::float32, Shape()})
    throw ShapeError(fmt::format("schedule \"{}\": the rate is {}, expected a float32 scalar",
                                 kind(), to_string(rate.spec())));
  return rate;
}

double LearningRateSchedule::at(int64_t step) const {
  return on_host([this](const Value& number) { return (*this)(number); }, step);
}

double LearningRateSchedule::momentum_at(int64_t step) const {
  return on_host([this](const Value& number) { return momentum(number); }, step);
}

LearningRateSchedule ExponentialDecay(const ExponentialDecayOptions& options) {
  return LearningRateSchedule::from_config(
      "ExponentialDecay", {{"initial_learning_rate", options.initial_learning_rate},
                           {"decay_steps", options.decay_steps},
                           {"decay_rate", options.decay_rate},
                           {"staircase", options.staircase}});
}

LearningRateSchedule PolynomialDecay(const PolynomialDecayOptions& options) {
  return LearningRateSchedule::from_config(
      "PolynomialDecay", {{"initial_learning_rate", options.initial_learning_rate},
                          {"decay_steps", options.decay_steps},
                          {"end_learning_rate", options.end_learning_rate},
                          {"power", options.power},
                          {"cycle", options.cycle}});
}

LearningRateSchedule PiecewiseConstantDecay(const PiecewiseConstantDecayOptions& options) {
  return LearningRateSchedule::from_config(
      "PiecewiseConstantDecay", {{"boundaries", options.boundaries}, {"values", options.values}});
}

LearningRateSchedule InverseTimeDecay(const InverseTimeDecayOptions& options) {
  return LearningRateSchedule::from_config(
      "InverseTimeDecay", {{"initial_learning_rate", options.initial_learning_rate},
                           {"decay_steps", options.decay_steps},
                           {"decay_rate", options.decay_rate},
                           {"staircase", options.staircase}});
}

LearningRateSchedule CosineDecay(const CosineDecayOptions& options) {
  Attrs config = {{"initial_learning_rate", options.initial_learning_rate},
                  {"decay_steps", options.decay_steps},
                  {"alpha", options.alpha},
                  {"warmup_steps", options.warmup_steps}};
  if (options.warmup_target) config.set("warmup_target", *options.warmup_target);
  return LearningRateSchedule::from_config("CosineDecay", config);
}

LearningRateSchedule CosineDecayRestarts(const CosineDecayRestartsOptions& options) {
  return LearningRateSchedule::from_config(
      "CosineDecayRestarts", {{"initial_learning_rate", options.initial_learning_rate},
                              {"first_decay_steps", options.first_decay_steps},
                              {"t_mul", options.t_mul},
                              {"m_mul", options.m_mul},
                              {"alpha", options.alpha}});
}

LearningRateSchedule CyclicalLearningRate(const CyclicalLearningRateOptions& options) {
  return LearningRateSchedule::from_config(
      "CyclicalLearningRate", {{"initial_learning_rate", options.initial_learning_rate},
                               {"maximal_learning_rate", options.maximal_learning_rate},
                               {"step_size", options.step_size},
                               {"mode", options.mode},
                               {"gamma", options.gamma}});
}

LearningRateSchedule OneCycle(const OneCycleOptions& options) {
  return LearningRateSchedule::from_config("OneCycle",
                                           {{"max_learning_rate", options.max_learning_rate},
                                            {"total_steps", options.total_steps},
                                            {"pct_start", options.pct_start},
                                            {"anneal_strategy", options.anneal_strategy},
                                            {"div_factor", options.div_factor},
                                            {"final_div_factor", options.final_div_factor},
                                            {"three_phase", options.three_phase},
                                            {"cycle_momentum", options.cycle_momentum},
                                            {"base_momentum", options.base_momentum},
                                            {"max_momentum", options.max_momentum}});
}

LearningRateSchedule WarmUp(const WarmUpOptions& options) {
  LearningRateSchedule after = options.schedule.schedule();
  if (!after.defined())
    after =
        LearningRateSchedule::from_config(kConstant, {{"learning_rate", options.schedule.value()}});
  return LearningRateSchedule::warm_up({{"warmup_steps", options.warmup_steps},
                                        {"initial_learning_rate", options.initial_learning_rate}},
                                       after);
}

}  // namespace stoker
