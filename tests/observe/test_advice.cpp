// The one line behind a fit that waited.
#include <gtest/gtest.h>

#include "observe/advice.h"
#include "observe/observed.h"
#include "support/synthetic_run.h"

namespace stoker::doctor {
namespace {

using test::evidence_from;

std::string advice_of(const Evidence& evidence) {
  Diagnosis diagnosis;
  conclude(diagnosis, evidence);
  return advice_for(diagnosis, evidence);
}

TEST(Advice, NamesTheCauseTheCureAndItsGain) {
  std::string line = advice_of(evidence_from({.work = 25, .workers = 1}));
  for (const char* part : {"waits for batches", "runs on 1 worker", ".parallel = AUTOTUNE",
                           "× faster", "results stay the same"})
    EXPECT_NE(line.find(part), std::string::npos) << part << " in: " << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(Advice, IsGivenForAShortFitToo) {
  Evidence evidence = evidence_from({.work = 25, .workers = 1});
  evidence.steady_steps = 12;
  EXPECT_NE(advice_of(evidence).find(".parallel = AUTOTUNE"), std::string::npos);
}

TEST(Advice, SaysWhatWasSeenWhereTheStepsAllowNoVerdict) {
  Evidence evidence = evidence_from({.work = 25, .workers = 1});
  evidence.variation = 0.5;
  std::string line = advice_of(evidence);
  EXPECT_NE(line.find("most of all for input"), std::string::npos) << line;
  EXPECT_NE(line.find("doctor::diagnose"), std::string::npos) << line;
}

TEST(Advice, IsNotGivenWhereTheDeviceHardlyWaits) {
  EXPECT_EQ(advice_of(evidence_from({})), "");
  EXPECT_EQ(advice_of(evidence_from({.callback = 0.5})), "");
}

TEST(Advice, IsGivenWhereEpochsAreLongerThanTheirSteps) {
  std::string line = advice_of(evidence_from({.validation = 12}));
  for (const char* part :
       {"the steps are 45 % of the time", "validation takes 120.0 ms", ".validation_freq"})
    EXPECT_NE(line.find(part), std::string::npos) << part << " in: " << line;
  line = advice_of(evidence_from({.saving = 9}));
  EXPECT_NE(line.find("the callback Saver works for 90.0 ms at the end"), std::string::npos)
      << line;
  EXPECT_EQ(advice_of(evidence_from({.validation = 2})), "") << "as it should be";
}

TEST(Advice, DoesNotRepeatWhatWasTried) {
  Evidence evidence = evidence_from({.work = 25, .workers = 1});
  Diagnosis diagnosis;
  diagnosis.prescriptions = {{.what = "tried", .knob = Knob::pipeline, .tried = true}};
  conclude(diagnosis, evidence);
  std::string line = advice_for(diagnosis, evidence);
  EXPECT_EQ(line.find("tried"), std::string::npos) << line;
  EXPECT_EQ(line.find("AUTOTUNE"), std::string::npos) << line;
}

}  // namespace
}  // namespace stoker::doctor
