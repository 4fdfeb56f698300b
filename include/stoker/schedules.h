// Learning rates that change with the step, by Keras's names, options and defaults:
//
//   Adam({.learning_rate = CosineDecay({.initial_learning_rate = 1e-3, .decay_steps = 10'000})})
//
// A schedule is computed by the training step itself, from the number of updates made so far: it
// costs no read-back, and a resumed training continues at the right rate. A
// LearningRateSchedule is a value: data, unless it was made from a C++ function.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/value.h>

namespace stoker {

class LearningRateSchedule {
 public:
  using Function = std::function<Value(const Value& step)>;

  LearningRateSchedule() = default;  // none
  // An own one from ops: the step is a float32 scalar, and so is the rate. load_model takes it from
  // custom_objects, by its name.
  LearningRateSchedule(std::string name, Function function);
  // From what kind() and config() gave; ValueError for an unknown kind, option or value.
  static LearningRateSchedule from_config(const std::string& kind, const Attrs& config);

  bool defined() const { return impl_ != nullptr; }
  const std::string& kind() const;  // "CosineDecay"
  // A schedule inside it stands as "schedule" (its kind), "schedule/decay_steps", ….
  const Attrs& config() const;
  bool custom() const;  // it, or the one inside it, is a C++ function

  Value operator()(const Value& step) const;  // inside a graph; a scalar of any number type
  double at(int64_t step) const;              // on the host

  // Whether it moves the momentum too, of optimisers that have one (the Adams: beta_1).
  bool cycles_momentum() const;
  Value momentum(const Value& step) const;  // where it does; as the rate
  double momentum_at(int64_t step) const;

 private:
  struct Impl;
  explicit LearningRateSchedule(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  friend struct ScheduleMaker;
  std::shared_ptr<const Impl> impl_;
};

// A number, or a schedule: what an optimiser takes.
class LearningRate {
 public:
  LearningRate(double value) : value_(value) {}
  LearningRate(LearningRateSchedule schedule) : schedule_(std::move(schedule)) {}
  double value() const { return value_; }  // where there is no schedule
  const LearningRateSchedule& schedule() const { return schedule_; }

 private:
  double value_ = 0;
  LearningRateSchedule schedule_;
};

struct ExponentialDecayOptions {
  double initial_learning_rate = 0;
  int64_t decay_steps = 0;
  double decay_rate = 0;
  bool staircase = false;  // whole numbers of decay_steps only
};
// initial · decay_rate ^ (step / decay_steps)
LearningRateSchedule ExponentialDecay(const ExponentialDecayOptions& options);

struct PolynomialDecayOptions {
  double initial_learning_rate = 0;
  int64_t decay_steps = 0;
  double end_learning_rate = 1e-4;
  double power = 1.0;
  bool cycle = false;  // beyond decay_steps: the smallest multiple of it that is not passed
};
// (initial − end) · (1 − step / decay_steps) ^ power + end
LearningRateSchedule PolynomialDecay(const PolynomialDecayOptions& options);

struct PiecewiseConstantDecayOptions {
  std::vector<int64_t> boundaries = {};  // ascending: up to and with each …
  std::vector<double> values = {};       // … its value, and one more for the rest
};
LearningRateSchedule PiecewiseConstantDecay(const PiecewiseConstantDecayOptions& options);

struct InverseTimeDecayOptions {
  double initial_learning_rate = 0;
  int64_t decay_steps = 0;
  double decay_rate = 0;
  bool staircase = false;
};
// initial / (1 + decay_rate · step / decay_steps)
LearningRateSchedule InverseTimeDecay(const InverseTimeDecayOptions& options);

struct CosineDecayOptions {
  double initial_learning_rate = 0;
  int64_t decay_steps = 0;  // without those of the warm-up
  double alpha = 0.0;       // what is left at the end, as a share
  std::optional<double> warmup_target = {};
  int64_t warmup_steps = 0;  // in which the rate goes from the initial one to warmup_target
};
LearningRateSchedule CosineDecay(const CosineDecayOptions& options);

struct CosineDecayRestartsOptions {
  double initial_learning_rate = 0;
  int64_t first_decay_steps = 0;
  double t_mul = 2.0;  // each period is so much longer than the last one; at least 1
  double m_mul = 1.0;  // and begins with so much of its rate
  double alpha = 0.0;
};
LearningRateSchedule CosineDecayRestarts(const CosineDecayRestartsOptions& options);

struct CyclicalLearningRateOptions {
  double initial_learning_rate = 0;
  double maximal_learning_rate = 0;
  int64_t step_size = 2000;         // half a cycle
  std::string mode = "triangular";  // triangular2: half the height in each cycle; exp_range
  double gamma = 1.0;               // exp_range: height · gamma ^ step
};
LearningRateSchedule CyclicalLearningRate(const CyclicalLearningRateOptions& options);

struct OneCycleOptions {
  double max_learning_rate = 0;
  int64_t total_steps = 0;              // after them the rate stays
  double pct_start = 0.3;               // the share in which it grows
  std::string anneal_strategy = "cos";  // or "linear"
  double div_factor = 25.0;             // the first rate is max / div_factor
  double final_div_factor = 1e4;        // the last one is the first / final_div_factor
  bool three_phase = false;             // back to the first rate, then down to the last
  // While the rate goes up, the momentum goes from max_momentum down to base_momentum, and back.
  bool cycle_momentum = true;
  double base_momentum = 0.85, max_momentum = 0.95;
};
// PyTorch's OneCycleLR. Optimisers without momentum (SGD and RMSprop with 0) keep having none.
LearningRateSchedule OneCycle(const OneCycleOptions& options);

struct WarmUpOptions {
  LearningRate schedule = 0.0;  // what follows; it begins with its step 0
  int64_t warmup_steps = 0;
  double initial_learning_rate = 0.0;
};
// A straight line from the initial rate to the one that `schedule` begins with.
LearningRateSchedule WarmUp(const WarmUpOptions& options);

}  // namespace stoker
