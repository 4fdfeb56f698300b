// The learning rates of 70 steps, against Keras and PyTorch: record_schedules.py.
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/schedules.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

constexpr int64_t kScheduleSteps = 70;

CyclicalLearningRateOptions cycle(const std::string& mode) {
  return {.initial_learning_rate = 0.125,
          .maximal_learning_rate = 0.5,
          .step_size = 9,
          .mode = mode,
          .gamma = 0.96875};
}

const std::map<std::string, LearningRateSchedule>& cases() {
  static const std::map<std::string, LearningRateSchedule> all = {
      {"exponential",
       ExponentialDecay({.initial_learning_rate = 0.5, .decay_steps = 20, .decay_rate = 0.9})},
      {"exponential_staircase", ExponentialDecay({.initial_learning_rate = 0.5,
                                                  .decay_steps = 20,
                                                  .decay_rate = 0.9,
                                                  .staircase = true})},
      {"polynomial", PolynomialDecay({.initial_learning_rate = 0.5, .decay_steps = 40})},
      {"polynomial_square", PolynomialDecay({.initial_learning_rate = 0.5,
                                             .decay_steps = 40,
                                             .end_learning_rate = 0.0625,
                                             .power = 2})},
      {"polynomial_cycle", PolynomialDecay({.initial_learning_rate = 0.5,
                                            .decay_steps = 20,
                                            .end_learning_rate = 0.0625,
                                            .cycle = true})},
      {"piecewise",
       PiecewiseConstantDecay({.boundaries = {10, 30}, .values = {0.5, 0.25, 0.03125}})},
      {"inverse_time",
       InverseTimeDecay({.initial_learning_rate = 0.5, .decay_steps = 20, .decay_rate = 0.75})},
      {"inverse_time_staircase", InverseTimeDecay({.initial_learning_rate = 0.5,
                                                   .decay_steps = 20,
                                                   .decay_rate = 0.75,
                                                   .staircase = true})},
      {"cosine", CosineDecay({.initial_learning_rate = 0.5, .decay_steps = 50})},
      {"cosine_alpha",
       CosineDecay({.initial_learning_rate = 0.5, .decay_steps = 50, .alpha = 0.125})},
      {"cosine_warmup", CosineDecay({.initial_learning_rate = 0,
                                     .decay_steps = 50,
                                     .alpha = 0.125,
                                     .warmup_target = 0.5,
                                     .warmup_steps = 10})},
      {"restarts", CosineDecayRestarts({.initial_learning_rate = 0.5, .first_decay_steps = 10})},
      {"restarts_even", CosineDecayRestarts({.initial_learning_rate = 0.5,
                                             .first_decay_steps = 16,
                                             .t_mul = 1,
                                             .m_mul = 0.5,
                                             .alpha = 0.0625})},
      {"restarts_smaller", CosineDecayRestarts({.initial_learning_rate = 0.5,
                                                .first_decay_steps = 10,
                                                .t_mul = 1.5,
                                                .m_mul = 0.75,
                                                .alpha = 0.0625})},
      {"cyclical_triangular", CyclicalLearningRate(cycle("triangular"))},
      {"cyclical_triangular2", CyclicalLearningRate(cycle("triangular2"))},
      {"cyclical_exp_range", CyclicalLearningRate(cycle("exp_range"))},
      {"one_cycle", OneCycle({.max_learning_rate = 0.5, .total_steps = 60})},
      {"one_cycle_linear", OneCycle({.max_learning_rate = 0.5,
                                     .total_steps = 60,
                                     .pct_start = 0.25,
                                     .anneal_strategy = "linear",
                                     .div_factor = 8,
                                     .final_div_factor = 16,
                                     .base_momentum = 0.75,
                                     .max_momentum = 0.9375})},
      {"one_cycle_three_phase",
       OneCycle({.max_learning_rate = 0.5, .total_steps = 60, .three_phase = true})},
  };
  return all;
}

class Schedules : public DeviceTest {
 protected:
  // What `function` gives for every step.
  Tensor values_of(const LearningRateSchedule::Function& function) {
    Step one(device(), [&](const Values& step) { return Values{function(step[0])}; });
    Tensor values(DType::float32, {kScheduleSteps});
    for (int64_t step = 0; step < kScheduleSteps; ++step)
      values.data_mut<float>()[step] =
          float(one.run({Tensor::from<int64_t>({step}, {})})[0].item());
    return values;
  }
};

TEST_P(Schedules, AreThePeers) {
  Recording recording("schedules");
  std::vector<std::string> recorded = recording.names("rate/");
  EXPECT_EQ(recorded.size(), cases().size());
  for (const std::string& name : recorded)
    EXPECT_TRUE(agrees(values_of(cases().at(name)), recording.expected("rate/" + name)));
}

TEST_P(Schedules, CycleTheMomentumLikePyTorch) {
  Recording recording("schedules");
  for (const auto& [name, schedule] : cases()) {
    EXPECT_EQ(schedule.cycles_momentum(), name.starts_with("one_cycle")) << name;
    if (!schedule.cycles_momentum()) continue;
    auto momentum = [&](const Value& step) { return schedule.momentum(step); };
    EXPECT_TRUE(agrees(values_of(momentum), recording.expected("momentum/" + name)));
  }
}

INSTANTIATE_TEST_SUITE_P(Parity, Schedules, kDevices, device_name);

}  // namespace
}  // namespace stoker
