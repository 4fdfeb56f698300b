// CyclicalLearningRate and OneCycle.
#include <stoker/ops.h>

#include "train/optimizers/schedule_kind.h"

namespace stoker {

namespace {

struct CyclicalSchedule : CyclicalLearningRateOptions {
  static constexpr const char* kKind = "CyclicalLearningRate";
  static Fields<CyclicalSchedule> fields() {
    using C = CyclicalSchedule;
    return {{"initial_learning_rate", &C::initial_learning_rate, at_least(0)},
            {"maximal_learning_rate", &C::maximal_learning_rate, above(0)},
            {"step_size", &C::step_size, at_least(1)},
            {"mode", &C::mode, one_of({"triangular", "triangular2", "exp_range"})},
            {"gamma", &C::gamma, above(0)}};
  }
  Value operator()(const Value& step) const {
    double low = initial_learning_rate, height = maximal_learning_rate - low;
    Value halves = step / double(step_size);
    Value cycle = ops::floor(halves * 0.5);  // counted from 0
    Value rise = height * (1.0 - ops::abs(halves - cycle * 2.0 - 1.0));
    if (mode == "triangular2") rise = rise * ops::pow(0.5, cycle);
    if (mode == "exp_range") rise = rise * ops::pow(gamma, step);
    return rise + low;
  }
};

struct OneCycleSchedule : OneCycleOptions {
  static constexpr const char* kKind = "OneCycle";
  static Fields<OneCycleSchedule> fields() {
    using C = OneCycleSchedule;
    return {{"max_learning_rate", &C::max_learning_rate, above(0)},
            {"total_steps", &C::total_steps, at_least(1)},
            {"pct_start", &C::pct_start, between(0, 1)},
            {"anneal_strategy", &C::anneal_strategy, one_of({"cos", "linear"})},
            {"div_factor", &C::div_factor, above(0)},
            {"final_div_factor", &C::final_div_factor, above(0)},
            {"three_phase", &C::three_phase},
            {"cycle_momentum", &C::cycle_momentum},
            {"base_momentum", &C::base_momentum, in_open(0, 1)},
            {"max_momentum", &C::max_momentum, in_open(0, 1)}};
  }
  Value operator()(const Value& step) const {
    double top = max_learning_rate, first = top / div_factor, last = first / final_div_factor;
    if (three_phase) return around(step, {first, top, first, last});
    return around(step, {first, top, last});
  }
  bool moves_momentum() const { return cycle_momentum; }
  Value momentum(const Value& step) const {
    double low = base_momentum, high = max_momentum;
    if (three_phase) return around(step, {high, low, high, high});
    return around(step, {high, low, high});
  }

 private:
  // From one corner of the cycle to the next: three, or four with three phases.
  Value around(const Value& step, const std::vector<double>& corners) const {
    double total = double(total_steps), start = pct_start * total;
    std::vector<double> ends = {start - 1};
    if (corners.size() == 4) ends.push_back(2 * start - 2);
    ends.push_back(total - 1);

    Value result = step * 0.0 + corners.back();
    for (size_t i = ends.size(); i-- > 0;) {
      double begin = i == 0 ? 0 : ends[i - 1], from = corners[i], to = corners[i + 1];
      if (ends[i] <= begin) continue;  // a phase without steps
      Value share = ops::clip((step - begin) * (1 / (ends[i] - begin)), 0, 1);
      Value to_go = anneal_strategy == "cos" ? half_cosine(share) : 1.0 - share;
      result = ops::where(ops::less_equal(step, ends[i]), (from - to) * to_go + to, result);
    }
    return result;
  }
};

}  // namespace

LearningRateSchedule CyclicalLearningRate(const CyclicalLearningRateOptions& options) {
  return ScheduleMaker::make(CyclicalSchedule{options});
}
LearningRateSchedule OneCycle(const OneCycleOptions& options) {
  return ScheduleMaker::make(OneCycleSchedule{options});
}

void add_cycles(std::vector<ScheduleKind>& kinds) {
  kinds.push_back(schedule_kind<CyclicalSchedule>());
  kinds.push_back(schedule_kind<OneCycleSchedule>());
}

}  // namespace stoker
