#include "doctor/examine.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stoker::bench {

namespace {

double cured_seconds(const Fault& fault, uint64_t seed) {
  Patient patient = fault.cured(seed);
  Diagnosis diagnosis = diagnose(*patient.model, patient.batches,
                                 {.steps = 80, .counterfactuals = false, .layers = false});
  return diagnosis.step_seconds;
}

// A remedy that was tried is compared with its own prediction; a cure with the best one.
std::vector<Promise> promises_of(const Diagnosis& diagnosis, const Fault& fault, uint64_t seed) {
  std::vector<Promise> promises;
  for (const Prescription& each : diagnosis.prescriptions)
    if (each.kept && each.settled_seconds > 0 && each.predicted_step_seconds > 0)
      promises.push_back(
          {std::string(name(each.knob)), each.predicted_step_seconds, each.settled_seconds});
  if (fault.cured && !diagnosis.prescriptions.empty())
    promises.push_back(
        {"cure", diagnosis.prescriptions[0].predicted_step_seconds, cured_seconds(fault, seed)});
  return promises;
}

Diagnosis diagnosis_of(const Fault& fault, uint64_t seed) {
  Patient patient = fault.make(seed);
  if (patient.fit) {
    patient.model->fit(patient.batches, *patient.fit);
    return last_diagnosis(*patient.model).value();
  }
  bool repairable = fault.finding == Finding::input || fault.finding == Finding::copy ||
                    fault.finding == Finding::launch;
  return diagnose(*patient.model, patient.batches,
                  {.steps = 90, .fix = repairable, .callbacks = patient.callbacks});
}

}  // namespace

std::string label(std::string_view finding, Cause cause) {
  return cause == Cause::none ? std::string(finding) : fmt::format("{}/{}", finding, name(cause));
}

// Steps that vary by themselves, on a machine that others use too, tell nothing: the doctor says
// so, and is asked once more.
Found examine(const Fault& fault, uint64_t seed, bool whole) {
  Diagnosis diagnosis = diagnosis_of(fault, seed);
  bool repeated = diagnosis.verdict.finding == Finding::unstable;
  if (repeated) {
    std::cout << fmt::format("{:<36} seed {}  once more: {}\n", fault.name, seed,
                             diagnosis.verdict.sentence);
    diagnosis = diagnosis_of(fault, seed);
  }
  const Verdict& verdict = diagnosis.verdict;
  Found found{.fault = fault.name, .expected = label(name(fault.finding), fault.cause)};
  found.repeated = repeated;
  found.named = label(name(verdict.finding), verdict.cause);
  bool hinted = fault.hint.empty() || std::ranges::any_of(verdict.hints, [&](const auto& hint) {
                  return hint.find(fault.hint) != std::string::npos;
                });
  if (!hinted) found.named += " without a hint";
  bool prescribed = !fault.action || std::ranges::any_of(diagnosis.prescriptions, [&](auto& each) {
    return each.action == *fault.action;
  });
  if (!prescribed) found.named += fmt::format(" without {}", name(*fault.action));
  if (verdict.finding == Finding::health)
    found.besides = label(name(verdict.limit), verdict.limit_cause);
  found.right = found.named == found.expected;
  found.unexplained = diagnosis.shares[Owner::unexplained];
  found.promises = promises_of(diagnosis, fault, seed);
  std::cout << fmt::format("{:<36} seed {}  {}  {}\n", fault.name, seed,
                           found.right ? "right" : "WRONG", verdict.sentence)
            << (whole ? diagnosis.text() : "") << std::flush;
  return found;
}

// Both go on for seconds on any machine: trials and workers settle by the clock, not by steps.
double tuned_ratio(uint64_t seed, bool whole) {
  constexpr int64_t kFirst = 300;
  constexpr double kSeconds = 8;
  auto seconds_of = [&](bool by_hand, int64_t steps) {
    Patient patient = slow_pipeline(seed, by_hand);
    patient.model->fit(
        patient.batches,
        {.epochs = 1, .steps_per_epoch = steps, .verbose = 0, .tune = by_hand ? Tune::off : Auto});
    std::optional<Diagnosis> diagnosis = last_diagnosis(*patient.model);
    if (whole) std::cout << diagnosis->text() << std::flush;
    return diagnosis->step_seconds;
  };
  auto steps = int64_t(kSeconds / seconds_of(true, kFirst));
  double by_hand = seconds_of(true, steps);
  return by_hand / seconds_of(false, steps);
}

nlohmann::json to_json(const Found& found) {
  nlohmann::json promises = nlohmann::json::array();
  for (const Promise& each : found.promises)
    promises.push_back({each.of, each.predicted, each.achieved});
  return {{"fault", found.fault},
          {"expected", found.expected},
          {"named", found.named},
          {"besides", found.besides},
          {"right", found.right},
          {"repeated", found.repeated},
          {"unexplained", found.unexplained},
          {"promises", promises}};
}

Found found_in(const nlohmann::json& json) {
  Found found{.fault = json.at("fault"),
              .expected = json.at("expected"),
              .named = json.at("named"),
              .besides = json.at("besides"),
              .right = json.at("right"),
              .repeated = json.at("repeated"),
              .unexplained = json.at("unexplained")};
  for (const auto& each : json.at("promises"))
    found.promises.push_back({each.at(0), each.at(1), each.at(2)});
  return found;
}

}  // namespace stoker::bench
