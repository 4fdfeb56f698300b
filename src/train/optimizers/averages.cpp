// Moving averages of parameters (use_ema), and which parameters weight decay leaves alone.
#include <fmt/format.h>
#include <stoker/ops.h>

#include "train/optimizers/optimizer_impl.h"

namespace stoker {

// The first average is the parameter itself.
Value Optimizer::Impl::next_average(const Slots& state, const Value& updated) const {
  Value later = ops::cast(ops::not_equal(Value(iterations), 0.0), DType::float32);
  Value kept = later * ema_momentum;
  return Value(state.average) * kept + updated * (1.0 - kept);
}

Value Optimizer::Impl::overwrites_now() const {
  auto every = double(ema_overwrite_frequency);
  Value count = ops::cast(iterations, DType::float32) + 1.0;
  return ops::equal(count - ops::floor(count / every) * every, 0.0);
}

bool Optimizer::use_ema() const { return impl_->use_ema; }

namespace {

[[noreturn]] void fail_averages(const std::string& name) {
  throw Error(fmt::format(
      "optimizer \"{}\": it keeps no averages; construct it with use_ema = true", name));
}

}  // namespace

Variable Optimizer::average(const Variable& parameter) const {
  if (!impl_->use_ema) fail_averages(name());
  return impl_->slots_of(parameter).average;
}

void Optimizer::swap_averages() const {
  if (!impl_->use_ema) fail_averages(name());
  for (Impl::Slots& state : impl_->slots) {
    Tensor parameter = state.parameter.read();
    state.parameter.write(state.average.read());
    state.average.write(parameter);
  }
  impl_->averages_in_use = !impl_->averages_in_use;
}

bool Optimizer::averages_in_use() const { return impl_->averages_in_use; }

void Optimizer::set_averages_in_use(bool in_use) const { impl_->averages_in_use = in_use; }

void Optimizer::use_averages() const {
  if (!impl_->use_ema) fail_averages(name());
  if (iterations() == 0) return;  // there are none yet
  for (Impl::Slots& state : impl_->slots) {
    Variable from = impl_->averages_in_use ? state.parameter : state.average;
    Variable to = impl_->averages_in_use ? state.average : state.parameter;
    to.write(from.read());
  }
  impl_->averages_in_use = false;
}

// --- weight decay --------------------------------------------------------------------------------

double Optimizer::Impl::decay_of(const Variable& parameter) const {
  double decay = kind->decay ? kind->decay(parameter, config) : weight_decay;
  if (decay == 0 || excluded.contains(parameter.id())) return 0;
  return excluded_names && std::regex_search(parameter.name(), *excluded_names) ? 0 : decay;
}

namespace {

std::string joined_by_or(const std::vector<std::string>& expressions) {
  std::string all;
  for (const std::string& one : expressions) all += (all.empty() ? "" : "|") + one;
  return all;
}

// What finds this name and no other.
std::string expression_of(const std::string& name) {
  std::string text = "^";
  for (char c : name) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text + "$";
}

}  // namespace

std::regex checked_regex(const std::string& who, const std::string& expression) {
  try {
    return std::regex(expression);
  } catch (const std::regex_error& error) {
    throw ValueError(fmt::format("optimizer \"{}\": \"{}\" is no regular expression: {}", who,
                                 expression, error.what()));
  }
}

void Optimizer::exclude_from_weight_decay(const std::vector<Variable>& var_list,
                                          const std::vector<std::string>& var_names) const {
  if (!impl_->slots.empty())
    throw Error(
        fmt::format("optimizer \"{}\": exclude_from_weight_decay() comes before the first "
                    "compile() or apply()",
                    name()));
  std::string names = joined_by_or(var_names);
  impl_->excluded_names.reset();
  if (!names.empty()) impl_->excluded_names = checked_regex(name(), names);
  impl_->excluded.clear();
  std::vector<std::string> all = var_names;
  for (const Variable& variable : var_list) {
    impl_->excluded.insert(variable.id());
    all.push_back(expression_of(variable.name()));
  }
  impl_->config.set(kExclusions, joined_by_or(all));
}

}  // namespace stoker
