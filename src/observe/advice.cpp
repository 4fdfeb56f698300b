#include "observe/advice.h"

#include <algorithm>
#include <array>

#include "observe/observed.h"
#include "observe/prescriptions.h"
#include "observe/thresholds.h"

namespace stoker::doctor {

namespace {

constexpr std::array kWaits = {Owner::input, Owner::copy, Owner::launch, Owner::sync};

// Where the steps are too few or too uneven for a verdict: what was seen of them.
std::string waited_words(const Evidence& evidence) {
  StepShares shares = evidence.total().shares();
  return say("The device waited {} of the time, most of all for {}.", percent(waiting(shares)),
             Phrase(name(longest_wait(shares)), "input"));
}

}  // namespace

double waiting(const StepShares& shares) {
  double sum = 0;
  for (Owner owner : kWaits) sum += shares[owner];
  return sum;
}

Owner longest_wait(const StepShares& shares) {
  return *std::ranges::max_element(kWaits, {}, [&](Owner owner) { return shares[owner]; });
}

std::string advice_for(const Diagnosis& diagnosis, const Evidence& evidence) {
  Diagnosis judged = diagnosis;
  if (evidence.steady_steps < kLeastSteps) conclude(judged, evidence, kLeastSaid);
  bool between = judged.verdict.limit == Limit::epochs;
  if (!between && waiting(evidence.total().shares()) <= kWorthSaying) return "";
  constexpr const char* kAsk = " doctor::diagnose(model, batches) tries what would help.";
  if (judged.verdict.finding == Finding::unstable) return waited_words(evidence) + kAsk;
  for (const Prescription& each : judged.prescriptions)
    if (!each.tried)
      return fmt::format("{} {}.", judged.verdict.sentence, to_line(each, judged.step_seconds));
  return judged.verdict.sentence + kAsk;
}

}  // namespace stoker::doctor
