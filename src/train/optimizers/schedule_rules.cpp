#include "train/optimizers/schedule_rules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <stoker/ops.h>

namespace stoker {

namespace {

double number(const Attrs& config, const char* option) { return config.get<double>(option); }
double steps(const Attrs& config, const char* option) {
  return double(config.get<int64_t>(option));
}

void check_positive(const Attrs& config, const char* kind, const char* option) {
  double value = number(config, option);
  check_schedule(value > 0 && std::isfinite(value), kind, option, value, "a number above 0");
}
void check_not_negative(const Attrs& config, const char* kind, const char* option) {
  double value = number(config, option);
  check_schedule(value >= 0 && std::isfinite(value), kind, option, value, "a number of at least 0");
}
void check_steps(const Attrs& config, const char* kind, const char* option) {
  check_schedule(steps(config, option) >= 1, kind, option, steps(config, option), "at least 1");
}

// --- exponential, inverse time --------------------------------------------------------------

void check_decay(const Attrs& config, const char* kind) {
  check_positive(config, kind, "initial_learning_rate");
  check_steps(config, kind, "decay_steps");
  check_positive(config, kind, "decay_rate");
}
void check_exponential(const Attrs& config) { check_decay(config, "ExponentialDecay"); }
void check_inverse_time(const Attrs& config) { check_decay(config, "InverseTimeDecay"); }

Value decay_periods(const Attrs& config, const Value& step) {
  Value periods = step / steps(config, "decay_steps");
  return config.get<bool>("staircase") ? ops::floor(periods) : periods;
}

Value exponential(const Attrs& config, const Value& step) {
  return number(config, "initial_learning_rate") *
         ops::pow(number(config, "decay_rate"), decay_periods(config, step));
}

Value inverse_time(const Attrs& config, const Value& step) {
  return number(config, "initial_learning_rate") /
         (1.0 + number(config, "decay_rate") * decay_periods(config, step));
}

// --- polynomial -----------------------------------------------------------------------------

void check_polynomial(const Attrs& config) {
  check_positive(config, "PolynomialDecay", "initial_learning_rate");
  check_steps(config, "PolynomialDecay", "decay_steps");
  check_not_negative(config, "PolynomialDecay", "end_learning_rate");
  check_positive(config, "PolynomialDecay", "power");
}

Value polynomial(const Attrs& config, const Value& step) {
  Value share = step / steps(config, "decay_steps");
  if (config.get<bool>("cycle"))  // -floor(-x) is the ceiling
    share = share / ops::maximum(-ops::floor(-share), 1.0);
  else
    share = ops::minimum(share, 1.0);
  double end = number(config, "end_learning_rate");
  Value left = ops::pow(1.0 - share, number(config, "power"));
  return (number(config, "initial_learning_rate") - end) * left + end;
}

// --- piecewise ------------------------------------------------------------------------------

void check_piecewise(const Attrs& config) {
  const Ints& boundaries = config.get<Ints>("boundaries");
  const Doubles& values = config.get<Doubles>("values");
  if (values.size() != boundaries.size() + 1)
    throw ValueError(fmt::format(
        "PiecewiseConstantDecay: {} values for {} boundaries, expected one more than boundaries",
        values.size(), boundaries.size()));
  if (std::ranges::adjacent_find(boundaries, std::greater_equal()) != boundaries.end())
    throw ValueError("PiecewiseConstantDecay: the boundaries do not ascend");
  for (double value : values)
    check_schedule(value >= 0 && std::isfinite(value), "PiecewiseConstantDecay", "a value", value,
                   "a number of at least 0");
}

Value piecewise(const Attrs& config, const Value& step) {
  const Ints& boundaries = config.get<Ints>("boundaries");
  const Doubles& values = config.get<Doubles>("values");
  Value rate = step * 0.0 + values.back();
  for (size_t i = boundaries.size(); i-- > 0;)
    rate = ops::where(ops::less_equal(step, double(boundaries[i])), values[i], rate);
  return rate;
}

// --- cosine ---------------------------------------------------------------------------------

// From 1 to 0 while `share` goes from 0 to 1.
Value half_cosine(const Value& share) { return (ops::cos(share * std::numbers::pi) + 1.0) * 0.5; }

void check_cosine(const Attrs& config) {
  bool warms_up = config.has("warmup_target");
  check_not_negative(config, "CosineDecay", "initial_learning_rate");
  if (warms_up)
    check_positive(config, "CosineDecay", "warmup_target");
  else
    check_positive(config, "CosineDecay", "initial_learning_rate");
  check_steps(config, "CosineDecay", "decay_steps");
  check_not_negative(config, "CosineDecay", "alpha");
  double warmup = steps(config, "warmup_steps");
  check_schedule(warmup >= (warms_up ? 1 : 0), "CosineDecay", "warmup_steps", warmup,
                 warms_up ? "at least 1 with a warmup_target" : "0 or more");
}

Value cosine(const Attrs& config, const Value& step) {
  double initial = number(config, "initial_learning_rate"), alpha = number(config, "alpha");
  bool warms_up = config.has("warmup_target");
  double top = warms_up ? number(config, "warmup_target") : initial;
  double warmup = warms_up ? steps(config, "warmup_steps") : 0;
  Value share = ops::clip((step - warmup) / steps(config, "decay_steps"), 0, 1);
  Value decayed = top * ((1 - alpha) * half_cosine(share) + alpha);
  if (!warms_up) return decayed;
  Value warm = step * ((top - initial) / warmup) + initial;
  return ops::where(ops::less(step, warmup), warm, decayed);
}

void check_restarts(const Attrs& config) {
  check_positive(config, "CosineDecayRestarts", "initial_learning_rate");
  check_steps(config, "CosineDecayRestarts", "first_decay_steps");
  check_schedule(number(config, "t_mul") >= 1, "CosineDecayRestarts", "t_mul",
                 number(config, "t_mul"), "at least 1");
  check_positive(config, "CosineDecayRestarts", "m_mul");
  check_not_negative(config, "CosineDecayRestarts", "alpha");
}

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

Value restarts(const Attrs& config, const Value& step) {
  double ratio = number(config, "t_mul"), alpha = number(config, "alpha");
  Value time = step / steps(config, "first_decay_steps");
  Value whole = ops::floor(time);
  Period period = ratio == 1 ? Period{whole, time - whole} : geometric_period(time, ratio);
  Value height = ops::pow(number(config, "m_mul"), period.number) * half_cosine(period.share);
  return number(config, "initial_learning_rate") * ((1 - alpha) * height + alpha);
}

// --- cycles ---------------------------------------------------------------------------------

void check_cyclical(const Attrs& config) {
  const char* kind = "CyclicalLearningRate";
  check_not_negative(config, kind, "initial_learning_rate");
  check_positive(config, kind, "maximal_learning_rate");
  check_steps(config, kind, "step_size");
  check_positive(config, kind, "gamma");
  const std::string& mode = config.get<std::string>("mode");
  if (mode != "triangular" && mode != "triangular2" && mode != "exp_range")
    throw ValueError(fmt::format(
        "{}: unknown mode \"{}\"; expected triangular, triangular2 or exp_range", kind, mode));
}

Value cyclical(const Attrs& config, const Value& step) {
  double low = number(config, "initial_learning_rate");
  double height = number(config, "maximal_learning_rate") - low;
  const std::string& mode = config.get<std::string>("mode");
  Value halves = step / steps(config, "step_size");
  Value cycle = ops::floor(halves * 0.5);  // counted from 0
  Value rise = height * (1.0 - ops::abs(halves - cycle * 2.0 - 1.0));
  if (mode == "triangular2") rise = rise * ops::pow(0.5, cycle);
  if (mode == "exp_range") rise = rise * ops::pow(number(config, "gamma"), step);
  return rise + low;
}

void check_one_cycle(const Attrs& config) {
  const char* kind = "OneCycle";
  check_positive(config, kind, "max_learning_rate");
  check_steps(config, kind, "total_steps");
  double start = number(config, "pct_start");
  check_schedule(start >= 0 && start <= 1, kind, "pct_start", start, "a number in [0, 1]");
  check_positive(config, kind, "div_factor");
  check_positive(config, kind, "final_div_factor");
  for (const char* option : {"base_momentum", "max_momentum"}) {
    double momentum = number(config, option);
    check_schedule(momentum > 0 && momentum < 1, kind, option, momentum, "a number in (0, 1)");
  }
  const std::string& strategy = config.get<std::string>("anneal_strategy");
  if (strategy != "cos" && strategy != "linear")
    throw ValueError(
        fmt::format("{}: unknown anneal_strategy \"{}\"; expected cos or linear", kind, strategy));
}

// From one corner of the cycle to the next: three, or four with three phases.
Value around_cycle(const Attrs& config, const Value& step, const std::vector<double>& corners) {
  double total = steps(config, "total_steps"), start = number(config, "pct_start") * total;
  bool cosine = config.get<std::string>("anneal_strategy") == "cos";
  std::vector<double> ends = {start - 1};
  if (corners.size() == 4) ends.push_back(2 * start - 2);
  ends.push_back(total - 1);

  Value result = step * 0.0 + corners.back();
  for (size_t i = ends.size(); i-- > 0;) {
    double begin = i == 0 ? 0 : ends[i - 1], from = corners[i], to = corners[i + 1];
    if (ends[i] <= begin) continue;  // a phase without steps
    Value share = ops::clip((step - begin) * (1 / (ends[i] - begin)), 0, 1);
    Value to_go = cosine ? half_cosine(share) : 1.0 - share;
    result = ops::where(ops::less_equal(step, ends[i]), (from - to) * to_go + to, result);
  }
  return result;
}

Value one_cycle(const Attrs& config, const Value& step) {
  double top = number(config, "max_learning_rate");
  double first = top / number(config, "div_factor");
  double last = first / number(config, "final_div_factor");
  if (config.get<bool>("three_phase")) return around_cycle(config, step, {first, top, first, last});
  return around_cycle(config, step, {first, top, last});
}

Value one_cycle_momentum(const Attrs& config, const Value& step) {
  double low = number(config, "base_momentum"), high = number(config, "max_momentum");
  if (config.get<bool>("three_phase")) return around_cycle(config, step, {high, low, high, high});
  return around_cycle(config, step, {high, low, high});
}

}  // namespace

const std::vector<ScheduleRule>& schedule_rules() {
  static const Attr zero = 0.0, none = int64_t(0);
  static const std::vector<ScheduleRule> rules = {
      {"ExponentialDecay",
       {{"initial_learning_rate", zero},
        {"decay_steps", none},
        {"decay_rate", zero},
        {"staircase", false}},
       check_exponential,
       exponential},
      {"PolynomialDecay",
       {{"initial_learning_rate", zero},
        {"decay_steps", none},
        {"end_learning_rate", 1e-4},
        {"power", 1.0},
        {"cycle", false}},
       check_polynomial,
       polynomial},
      {"PiecewiseConstantDecay",
       {{"boundaries", Ints()}, {"values", Doubles()}},
       check_piecewise,
       piecewise},
      {"InverseTimeDecay",
       {{"initial_learning_rate", zero},
        {"decay_steps", none},
        {"decay_rate", zero},
        {"staircase", false}},
       check_inverse_time,
       inverse_time},
      {"CosineDecay",
       {{"initial_learning_rate", zero},
        {"decay_steps", none},
        {"alpha", 0.0},
        {"warmup_steps", none}},
       check_cosine,
       cosine,
       {{"warmup_target", zero}}},
      {"CosineDecayRestarts",
       {{"initial_learning_rate", zero},
        {"first_decay_steps", none},
        {"t_mul", 2.0},
        {"m_mul", 1.0},
        {"alpha", 0.0}},
       check_restarts,
       restarts},
      {"CyclicalLearningRate",
       {{"initial_learning_rate", zero},
        {"maximal_learning_rate", zero},
        {"step_size", int64_t(2000)},
        {"mode", std::string("triangular")},
        {"gamma", 1.0}},
       check_cyclical,
       cyclical},
      {"OneCycle",
       {{"max_learning_rate", zero},
        {"total_steps", none},
        {"pct_start", 0.3},
        {"anneal_strategy", std::string("cos")},
        {"div_factor", 25.0},
        {"final_div_factor", 1e4},
        {"three_phase", false},
        {"cycle_momentum", true},
        {"base_momentum", 0.85},
        {"max_momentum", 0.95}},
       check_one_cycle,
       one_cycle,
       {},
       one_cycle_momentum},
  };
  return rules;
}

void check_schedule(bool good, const char* kind, const char* option, double got,
                    const char* expected) {
  if (!good)
    throw ValueError(fmt::format("{}: {} is {}, expected {}", kind, option, got, expected));
}

}  // namespace stoker
