// Ten steps of every optimiser, with every way of clipping, weight decay and gradient accumulation,
// against Keras: keras_optimizers.py. Three tensors: one with ordinary gradients, one with small
// ones of which the first is zero, one whose gradients are about as small as Adam's epsilon.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/optimizers.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

constexpr int kOptimizerSteps = 10;
constexpr size_t kConfigurations = 11 * 7;
const std::vector<Shape> kShapes = {{3, 2}, {5}, {4}};

// Sets what the name says after "+": "adam+weight_decay+clipnorm".
template <class Options>
Options with_variant(Options options, const std::string& name) {
  auto says = [&](const char* word) {
    return (name + "+").find(fmt::format("+{}+", word)) != std::string::npos;
  };
  if (says("clipnorm")) options.clipnorm = 1.0;
  if (says("clipvalue")) options.clipvalue = 0.5;
  if (says("global_clipnorm")) options.global_clipnorm = 1.0;
  if (says("weight_decay")) options.weight_decay = 0.125;
  if (says("accumulate")) options.gradient_accumulation_steps = 2;
  return options;
}

Optimizer make(const std::string& name) {
  std::string base = name.substr(0, name.find('+'));
  SGDOptions sgd{.learning_rate = 0x1p-4};
  AdamOptions adam{.learning_rate = 0x1p-6};
  AdamWOptions adamw{.learning_rate = 0x1p-6};
  RMSpropOptions rmsprop{.learning_rate = 0x1p-6};
  if (base == "sgd_momentum" || base == "sgd_nesterov") sgd.momentum = 0.9;
  sgd.nesterov = base == "sgd_nesterov";
  adam.amsgrad = base == "adam_amsgrad";
  rmsprop.centered = base == "rmsprop_centered";
  if (base == "rmsprop_momentum") rmsprop.momentum = 0.9;

  if (base.starts_with("sgd")) return SGD(with_variant(sgd, name));
  if (base == "adamw") return AdamW(with_variant(adamw, name));
  if (base.starts_with("adam")) return Adam(with_variant(adam, name));
  if (base == "adagrad")
    return Adagrad(with_variant(AdagradOptions{.learning_rate = 0x1p-6}, name));
  if (base == "lion") return Lion(with_variant(LionOptions{.learning_rate = 0x1p-6}, name));
  if (base.starts_with("rmsprop")) return RMSprop(with_variant(rmsprop, name));
  throw ValueError("no optimiser for the recorded \"" + name + "\"");
}

std::vector<Variable> starts(uint64_t seed) {
  std::vector<Variable> variables;
  for (size_t i = 0; i < kShapes.size(); ++i)
    variables.emplace_back(fmt::format("p{}", i), drawn(seed, i, kShapes[i], {.limit = 0.5}));
  return variables;
}

std::vector<Tensor> gradients_of(const Recording& recording, int step) {
  const Tensor& limits = recording.tensor("gradient_limits");
  std::vector<Tensor> drawn_ones;
  for (size_t i = 0; i < kShapes.size(); ++i) {
    float limit = float(limits.at(int64_t(i))) * (step % 2 == 1 ? 0.25F : 1.0F);
    uint64_t stream = 100 + 10 * uint64_t(step) + i;
    drawn_ones.push_back(drawn(recording.seed(), stream, kShapes[i], {.limit = limit}));
  }
  drawn_ones[1].data_mut<float>()[0] = 0;
  return drawn_ones;
}

// Per variable its values after each step, [kOptimizerSteps, …].
std::vector<Tensor> trajectory(const Recording& recording, const Optimizer& optimizer,
                               const std::string& device) {
  std::vector<Variable> variables = starts(recording.seed());
  Step update(device, [&](const Values& gradients) {
    optimizer.apply(gradients, variables);
    return Values{};
  });
  std::vector<std::vector<float>> seen(variables.size());
  for (int step = 0; step < kOptimizerSteps; ++step) {
    update.run(gradients_of(recording, step));
    for (size_t i = 0; i < variables.size(); ++i) {
      Tensor now = variables[i].read();
      seen[i].insert(seen[i].end(), now.values<float>().begin(), now.values<float>().end());
    }
  }
  std::vector<Tensor> stacked;
  for (size_t i = 0; i < variables.size(); ++i)
    stacked.push_back(Tensor::from(seen[i], kShapes[i].prepend(kOptimizerSteps)));
  return stacked;
}

using Optimizers = DeviceTest;

TEST_P(Optimizers, WalkAsKeras) {
  Recording recording("optimizers");
  size_t configurations = 0;
  for (const std::string& tensor : recording.names("")) {
    if (!tensor.ends_with("/0") || tensor.starts_with("noise/")) continue;
    ++configurations;
    std::string name = tensor.substr(0, tensor.size() - 2);
    std::vector<Tensor> walked = trajectory(recording, make(name), device());
    for (size_t i = 0; i < walked.size(); ++i)
      EXPECT_TRUE(agrees(walked[i], recording.expected(fmt::format("{}/{}", name, i))));
  }
  EXPECT_EQ(configurations, kConfigurations);
}

TEST_P(Optimizers, AreToldApartFromThoseWithAnotherEpsilon) {
  Recording recording("optimizers");
  Adam adam({.learning_rate = 0x1p-6, .epsilon = 1.01e-7});
  EXPECT_FALSE(agrees(trajectory(recording, adam, device())[2], recording.expected("adam/2")));
  RMSprop rmsprop({.learning_rate = 0x1p-6, .epsilon = 1.2e-7});
  EXPECT_FALSE(
      agrees(trajectory(recording, rmsprop, device())[2], recording.expected("rmsprop/2")));
}

INSTANTIATE_TEST_SUITE_P(Parity, Optimizers, kDevices, device_name);

}  // namespace
}  // namespace stoker
