// Trials of settings on a running fit, with steps whose times are given.
#include <gtest/gtest.h>
#include <stoker/random.h>

#include <cmath>

#include "observe/tuning.h"

namespace stoker::doctor {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

using Decision = AlternatingTrial::Decision;

// Steps of `without` and `with` nanoseconds, each with its own pattern of noise.
AlternatingTrial tried(double without, double with, double noise) {
  AlternatingTrial trial;
  for (int i = 0; i < 1000 && trial.decision() == Decision::undecided; ++i) {
    double wave = 1 + noise * (double((i * 7919) % 101) / 50 - 1);
    trial.step_ended(int64_t((trial.with_change() ? with : without) * wave));
  }
  return trial;
}

TEST(AlternatingTrial, KeepsWhatHelps) {
  AlternatingTrial trial = tried(20e6, 12e6, 0.1);
  EXPECT_EQ(trial.decision(), Decision::keep);
  EXPECT_TRUE(trial.with_change());
  EXPECT_NEAR(trial.gain().mean, 0.4, 0.05);
  EXPECT_GT(trial.gain().low, 0);
  EXPECT_NEAR(trial.gain().mean, 1 - trial.after_seconds() / trial.before_seconds(), 1e-9);
}

TEST(AlternatingTrial, RevertsWhatGainsTooLittle) {
  EXPECT_EQ(tried(20e6, 19.9e6, 0.01).decision(), Decision::revert);
  EXPECT_EQ(tried(20e6, 25e6, 0.1).decision(), Decision::revert);
}

TEST(AlternatingTrial, RevertsWhatItCannotTellFromNoise) {
  AlternatingTrial trial;
  for (int i = 0; i < 2000 && trial.decision() == Decision::undecided; ++i) {
    Rng rng(11, uint64_t(i / 14));  // noise of whole blocks
    trial.step_ended(int64_t(20e6 * (1 + 0.5 * rng.normal() * rng.normal())));
  }
  EXPECT_EQ(trial.decision(), Decision::revert);
}

TEST(AlternatingTrial, CountsNoStepThatStillSettles) {
  AlternatingTrial trial({.settle = 3, .block = 2});
  std::vector<bool> changes;
  for (int i = 0; i < 10; ++i) changes.push_back(trial.step_ended(kMillisecond));
  EXPECT_EQ(changes, (std::vector<bool>{false, false, false, false, true, false, false, false,
                                        false, true}));
}

TEST(GainInterval, IsStudents) {
  GainInterval interval = interval_of({0.1, 0.2, 0.3});
  EXPECT_NEAR(interval.mean, 0.2, 1e-12);
  EXPECT_NEAR(interval.high - interval.mean, 4.303 * 0.1 / std::sqrt(3.0), 1e-9);
}

TEST(AlternatingTrial, SaysOfOneSlowBlockNoMoreThanItIs) {
  AlternatingTrial trial;
  for (int i = 0; i < 1000 && trial.decision() == Decision::undecided; ++i)
    trial.step_ended(trial.with_change() && i < 28 ? 200 * kMillisecond : 20 * kMillisecond);
  EXPECT_EQ(trial.decision(), Decision::revert);
  EXPECT_GT(trial.gain().mean, -1) << "ten times as slow once is not a loss of several hundred %";
  EXPECT_NEAR(trial.gain().mean, 1 - trial.after_seconds() / trial.before_seconds(), 1e-9);
}

std::vector<Knob> knobs_of(const std::vector<Remedy>& remedies) {
  std::vector<Knob> knobs;
  for (const Remedy& remedy : remedies) knobs.push_back(remedy.knob);
  return knobs;
}

TEST(Remedies, AreThoseThatThePipelineLacks) {
  PipelineStatistics pipeline;
  pipeline.as_written = true;
  EXPECT_EQ(knobs_of(remedies_for(pipeline, {}, true, 32)), std::vector<Knob>{Knob::pipeline});
  EXPECT_TRUE(remedies_for(pipeline, {}, false, 32).empty());
  pipeline.as_written = false, pipeline.tunes_workers = pipeline.tunes_depth = true;
  EXPECT_TRUE(remedies_for(pipeline, {}, true, 32).empty());
  pipeline.cache = {.after = "map(\"decode\")", .bytes = 1e6, .saved_ns = 1e5, .elements = 320};
  EXPECT_TRUE(remedies_for(pipeline, {}, true, 32).empty()) << "the chain itself has to change";
  pipeline.cache.tunable = true;
  std::vector<Remedy> remedies = remedies_for(pipeline, {}, true, 32);
  ASSERT_EQ(knobs_of(remedies), std::vector<Knob>{Knob::cache});
  EXPECT_EQ(remedies[0].fill, 11);  // an epoch, and one
}

TEST(Remedies, AreThoseThatTheDeviceLacks) {
  EXPECT_TRUE(remedies_for({}, DeviceKnobs{}, false, 32).empty());
  EXPECT_EQ(knobs_of(remedies_for({}, DeviceKnobs{.capture = false, .pin = false}, false, 32)),
            (std::vector<Knob>{Knob::capture, Knob::page_lock}));
  PipelineStatistics pageable;
  EXPECT_EQ(knobs_of(remedies_for(pageable, DeviceKnobs{}, false, 32)),
            std::vector<Knob>{Knob::page_lock});
}

// A machine on which the captured step takes 6 of 10 ms and page-locked copies change nothing.
struct FakeFit {
  TuneSettings now = {.device = {.capture = false, .pin = false}};
  int changes = 0;
  int64_t step() const { return now.device.capture ? 6 * kMillisecond : 10 * kMillisecond; }
};

TEST(Tuning, KeepsWhatHelpsAndTakesTheRestBack) {
  FakeFit fit;
  Tuning tuning({{.knob = Knob::capture, .what = "capture"}, {.knob = Knob::page_lock}}, fit.now,
                [&](const TuneSettings& settings) {
                  fit.now = settings;
                  ++fit.changes;
                });
  for (int i = 0; i < 2000 && !tuning.done(); ++i) tuning.step_ended(fit.step());
  ASSERT_TRUE(tuning.done());
  EXPECT_TRUE(fit.now.device.capture);
  EXPECT_FALSE(fit.now.device.pin);
  ASSERT_EQ(tuning.tried().size(), 2U);
  EXPECT_TRUE(tuning.tried()[0].kept);
  EXPECT_NEAR(tuning.tried()[0].gain, 0.4, 1e-9);
  EXPECT_NEAR(tuning.tried()[0].settled_seconds, 6e-3, 1e-9);
  EXPECT_FALSE(tuning.tried()[1].kept);
  EXPECT_EQ(tuning.tried()[1].settled_seconds, 0);
}

TEST(Tuning, FillsACacheBeforeItIsTriedAndHoldsItMeanwhile) {
  TuneSettings now;
  int filled = 0;
  bool lost = false;
  Tuning tuning({{.knob = Knob::cache, .fill = 40}}, now, [&](const TuneSettings& settings) {
    lost = lost || (!settings.pipeline.cache && !settings.pipeline.hold_cache);
    now = settings;
  });
  EXPECT_TRUE(now.pipeline.cache);
  for (int i = 0; i < 2000 && !tuning.done(); ++i) {
    bool cached = now.pipeline.cache && filled >= 40;
    if (now.pipeline.cache) ++filled;
    tuning.step_ended(cached ? 2 * kMillisecond : 10 * kMillisecond);
  }
  ASSERT_TRUE(tuning.done());
  EXPECT_TRUE(tuning.tried()[0].kept);
  EXPECT_NEAR(tuning.tried()[0].gain, 0.8, 1e-9);
  EXPECT_TRUE(now.pipeline.cache);
  EXPECT_FALSE(lost);
}

}  // namespace
}  // namespace stoker::doctor
