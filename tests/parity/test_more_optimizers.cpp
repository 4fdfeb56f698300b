// Ten steps of the optimisers of keras_more_optimizers.py against Keras: plain, with clipping, weight decay
// and gradient accumulation; and moving averages of parameters.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/adaptive_optimizers.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

constexpr int kMoreSteps = 10;
const std::vector<Shape> kMoreShapes = {{3, 2}, {5}, {4}};

// Sets what the name says after "+".
template <class Options>
Options varied(Options options, const std::string& name) {
  auto says = [&](const char* word) {
    return (name + "+").find(fmt::format("+{}+", word)) != std::string::npos;
  };
  if (says("clipnorm")) options.clipnorm = 1.0;
  if (says("weight_decay")) options.weight_decay = 0.125;
  if (says("accumulate")) options.gradient_accumulation_steps = 2;
  options.use_ema = says("ema");
  options.ema_momentum = 0.75;
  if (says("overwrite")) options.ema_overwrite_frequency = 3;
  return options;
}

Optimizer named_optimizer(const std::string& name) {
  constexpr double kRate = 0x1p-6;
  std::string base = name.substr(0, name.find('+'));
  FtrlOptions regularized{.learning_rate = kRate,
                          .learning_rate_power = -0.75,
                          .l1_regularization_strength = 0.125,
                          .l2_regularization_strength = 0.25,
                          .l2_shrinkage_regularization_strength = 0.5,
                          .beta = 0.125};
  if (base == "sgd") return SGD(varied(SGDOptions{.learning_rate = kRate}, name));
  if (base == "adam") return Adam(varied(AdamOptions{.learning_rate = kRate}, name));
  if (base == "nadam") return Nadam(varied(NadamOptions{.learning_rate = kRate}, name));
  if (base == "adamax") return Adamax(varied(AdamaxOptions{.learning_rate = kRate}, name));
  if (base == "adadelta") return Adadelta(varied(AdadeltaOptions{.learning_rate = 1.0}, name));
  if (base == "adafactor") return Adafactor(varied(AdafactorOptions{.learning_rate = kRate}, name));
  if (base == "lamb") return Lamb(varied(LambOptions{.learning_rate = kRate}, name));
  if (base == "ftrl") return Ftrl(varied(FtrlOptions{.learning_rate = kRate}, name));
  if (base == "ftrl_regularized") return Ftrl(varied(regularized, name));
  if (base == "muon") return Muon(varied(MuonOptions{.learning_rate = kRate}, name));
  ScheduleFreeAdamWOptions free{.learning_rate = kRate};
  if (base == "schedule_free_warm") free.warmup_steps = 4;
  if (base.starts_with("schedule_free")) return ScheduleFreeAdamW(varied(free, name));
  throw ValueError("no optimiser for the recorded \"" + name + "\"");
}

std::vector<Tensor> gradients_at(const Recording& recording, int step) {
  const Tensor& limits = recording.tensor("gradient_limits");
  std::vector<Tensor> all;
  for (size_t i = 0; i < kMoreShapes.size(); ++i) {
    float limit = float(limits.at(int64_t(i))) * (step % 2 == 1 ? 0.25F : 1.0F);
    uint64_t stream = 100 + 10 * uint64_t(step) + i;
    all.push_back(drawn(recording.seed(), stream, kMoreShapes[i], {.limit = limit}));
  }
  all[1].data_mut<float>()[0] = 0;
  return all;
}

// Per variable its values after each step, then those of its average.
std::vector<Tensor> walked(const Recording& recording, const Optimizer& optimizer,
                           const std::string& device) {
  std::vector<Variable> shown;
  for (size_t i = 0; i < kMoreShapes.size(); ++i)
    shown.emplace_back(fmt::format("p{}", i),
                       drawn(recording.seed(), i, kMoreShapes[i], {.limit = 0.5}));
  std::vector<Variable> parameters = shown;
  if (optimizer.use_ema())
    for (const Variable& parameter : parameters) shown.push_back(optimizer.average(parameter));
  Step update(device, [&](const Values& gradients) {
    optimizer.apply(gradients, parameters);
    return Values{};
  });
  std::vector<std::vector<float>> seen(shown.size());
  for (int step = 0; step < kMoreSteps; ++step) {
    update.run(gradients_at(recording, step));
    for (size_t i = 0; i < shown.size(); ++i) {
      Tensor now = shown[i].read();
      seen[i].insert(seen[i].end(), now.values<float>().begin(), now.values<float>().end());
    }
  }
  std::vector<Tensor> stacked;
  for (size_t i = 0; i < shown.size(); ++i)
    stacked.push_back(Tensor::from(seen[i], shown[i].shape().prepend(kMoreSteps)));
  return stacked;
}

using MoreOptimizers = DeviceTest;

TEST_P(MoreOptimizers, WalkAsKeras) {
  Recording recording("more_optimizers");
  size_t configurations = 0;
  for (const std::string& tensor : recording.names("")) {
    if (!tensor.ends_with("/0") || tensor.starts_with("noise/")) continue;
    ++configurations;
    std::string name = tensor.substr(0, tensor.size() - 2);
    std::vector<Tensor> all = walked(recording, named_optimizer(name), device());
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(agrees(all[i], recording.expected(fmt::format("{}/{}", name, i)))) << name;
  }
  EXPECT_EQ(configurations, 10U * 4 + 3 * 2);
}

INSTANTIATE_TEST_SUITE_P(Parity, MoreOptimizers, kDevices, device_name);

}  // namespace
}  // namespace stoker
