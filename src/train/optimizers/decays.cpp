// ExponentialDecay, PolynomialDecay, PiecewiseConstantDecay, InverseTimeDecay.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "train/optimizers/schedule_kind.h"

namespace stoker {

namespace {

template <class Kind>
Fields<Kind> decay_fields() {
  return {{"initial_learning_rate", &Kind::initial_learning_rate, above(0)},
          {"decay_steps", &Kind::decay_steps, at_least(1)},
          {"decay_rate", &Kind::decay_rate, above(0)},
          {"staircase", &Kind::staircase}};
}

template <class Options>
Value decay_periods(const Options& options, const Value& step) {
  Value periods = step / double(options.decay_steps);
  return options.staircase ? ops::floor(periods) : periods;
}

struct ExponentialSchedule : ExponentialDecayOptions {
  static constexpr const char* kKind = "ExponentialDecay";
  static Fields<ExponentialSchedule> fields() { return decay_fields<ExponentialSchedule>(); }
  Value operator()(const Value& step) const {
    return initial_learning_rate * ops::pow(decay_rate, decay_periods(*this, step));
  }
};

struct InverseTimeSchedule : InverseTimeDecayOptions {
  static constexpr const char* kKind = "InverseTimeDecay";
  static Fields<InverseTimeSchedule> fields() { return decay_fields<InverseTimeSchedule>(); }
  Value operator()(const Value& step) const {
    return initial_learning_rate / (1.0 + decay_rate * decay_periods(*this, step));
  }
};

struct PolynomialSchedule : PolynomialDecayOptions {
  static constexpr const char* kKind = "PolynomialDecay";
  static Fields<PolynomialSchedule> fields() {
    using C = PolynomialSchedule;
    return {{"initial_learning_rate", &C::initial_learning_rate, above(0)},
            {"decay_steps", &C::decay_steps, at_least(1)},
            {"end_learning_rate", &C::end_learning_rate, at_least(0)},
            {"power", &C::power, above(0)},
            {"cycle", &C::cycle}};
  }
  Value operator()(const Value& step) const {
    Value share = step / double(decay_steps);
    if (cycle)  // -floor(-x) is the ceiling
      share = share / ops::maximum(-ops::floor(-share), 1.0);
    else
      share = ops::minimum(share, 1.0);
    Value left = ops::pow(1.0 - share, power);
    return (initial_learning_rate - end_learning_rate) * left + end_learning_rate;
  }
};

struct PiecewiseSchedule : PiecewiseConstantDecayOptions {
  static constexpr const char* kKind = "PiecewiseConstantDecay";
  static Fields<PiecewiseSchedule> fields() {
    return {{"boundaries", &PiecewiseSchedule::boundaries},
            {"values", &PiecewiseSchedule::values, at_least(0)}};
  }
  void decide() const {
    if (values.size() != boundaries.size() + 1)
      throw ValueError(
          fmt::format("{}: {} values for {} boundaries, expected one more than boundaries", kKind,
                      values.size(), boundaries.size()));
    if (std::ranges::adjacent_find(boundaries, std::greater_equal()) != boundaries.end())
      throw ValueError(fmt::format("{}: the boundaries do not ascend", kKind));
  }
  Value operator()(const Value& step) const {
    Value rate = step * 0.0 + values.back();
    for (size_t i = boundaries.size(); i-- > 0;)
      rate = ops::where(ops::less_equal(step, double(boundaries[i])), values[i], rate);
    return rate;
  }
};

}  // namespace

LearningRateSchedule ExponentialDecay(const ExponentialDecayOptions& options) {
  return ScheduleMaker::make(ExponentialSchedule{options});
}
LearningRateSchedule PolynomialDecay(const PolynomialDecayOptions& options) {
  return ScheduleMaker::make(PolynomialSchedule{options});
}
LearningRateSchedule PiecewiseConstantDecay(const PiecewiseConstantDecayOptions& options) {
  return ScheduleMaker::make(PiecewiseSchedule{options});
}
LearningRateSchedule InverseTimeDecay(const InverseTimeDecayOptions& options) {
  return ScheduleMaker::make(InverseTimeSchedule{options});
}

void add_decays(std::vector<ScheduleKind>& kinds) {
  kinds.push_back(schedule_kind<ExponentialSchedule>());
  kinds.push_back(schedule_kind<PolynomialSchedule>());
  kinds.push_back(schedule_kind<PiecewiseSchedule>());
  kinds.push_back(schedule_kind<InverseTimeSchedule>());
}

}  // namespace stoker
