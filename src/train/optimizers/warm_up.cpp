// WarmUp: a straight line, then another schedule.
#include <stoker/ops.h>

#include "train/optimizers/schedule_kind.h"

namespace stoker {

namespace {

// What a WarmUp has inside it for a number.
struct ConstantSchedule {
  double learning_rate = -1;
  static constexpr const char* kKind = "Constant";
  static Fields<ConstantSchedule> fields() {
    return {{"learning_rate", &ConstantSchedule::learning_rate, at_least(0)}};
  }
  Value operator()(const Value& step) const { return step * 0.0 + learning_rate; }
};

struct WarmUpSchedule : WarmUpOptions {
  double target = 0;  // what `schedule` begins with
  static constexpr const char* kKind = "WarmUp";
  static Fields<WarmUpSchedule> fields() {
    using C = WarmUpSchedule;
    return {{"warmup_steps", &C::warmup_steps, at_least(1)},
            {"initial_learning_rate", &C::initial_learning_rate, at_least(0)},
            {"schedule", &C::schedule, {.check = at_least(0), .required = true}}};
  }
  void decide() {
    if (!after().defined()) schedule = ScheduleMaker::make(ConstantSchedule{schedule.value()});
    target = after().at(0);
  }
  const LearningRateSchedule& after() const { return schedule.schedule(); }
  bool custom() const { return after().custom(); }

  Value operator()(const Value& step) const {
    auto steps = double(warmup_steps);
    Value line = step * ((target - initial_learning_rate) / steps) + initial_learning_rate;
    Value later = after()(ops::maximum(step - steps, 0.0));
    return ops::where(ops::less(step, steps), line, later);
  }
  bool moves_momentum() const { return after().cycles_momentum(); }
  Value momentum(const Value& step) const {
    return after().momentum(ops::maximum(step - double(warmup_steps), 0.0));
  }
};

}  // namespace

LearningRateSchedule WarmUp(const WarmUpOptions& options) {
  return ScheduleMaker::make(WarmUpSchedule{options});
}

void add_warm_up(std::vector<ScheduleKind>& kinds) {
  kinds.push_back(schedule_kind<WarmUpSchedule>());
  kinds.push_back(schedule_kind<ConstantSchedule>());
}

}  // namespace stoker
