// Where a whole fit went, from what its loop tells.
#include <gtest/gtest.h>

#include "observe/whole_fit.h"

namespace stoker::doctor {
namespace {

TEST(WholeFit, SumsWhatAnEpochWaitedWithoutTheFirstStepOfAll) {
  WholeFit whole;
  whole.add({.asked = 0, .ready = 900, .run = 900, .ran = 1000, .end = 1000});
  for (int64_t step = 0; step < 2; ++step)
    whole.add({.asked = 0, .ready = 60, .run = 70, .ran = 95, .end = 100, .looked = 10});
  EpochWaits epoch = whole.take_epoch();
  EXPECT_EQ(epoch.input, 120);
  EXPECT_EQ(epoch.sync, 30);
  EXPECT_EQ(epoch.wall, 220);
  EXPECT_EQ(whole.take_epoch().wall, 0) << "the next epoch begins at nothing";
  EXPECT_DOUBLE_EQ(whole.waited_seconds(), 150e-9);
}

TEST(WholeFit, TellsStepsReadingValidationAndTurnsApart) {
  WholeFit whole;
  StepTimes step{.epoch = 0, .asked = 110, .ready = 115, .run = 120, .ran = 150, .end = 160};
  whole.add(step);
  step = {.epoch = 0, .asked = 165, .ready = 170, .run = 170, .ran = 200, .end = 210, .looked = 5};
  whole.add(step);
  whole.add({.begin = 100,
             .first_step = 110,
             .last_step = 230,
             .read = 250,
             .validated = 290,
             .end = 300},
            step);
  FitShares shares = whole.shares(400);
  EXPECT_DOUBLE_EQ(shares.steps, 120.0 / 400) << "waiting for the last steps is a part of them";
  EXPECT_DOUBLE_EQ(shares.read_back, 20.0 / 400);
  EXPECT_DOUBLE_EQ(shares.validation, 40.0 / 400);
  EXPECT_DOUBLE_EQ(shares.epoch_turns, 20.0 / 400);
  EXPECT_DOUBLE_EQ(shares.unexplained, 200.0 / 400);
  EXPECT_DOUBLE_EQ(whole.looked_seconds(), 2.5e-9);
}

TEST(WholeFit, LeavesAStepThatWasNotToldUnexplained) {
  WholeFit whole;
  StepTimes step{.epoch = 0, .asked = 50, .ready = 50, .run = 50, .ran = 100, .end = 100};
  whole.add(step);
  whole.add({.last_step = 100, .read = 100, .validated = 100, .end = 100}, step);
  EXPECT_DOUBLE_EQ(whole.shares(100).unexplained, 0.5);
}

TEST(WholeFit, TellsWhatAnEpochTakesWithoutTheFirst) {
  WholeFit whole;
  EpochTimes first{
      .first_step = 500, .last_step = 900, .read = 910, .validated = 2000, .end = 3000};
  whole.add(first, {});
  EXPECT_EQ(whole.epochs().count, 0) << "it compiles, and fills everything";
  for (int64_t epoch : {1, 2})
    whole.add({.epoch = epoch,
               .begin = 0,
               .first_step = 10,
               .last_step = 100,
               .read = 110,
               .validated = 110 + 100 * epoch,
               .end = 120 + 100 * epoch},
              {});
  EpochFacts facts = whole.epochs();
  EXPECT_EQ(facts.count, 2);
  EXPECT_DOUBLE_EQ(facts.steps_ns, 100);
  EXPECT_DOUBLE_EQ(facts.validation_ns, 150);
  EXPECT_DOUBLE_EQ(facts.turn_ns, 20);
}

TEST(WholeFit, OfNothingIsNothing) {
  EXPECT_EQ(WholeFit().shares(0).seconds, 0);
  EXPECT_EQ(WholeFit().looked_seconds(), 0);
}

}  // namespace
}  // namespace stoker::doctor
