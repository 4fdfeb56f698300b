// predict_speedup(): what a step of fewer FLOPs and bytes should take.
#include <stoker/applications.h>
#include <stoker/compare.h>
#include <stoker/prune.h>

#include "compress/step_prediction.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;
using compress::OpWork;
using compress::predicted_seconds;
using compress::StepWork;
using doctor::OpKey;

OpKey forward_of(const char* layer, const char* op) { return {layer, op, Phase::forward}; }

// A convolution that computes 1e9 FLOPs in 10 ms, a pooling that moves 1e7 bytes in 1 ms, and an op
// that does nothing in 10 µs.
StepWork timed_step() {
  return {{forward_of("conv", "conv2d"), {1e9, 1e7, 10e-3, 1}},
          {forward_of("pool", "max_pool2d"), {0, 1e7, 1e-3, 1}},
          {forward_of("none", "copy"), {0, 0, 10e-6, 1}}};
}

TEST(PredictedStep, OfTheSameWorkTakesTheSameTime) {
  StepWork step = timed_step();
  EXPECT_NEAR(predicted_seconds(step, step), compress::total_seconds(step), 2e-5);
}

TEST(PredictedStep, ComputingFollowsFlopsAndMovingFollowsBytes) {
  StepWork step = timed_step(), smaller = step;
  smaller[forward_of("conv", "conv2d")] = {0.25e9, 0.5e7, 0, 1};
  double conv = predicted_seconds(step, step) - predicted_seconds(step, smaller);
  EXPECT_GT(conv, 0.65 * 10e-3);  // bytes have a part in it
  EXPECT_LT(conv, 0.75 * 10e-3);
  smaller = step;
  smaller[forward_of("pool", "max_pool2d")].bytes = 0.5e7;
  EXPECT_NEAR(predicted_seconds(step, step) - predicted_seconds(step, smaller), 0.5e-3, 2e-5);
}

TEST(PredictedStep, AnOpWithoutWorkStillBegins) {
  StepWork step = timed_step(), smaller = step;
  for (auto& [key, op] : smaller) op.flops = op.bytes = 0;
  EXPECT_NEAR(predicted_seconds(step, smaller), 3 * 10e-6, 1e-9);
}

TEST(PredictedStep, OpsThatWereFusedBeforeTakeTheTimeOfTheirBytes) {
  StepWork step = timed_step(), smaller = step;
  smaller[forward_of("late", "max_pool2d")] = {0, 2e7, 0, 1};
  EXPECT_NEAR(predicted_seconds(step, smaller) - predicted_seconds(step, step), 2e-3, 5e-5);
}

Model convolutions(int64_t first, int64_t second) {
  Model model = Sequential({Input({16, 16, 3}), Conv2D(first, 3, {.name = "first"}),
                            Conv2D(second, 3, {.name = "second"}), Flatten(), Dense(4)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  return model;
}

StepWork work_of(const Model& model) {
  std::vector<Tensor> batch = {Tensor::zeros({4, 16, 16, 3}), Tensor::zeros({4, 4})};
  return compress::work_of(program_for(ModelAccess::base(model), StepKind::train,
                                       std::span<const Tensor>(batch), "test"));
}

TEST(PredictedStep, CountsWholeVectorsOfChannels) {
  OnDevice device;
  auto flops = [](int64_t filters) {
    return work_of(convolutions(32, filters)).at(forward_of("second", "conv2d")).flops;
  };
  EXPECT_NEAR(flops(37) / flops(48), 1, 0.01);
  EXPECT_NEAR(flops(32) / flops(64), 0.5, 0.01);
}

TEST(PredictedStep, PredictsTheSameModelToBeAsFast) {
  OnDevice device;
  Data data = blobs(64, 8, 3, 5);
  Model model = Sequential({Input({8}), Dense(64, {.activation = "relu"}), Dense(3)});
  model.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true})});
  std::vector<Tensor> weights = model.get_weights();
  EXPECT_NEAR(predict_speedup(model, strip(model), Batch{data.x, data.y}), 1, 0.1);
  EXPECT_EQ(model.get_weights(), weights);
}

}  // namespace
}  // namespace stoker
