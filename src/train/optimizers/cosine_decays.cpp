// CosineDecay and CosineDecayRestarts.
#include <cmath>
#include <numbers>

#include <stoker/ops.h>

#include "train/optimizers/schedule_kind.h"

namespace stoker {

Value half_cosine(const Value& share) { return (ops::cos(share * std::numbers::pi) + 1.0) * 0.5; }

namespace {

struct CosineSchedule : CosineDecayOptions {
  static constexpr const char* kKind = "CosineDecay";
  static Fields<CosineSchedule> fields() {
    using C = CosineSchedule;
    return {{"initial_learning_rate", &C::initial_learning_rate, at_least(0)},
            {"decay_steps", &C::decay_steps, at_least(1)},
            {"alpha", &C::alpha, at_least(0)},
            {"warmup_steps", &C::warmup_steps, at_least(0)},
            {"warmup_target", &C::warmup_target, above(0)}};
  }
  void decide() const {
    if (!warmup_target && !(initial_learning_rate > 0))
      fail_value(kKind, "initial_learning_rate", "above 0 without a warmup_target",
                 fields::number_text(initial_learning_rate));
    if (warmup_target && warmup_steps < 1)
      fail_value(kKind, "warmup_steps", "at least 1 with a warmup_target",
                 std::to_string(warmup_steps));
  }
  Value operator()(const Value& step) const {
    double initial = initial_learning_rate, top = warmup_target.value_or(initial);
    double warmup = warmup_target ? double(warmup_steps) : 0;
    Value share = ops::clip((step - warmup) / double(decay_steps), 0, 1);
    Value decayed = top * ((1 - alpha) * half_cosine(share) + alpha);
    if (!warmup_target) return decayed;
    Value warm = step * ((top - initial) / warmup) + initial;
    return ops::where(ops::less(step, warmup), warm, decayed);
  }
};

// Which period, counted from 0, and how much of it has passed; `time` in first periods.
struct Period {
  Value number, share;
};

Period geometric_period(const Value& time, double ratio) {
  auto length = [&](const Value& number) { return ops::pow(ratio, number); };
  auto share = [&](const Value& number) {
    Value begin = (length(number) - 1.0) / (ratio - 1);
    return (time - begin) / length(number);
  };
  Value number = ops::floor(ops::log(time * (ratio - 1) + 1.0) / std::log(ratio));
  // A rounded logarithm can be a period off, which would put a restart's first step at the end.
  Value guess = share(number);
  number = number + ops::cast(ops::greater_equal(guess, 1.0), DType::float32) -
           ops::cast(ops::less(guess, 0.0), DType::float32);
  return {number, share(number)};
}

struct RestartsSchedule : CosineDecayRestartsOptions {
  static constexpr const char* kKind = "CosineDecayRestarts";
  static Fields<RestartsSchedule> fields() {
    using C = RestartsSchedule;
    return {{"initial_learning_rate", &C::initial_learning_rate, above(0)},
            {"first_decay_steps", &C::first_decay_steps, at_least(1)},
            {"t_mul", &C::t_mul, at_least(1)},
            {"m_mul", &C::m_mul, above(0)},
            {"alpha", &C::alpha, at_least(0)}};
  }
  Value operator()(const Value& step) const {
    Value time = step / double(first_decay_steps);
    Value whole = ops::floor(time);
    Period period = t_mul == 1 ? Period{whole, time - whole} : geometric_period(time, t_mul);
    Value height = ops::pow(m_mul, period.number) * half_cosine(period.share);
    return initial_learning_rate * ((1 - alpha) * height + alpha);
  }
};

}  // namespace

LearningRateSchedule CosineDecay(const CosineDecayOptions& options) {
  return ScheduleMaker::make(CosineSchedule{options});
}
LearningRateSchedule CosineDecayRestarts(const CosineDecayRestartsOptions& options) {
  return ScheduleMaker::make(RestartsSchedule{options});
}

void add_cosine_decays(std::vector<ScheduleKind>& kinds) {
  kinds.push_back(schedule_kind<CosineSchedule>());
  kinds.push_back(schedule_kind<RestartsSchedule>());
}

}  // namespace stoker
