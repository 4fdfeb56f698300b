// What the kinds of optimisers are: their options, defaults and update rules. Adding one is adding
// an entry.
#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "train/optimizers/optimizer_impl.h"

namespace stoker {

namespace {

struct Kind {
  std::string name;
  Attrs defaults;  // of its own options, beside those that all share
  OptimizerRule (*rule)(const Attrs&);
};

OptimizerRule sgd_rule(const Attrs& config) {
  double momentum = config.get<double>("momentum");
  OptimizerRule rule{.op = "sgd_update"};
  if (momentum > 0) rule.slots = {"momentum"};
  rule.attrs = {{"momentum", momentum}, {"nesterov", config.get<bool>("nesterov")}};
  return rule;
}

OptimizerRule adam_rule(const Attrs& config) {
  OptimizerRule rule{
      .op = "adam_update", .takes_iterations = true, .slots = {"momentum", "velocity"}};
  bool amsgrad = config.get<bool>("amsgrad");
  if (amsgrad) rule.slots.push_back("velocity_hat");
  rule.attrs = {{"beta_1", config.get<double>("beta_1")},
                {"beta_2", config.get<double>("beta_2")},
                {"epsilon", config.get<double>("epsilon")},
                {"amsgrad", amsgrad}};
  return rule;
}

OptimizerRule rmsprop_rule(const Attrs& config) {
  OptimizerRule rule{.op = "rmsprop_update", .slots = {"velocity"}};
  if (config.get<bool>("centered")) rule.slots.push_back("average_gradient");
  if (config.get<double>("momentum") > 0) rule.slots.push_back("momentum");
  rule.attrs = {{"rho", config.get<double>("rho")},
                {"momentum", config.get<double>("momentum")},
                {"epsilon", config.get<double>("epsilon")},
                {"centered", config.get<bool>("centered")}};
  return rule;
}

const std::vector<Kind>& kinds() {
  static const Attrs adam = {{"learning_rate", 0.001}, {"beta_1", 0.9},
                             {"beta_2", 0.999},        {"epsilon", 1e-7},
                             {"amsgrad", false},       {"name", std::string("adam")}};
  static const std::vector<Kind> all = {
      {"SGD",
       {{"learning_rate", 0.01},
        {"momentum", 0.0},
        {"nesterov", false},
        {"name", std::string("SGD")}},
       sgd_rule},
      {"Adam", adam, adam_rule},
      {"AdamW",
       [] {
         Attrs defaults = adam;
         defaults.set("weight_decay", 0.004);
         defaults.set("name", std::string("adamw"));
         return defaults;
       }(),
       adam_rule},
      {"RMSprop",
       {{"learning_rate", 0.001},
        {"rho", 0.9},
        {"momentum", 0.0},
        {"epsilon", 1e-7},
        {"centered", false},
        {"name", std::string("rmsprop")}},
       rmsprop_rule},
  };
  return all;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

const Kind& find_kind(const std::string& name) {
  std::string names;
  for (const Kind& kind : kinds()) {
    if (lower(kind.name) == lower(name)) return kind;
    names += (names.empty() ? "\"" : ", \"") + lower(kind.name) + "\"";
  }
  throw ValueError(fmt::format("unknown optimizer \"{}\"; expected one of {}", name, names));
}

// What all kinds take, off unless given; the value shows the type.
const Attrs& shared_options() {
  static const Attrs options = {{"weight_decay", 0.0},
                                {"clipnorm", 0.0},
                                {"clipvalue", 0.0},
                                {"global_clipnorm", 0.0},
                                {"gradient_accumulation_steps", int64_t(1)},
                                {"initial_scale", 32768.0},
                                {"dynamic_growth_steps", int64_t(2000)}};
  return options;
}

void check(bool good, const std::string& kind, std::string_view option, double got,
           const char* expected) {
  if (!good)
    throw ValueError(fmt::format("{}: {} is {}, expected {}", kind, option, got, expected));
}

void check_number(const std::string& kind, const std::string& option, double value) {
  if (option == "learning_rate" || option == "weight_decay")
    check(value >= 0 && std::isfinite(value), kind, option, value, "a number of at least 0");
  else if (option == "epsilon" || option.starts_with("clip") || option == "global_clipnorm")
    check(value > 0 && std::isfinite(value), kind, option, value, "a number above 0");
  else if (option == "initial_scale")
    check(value >= LossScale::kMin && value <= LossScale::kMax, kind, option, value,
          "a number in [1, 2^24]");
  else
    check(value >= 0 && value < 1, kind, option, value, "a number in [0, 1)");
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

std::string optimizer_kind(const std::string& name) { return find_kind(name).name; }

Attrs complete_optimizer_config(const std::string& kind, const Attrs& config) {
  const Kind& known = find_kind(kind);
  Attrs complete = known.defaults;
  const Attr* rate = config.find("learning_rate");
  bool scheduled = rate != nullptr && std::holds_alternative<std::string>(*rate);
  for (const auto& [option, value] : config.entries()) {
    // The schedule looks at these itself.
    if (scheduled && (option == "learning_rate" || option.starts_with("learning_rate/"))) {
      complete.set(option, value);
      continue;
    }
    const Attr* model = known.defaults.find(option);
    if (model == nullptr) model = shared_options().find(option);
    if (model == nullptr || model->index() != value.index())
      throw ValueError(
          fmt::format("{}: {} option \"{}\"", kind, model ? "wrong type of" : "unknown", option));
    if (const double* number = std::get_if<double>(&value)) check_number(kind, option, *number);
    if (const int64_t* steps = std::get_if<int64_t>(&value))
      check(*steps >= 1, kind, option, double(*steps), "at least 1");
    complete.set(option, value);
  }
  check_clipping(kind, complete);
  if (complete.has("initial_scale") != complete.has("dynamic_growth_steps"))
    throw ValueError(fmt::format("{}: initial_scale and dynamic_growth_steps go together", kind));
  return complete;
}

OptimizerRule optimizer_rule(const std::string& kind, const Attrs& config) {
  OptimizerRule rule = find_kind(kind).rule(config);
  rule.attrs.set("weight_decay", config.get_or<double>("weight_decay", 0.0));
  rule.attrs.set("clipvalue", config.get_or<double>("clipvalue", 0.0));
  return rule;
}

}  // namespace stoker
