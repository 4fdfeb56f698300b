// Every prescription is applied to a synthetic run: it makes a step shorter, and by no more than it
// says. What an experiment refutes, and what is random, is not prescribed.
#include <gtest/gtest.h>

#include <set>

#include "base/enum_names.h"
#include "observe/observed.h"
#include "observe/rules.h"
#include "observe/verdict.h"
#include "support/synthetic_run.h"

namespace stoker::doctor {
namespace {

using test::applied;
using test::evidence_from;
using test::SyntheticRun;

struct Patient {
  std::string name;
  Cause cause;  // that it is built to have
  SyntheticRun run;
};

std::vector<Patient> patients() {
  return {
      {"single batches", Cause::none, {.dataset = false, .work = 10}},
      {"no prefetch", Cause::no_prefetch, {.work = 8}},
      {"late batches", Cause::jitter, {.work = 4, .uneven = 4, .workers = 1}},
      {"slow disk", Cause::storage, {.work = 1, .storage = 40, .workers = 1}},
      {"one worker", Cause::parallelism, {.work = 25, .keepable = 20, .workers = 1}},
      {"too large to keep",
       Cause::parallelism,
       {.work = 25, .keepable = 20, .workers = 1, .fits_memory = false}},
      {"all cores", Cause::cpu_saturated, {.tuned = true, .work = 80, .workers = 4}},
      {"crowded cores",
       Cause::pipeline_threads,
       {.threads = 4, .crowded = 6, .work = 3, .workers = 1, .compute = 9}},
      {"spinning threads",
       Cause::spinning,
       {.threads = 2, .crowded = 6, .spinning = true, .work = 3, .workers = 1, .compute = 9}},
      {"pageable", Cause::pageable, {.gpu = true, .copy = 4, .pinned = false}},
      {"pageable without a dataset",
       Cause::pageable,
       {.gpu = true, .dataset = false, .copy = 4, .pinned = false}},
      {"small copies", Cause::small_copies, {.gpu = true, .per_batch = 2, .copy = 14}},
      {"not captured", Cause::many_small_ops, {.gpu = true, .per_batch = 4, .launch = 6}},
      {"delayed host", Cause::delayed_host, {.gpu = true, .per_batch = 4, .delayed = 3}},
      {"callback", Cause::callback, {.callback = 4}},
      {"host layer", Cause::host_layer, {.host_layer = 6}},
      {"metrics", Cause::read_back, {.read_back = 3}},
      {"new shapes", Cause::recompiling, {.compiling = 8}},
      {"validation", Cause::validation, {.validation = 12}},
      {"saving", Cause::epoch_callback, {.saving = 9}},
      {"short epochs", Cause::short_epochs, {.beginning = 9}},
      {"small batch",
       Cause::small_batch,
       {.compute = 2, .per_batch = 8, .compute_share = 0.1, .bandwidth_share = 0.1}},
      {"free memory",
       Cause::memory_unused,
       {.gpu = true,
        .compute = 2,
        .per_batch = 8,
        .compute_share = 0.1,
        .bandwidth_share = 0.1,
        .memory_share = 0.03}},
      {"slow op",
       Cause::slow_op,
       {.gpu = true, .compute_share = 0.2, .bandwidth_share = 0.2, .slow_share = 0.5}},
      {"large products",
       Cause::none,
       {.gpu = true,
        .conv_share = 0.5,
        .largest_share = 0.4,
        .compute_share = 0.8,
        .bandwidth_share = 0.1}},
      {"other programs", Cause::cpu_contention, {.others = 0.3}},
      {"quota", Cause::quota, {.throttled = 0.2}},
      {"hot", Cause::throttled, {.gpu = true, .hot = true}},
      {"narrow bus", Cause::bus, {.gpu = true, .narrow = true}},
      {"too large", Cause::out_of_memory, {.too_large = true}},
  };
}

std::vector<Prescription> prescribed(const SyntheticRun& run) {
  Evidence evidence = evidence_from(run);
  return prescriptions_for(judge(evidence), evidence);
}

TEST(Prescriptions, NameTheCauseThatEachPatientHas) {
  for (const Patient& patient : patients()) {
    Verdict verdict = judge(evidence_from(patient.run));
    EXPECT_EQ(name(verdict.cause), name(patient.cause)) << patient.name << ": " << verdict.sentence;
  }
}

TEST(Prescriptions, MakeAStepShorterWhereTheyAreApplied) {
  for (const Patient& patient : patients())
    for (const Prescription& each : prescribed(patient.run)) {
      SyntheticRun after = applied(patient.run, each.action);
      if (patient.run.too_large) {
        EXPECT_FALSE(after.too_large) << each.what;
        continue;
      }
      EXPECT_LT(after.per_sample(), patient.run.per_sample()) << patient.name << ": " << each.what;
    }
}

TEST(Prescriptions, PromiseACeiling) {
  for (const Patient& patient : patients())
    for (const Prescription& each : prescribed(patient.run)) {
      if (each.predicted_step_seconds == 0) continue;
      SyntheticRun after = applied(patient.run, each.action);
      double same_samples = after.per_sample() * double(patient.run.batch) * 1e-3;
      EXPECT_LE(each.predicted_step_seconds, same_samples * 1.001)
          << patient.name << ": " << each.what;
      EXPECT_LT(each.predicted_step_seconds, patient.run.step() * 1e-3) << each.what;
    }
}

TEST(Prescriptions, AreEachAppliedToSomePatient) {
  std::set<Action> seen;
  for (const Patient& patient : patients())
    for (const Prescription& each : prescribed(patient.run)) seen.insert(each.action);
  for (size_t i = 0; i < enumerators<Action>(); ++i)
    EXPECT_TRUE(seen.contains(Action(i))) << name(Action(i)) << " is tested by no patient";
}

TEST(Prescriptions, HaveAPatientForEveryCause) {
  std::set<Cause> seen;
  for (const Patient& patient : patients()) seen.insert(patient.cause);
  for (const CauseRule& rule : cause_rules())
    EXPECT_TRUE(seen.contains(rule.cause) || rule.prescribes == nullptr) << name(rule.cause);
}

TEST(Prescriptions, LeaveOutWhatAnExperimentRefuted) {
  auto proposes = [](const Evidence& evidence, Action action) {
    for (const Prescription& each : prescriptions_for(judge(evidence), evidence))
      if (each.action == action) return true;
    return false;
  };
  Evidence small =
      evidence_from({.compute = 2, .per_batch = 8, .compute_share = 0.1, .bandwidth_share = 0.1});
  EXPECT_TRUE(proposes(small, Action::larger_batch));
  small.what_if.double_batch_ns = 2 * small.step_ns;  // twice the samples in twice the time
  EXPECT_FALSE(proposes(small, Action::larger_batch));

  Evidence launches = evidence_from({.gpu = true, .launch = 6});
  EXPECT_TRUE(proposes(launches, Action::capture));
  launches.what_if.captured_ns = launches.step_ns;
  EXPECT_FALSE(proposes(launches, Action::capture));

  Evidence copies = evidence_from({.gpu = true, .copy = 4, .pinned = false});
  EXPECT_TRUE(proposes(copies, Action::page_lock));
  copies.what_if.pinned_ns = copies.step_ns;
  EXPECT_FALSE(proposes(copies, Action::page_lock));
}

TEST(Prescriptions, DoNotProposeAgainWhatATrialTookBack) {
  Evidence evidence = evidence_from({.work = 25, .keepable = 20, .workers = 1});
  Diagnosis diagnosis;
  diagnosis.prescriptions = {{.action = Action::cache,
                              .what = "a cache",
                              .knob = Knob::cache,
                              .tried = true,
                              .kept = false}};
  conclude(diagnosis, evidence);
  int caches = 0;
  for (const Prescription& each : diagnosis.prescriptions) caches += int(each.knob == Knob::cache);
  EXPECT_EQ(caches, 1) << "what was tried stays, as tried";
  EXPECT_NE(diagnosis.text().find("Tried and taken back"), std::string::npos);
  EXPECT_LT(diagnosis.text().find("What to do"), diagnosis.text().find("Tried and taken back"));
}

TEST(Prescriptions, ProposeNoSettingThatThePipelineAlreadyHas) {
  for (const Patient& patient : patients()) {
    SyntheticRun run = patient.run;
    run.tuned = true;
    if (run.workers == 0) continue;
    for (const Prescription& each : prescribed(run))
      EXPECT_NE(each.knob, Knob::pipeline) << patient.name << ": " << each.what;
  }
}

TEST(Prescriptions, KeepNothingThatIsRandom) {
  Evidence evidence = evidence_from({.work = 80, .workers = 4});
  evidence.pipeline.stages[0].random = true;  // and so the pipeline advises no place for a cache
  for (const Prescription& each : prescriptions_for(judge(evidence), evidence)) {
    EXPECT_NE(each.action, Action::cache) << each.what;
    EXPECT_NE(each.action, Action::save) << each.what;
  }
}

TEST(Prescriptions, SayThatResultsChangeWhereAShuffleMovesOrRandomStepsFollow) {
  Evidence evidence = evidence_from({.work = 25, .keepable = 20, .workers = 1});
  auto cache = [&] {
    for (const Prescription& each : prescriptions_for(judge(evidence), evidence))
      if (each.action == Action::cache) return each;
    return Prescription{};
  };
  EXPECT_FALSE(cache().changes_results);
  EXPECT_NE(cache().provided.find("the same element every epoch"), std::string::npos);
  evidence.pipeline.cache.shuffle = "shuffle(seed = 1)";
  EXPECT_TRUE(cache().changes_results);
  EXPECT_NE(cache().what.find("shuffle(seed = 1) behind it"), std::string::npos) << cache().what;
  evidence.pipeline.cache.shuffle.clear();
  evidence.pipeline.cache.random_behind = true;
  EXPECT_TRUE(cache().changes_results);
}

TEST(Prescriptions, SayThatOtherThreadsChangeTheOrderOfSums) {
  for (const Patient& patient : patients())
    for (const Prescription& each : prescribed(patient.run))
      if (each.action == Action::leave_core) {
        EXPECT_TRUE(each.changes_results);
      }
}

// A sentence's gaps are filled with phrases, which are never empty; here all that could be unknown
// is unknown.
TEST(Prescriptions, HaveNoHoleWhereNothingIsKnown) {
  Evidence evidence;
  evidence.windows.resize(3);
  evidence.step_ns = 1e7;
  Case run(evidence);
  for (const CauseRule& rule : cause_rules()) {
    std::string text = rule.says(run);
    EXPECT_EQ(text.find("  "), std::string::npos) << text;
    EXPECT_EQ(text.find("\"\""), std::string::npos) << text;
    EXPECT_NE(text.back(), ' ') << text;
    Prescriptions list(run);
    if (rule.prescribes != nullptr) rule.prescribes(run, list);
    for (const Prescription& each : list.sorted()) {
      EXPECT_EQ(each.what.find("  "), std::string::npos) << each.what;
      EXPECT_NE(each.why.back(), ' ') << each.why;
    }
  }
  EXPECT_NE(rule_of(Cause::cpu_saturated).says(run).text().find("with the pipeline"),
            std::string::npos);
}

// Page 000's two rules, and page 003's two.
TEST(Prescriptions, ReadTheMemoryOfAGpuAsItsMonitorShowsIt) {
  Evidence low = evidence_from({.gpu = true,
                                .compute = 2,
                                .per_batch = 8,
                                .compute_share = 0.1,
                                .bandwidth_share = 0.1,
                                .memory_share = 0.03});
  Verdict verdict = judge(low);
  EXPECT_EQ(verdict.cause, Cause::memory_unused);
  EXPECT_NE(verdict.sentence.find("3 % of the GPU's memory"), std::string::npos);
  std::vector<Prescription> list = prescriptions_for(verdict, low);
  ASSERT_FALSE(list.empty());
  EXPECT_EQ(list[0].action, Action::larger_batch);
  low.device.memory_share = 0.95;  // a larger batch does not fit
  for (const Prescription& each : prescriptions_for(judge(low), low))
    EXPECT_NE(each.action, Action::larger_batch);

  Evidence full = evidence_from({.gpu = true, .work = 40, .workers = 1, .memory_share = 0.95});
  full.device.use = 0.3;
  verdict = judge(full);
  EXPECT_EQ(verdict.limit, Limit::input);
  bool hinted = false;
  for (const std::string& hint : verdict.hints)
    hinted = hinted || hint.find("look at the input") != std::string::npos;
  EXPECT_TRUE(hinted);
}

TEST(Prescriptions, KnowSeparableConvolutionsAndSixteenBits) {
  std::set<Action> seen;
  for (const Prescription& each :
       prescribed({.gpu = true, .conv_share = 0.5, .compute_share = 0.8, .bandwidth_share = 0.1}))
    seen.insert(each.action);
  EXPECT_TRUE(seen.contains(Action::separable_conv));
  EXPECT_TRUE(seen.contains(Action::mixed_precision));
  for (const Prescription& each :
       prescribed({.largest_share = 0.5, .compute_share = 0.8, .bandwidth_share = 0.1})) {
    EXPECT_NE(each.action, Action::separable_conv) << "there is no convolution";
    EXPECT_NE(each.action, Action::mixed_precision) << "a CPU has no tensor cores";
  }
}

}  // namespace
}  // namespace stoker::doctor
