#include "jobs/scaling_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include <stoker/error.h>
#include <nlohmann/json.hpp>

namespace stoker::jobs {
namespace {

StepModel resnet(double bandwidth, double latency) {
  return {.link = {.bandwidth = bandwidth, .latency = latency},
          .load = {.bytes = 100e6, .calls = 25, .last_bytes = 4e6},
          .computing = 0.1,
          .overlap = 0.8};
}

std::vector<ScalingPoint> measured(const StepModel& model) {
  std::vector<ScalingPoint> points;
  for (int64_t ranks : {1, 2, 4, 8})
    points.push_back({.ranks = ranks,
                      .step = model.step(ranks),
                      .computing = model.computing,
                      .sums = model.sums(ranks)});
  return points;
}

TEST(ScalingModel, FindsTheLinkAndTheOverlapOfStepsThatItMade) {
  StepModel truth = resnet(1e9, 50e-6);
  StepModel found = fit_step_model(measured(truth), truth.load);
  EXPECT_NEAR(found.link.bandwidth, 1e9, 1e4);
  EXPECT_NEAR(found.link.latency, 50e-6, 1e-9);
  EXPECT_NEAR(found.computing, 0.1, 1e-9);
  EXPECT_NEAR(found.overlap, 0.8, 0.02);
  EXPECT_NEAR(found.step(16), truth.step(16), 0.02 * truth.step(16));
}

TEST(ScalingModel, HidesSumsThatAreShorterThanTheBackwardPass) {
  StepModel fast = resnet(100e9, 1e-6);
  EXPECT_GT(fast.efficiency(8), 0.99);
  EXPECT_EQ(what_limits(fast, 8), "computing");
  StepModel slow = resnet(125e6, 50e-6);
  EXPECT_LT(slow.efficiency(2), 0.2);
  EXPECT_EQ(what_limits(slow, 2), "the link's bandwidth");
  EXPECT_EQ(what_limits(resnet(100e9, 2e-3), 64), "the link's latency");
  EXPECT_EQ(fast.step(1), fast.computing);
}

TEST(ScalingModel, PredictsTheStepsThatItWasFittedTo) {
  SumLoad load = resnet(1e9, 0).load;
  for (double sums : {0.01, 0.05, 0.08, 0.4}) {  // the backward pass takes 0.067 s
    for (double visible : {0.008, 0.25 * sums, 0.9 * sums}) {
      ScalingPoint point{
          .ranks = 2, .step = 0.1 + std::min(visible, sums), .computing = 0.1, .sums = sums};
      StepModel found = fit_step_model(std::span(&point, 1), load);
      double least = std::max(point.step, point.computing + found.tail(2));
      // Of sums that take longer than the backward pass, what outlasts it shows.
      least = std::max(least, 0.1 + sums - 0.1 * found.backward_share);
      EXPECT_NEAR(found.step(2), least, 1e-3) << sums << " s of sums, " << visible << " s shown";
    }
  }
}

TEST(ScalingModel, NeverMakesALinkFasterThanNothing) {
  std::vector<ScalingPoint> noise = measured(resnet(1e9, 0));
  for (ScalingPoint& point : noise) point.sums *= point.ranks == 8 ? 0.5 : 1.0;
  StepModel found = fit_step_model(noise, resnet(1e9, 0).load);
  EXPECT_GE(found.link.latency, 0);
  EXPECT_GT(found.link.bandwidth, 0);
}

TEST(ScalingModel, NeedsMoreThanOneRank) {
  std::vector<ScalingPoint> one{{.ranks = 1, .step = 1, .computing = 1, .sums = 0}};
  EXPECT_THROW(fit_step_model(one, {}), ValueError);
  StepModel model = fit_step_model(measured(resnet(1e9, 50e-6)), resnet(1e9, 50e-6).load);
  std::vector<int64_t> ranks{1, 8};
  EXPECT_EQ(to_json(model, ranks)["predicted"].size(), 2U);
}

}  // namespace
}  // namespace stoker::jobs
