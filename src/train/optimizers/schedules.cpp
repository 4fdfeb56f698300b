#include <stoker/schedules.h>

#include <fmt/format.h>
#include <stoker/function.h>
#include <stoker/ops.h>

#include "train/optimizers/schedule_kind.h"

namespace stoker {

const std::vector<ScheduleKind>& schedule_kinds() {
  static const std::vector<ScheduleKind> kinds = [] {
    std::vector<ScheduleKind> all;
    add_decays(all);
    add_cosine_decays(all);
    add_cycles(all);
    add_warm_up(all);
    return all;
  }();
  return kinds;
}

namespace {

double on_host(const LearningRateSchedule::Function& function, int64_t step) {
  Context host{.seed = 0, .device = "reference", .out = nullptr};
  TracedFunction evaluate([&](const Values& steps) { return Values{function(steps[0])}; },
                          {.training = false, .name = "schedule", .context = &host});
  std::vector<Tensor> steps = {Tensor::from<int64_t>({step}, {})};
  return evaluate.call(steps)[0].item();
}

}  // namespace

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
  attrs.set(name, value.schedule().kind());
  fields::put_nested(attrs, name, value.schedule().config(), '/');
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
  std::string kinds;
  for (const ScheduleKind& known : schedule_kinds()) {
    if (known.kind == kind) return known.make(config);
    kinds += (kinds.empty() ? "" : ", ") + known.kind;
  }
  throw ValueError(fmt::format("unknown learning rate schedule \"{}\"; there are {}", kind, kinds));
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

}  // namespace stoker
