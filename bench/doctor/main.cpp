// bench_doctor: injected faults, and what the doctor says about each. Automatic repairs are off
// (as_written) wherever the fault is one that they would repair.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "common/options.h"
#include "common/report.h"
#include "doctor/faults.h"
#include "engine/registry.h"

namespace stoker::bench {
namespace {

// What was promised and what came of it, seconds a step.
struct Promise {
  std::string of;
  double predicted = 0, achieved = 0;
};

struct Found {
  std::string fault = {}, expected = {}, named = {}, besides = {};
  bool right = false, repeated = false;
  double unexplained = 0;
  std::vector<Promise> promises = {};
};

std::string label(std::string_view finding, Cause cause) {
  return cause == Cause::none ? std::string(finding) : fmt::format("{}/{}", finding, name(cause));
}

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
  bool repairable = fault.finding == Finding::input || fault.finding == Finding::copy ||
                    fault.finding == Finding::launch;
  return diagnose(*patient.model, patient.batches,
                  {.steps = 90, .fix = repairable, .callbacks = patient.callbacks});
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

// One row a fault: how often it was named, and what was said each time.
void add_matrix(const std::vector<Fault>& faults, const std::vector<Found>& all, Report& report) {
  size_t right = 0, seen = 0;
  double unexplained = 0;
  for (const Found& found : all) {
    right += size_t(found.right);
    seen += size_t(found.right || found.besides == found.expected);
    unexplained = std::max(unexplained, found.unexplained);
  }
  std::string count = "of " + std::to_string(all.size());
  report.add({.name = "faults that are named, with their cause",
              .value = double(right) / double(all.size()),
              .unit = count,
              .bar = 1.0});
  report.add({.name = "the same, or named besides other programs on the cores",
              .value = double(seen) / double(all.size()),
              .unit = count});
  report.add({.name = "examinations that were repeated, because the steps themselves varied",
              .value = double(std::ranges::count_if(all, &Found::repeated)),
              .unit = count,
              .better = Better::lower});
  for (const Fault& fault : faults) {
    std::map<std::string, int> said;
    int times = 0, named = 0;
    for (const Found& found : all) {
      if (found.fault != fault.name) continue;
      ++times;
      named += int(found.right);
      ++said[found.besides.empty() ? found.named : found.named + " and " + found.besides];
    }
    if (times == 0) continue;
    std::string note;
    for (const auto& [what, often] : said)
      note += fmt::format("{}{} × {}", note.empty() ? "" : ", ", often, what);
    report.add(
        {.name = "confusion: " + fault.name + " = " + label(name(fault.finding), fault.cause),
         .value = double(named),
         .unit = "of " + std::to_string(times),
         .bar = double(times),
         .note = note});
  }
  report.add({.name = "unexplained share, at most",
              .value = unexplained,
              .unit = "of a step",
              .better = Better::lower,
              .bar = 0.03});
}

// The bar is for input, launch and sync; others are told.
void add_predictions(const std::vector<Fault>& faults, const std::vector<Found>& all,
                     Report& report) {
  for (const Fault& fault : faults) {
    std::map<std::string, std::vector<Promise>> by_remedy;
    for (const Found& found : all)
      if (found.fault == fault.name)
        for (const Promise& promise : found.promises) by_remedy[promise.of].push_back(promise);
    bool bound = fault.finding == Finding::input || fault.finding == Finding::launch ||
                 fault.finding == Finding::sync;
    for (auto& [remedy, promises] : by_remedy) {
      auto off = [](const Promise& each) { return std::abs(each.achieved / each.predicted - 1); };
      std::ranges::sort(promises, {}, off);
      const Promise& middle = promises[promises.size() / 2];
      report.add(
          {.name = fmt::format("prediction: {}, {}", fault.name, remedy),
           .value = off(middle),
           .unit = "off",
           .better = Better::lower,
           .bar = bound ? std::optional(0.2) : std::nullopt,
           .note = fmt::format("predicted {:.3f} ms, achieved {:.3f} ms; median of {}",
                               middle.predicted * 1e3, middle.achieved * 1e3, promises.size())});
    }
  }
}

// The rate of a tuned fit behind its trials, of that of the same fit with settings by hand. Both go
// on for seconds on any machine: trials and workers settle by the clock, not by steps.
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

void add_tuning(std::vector<double> ratios, Report& report) {
  std::ranges::sort(ratios);
  report.add({.name = "tune = Auto against the best by hand",
              .value = ratios[ratios.size() / 2],
              .unit = "of its rate",
              .bar = 0.95,
              .note = fmt::format("median of {}, {:.2f} to {:.2f}", ratios.size(), ratios.front(),
                                  ratios.back())});
}

std::vector<Fault> all_faults() {
  std::vector<Fault> list = cpu_faults();
  std::string why;
  std::vector<Fault> gpu = gpu_faults();
  if (is_usable("cuda", &why))
    list.insert(list.end(), gpu.begin(), gpu.end());
  else
    std::cout << fmt::format("skipped: {} faults that need a GPU ({})\n", gpu.size(), why);
  return list;
}

Report report_of(const std::vector<Fault>& faults, const std::vector<Found>& all,
                 const std::vector<double>& ratios) {
  Report report;
  if (!all.empty()) {
    add_matrix(faults, all, report);
    add_predictions(faults, all, report);
  }
  if (!ratios.empty()) add_tuning(ratios, report);
  return report;
}

// Every seed goes through all faults before the next, and the rows so far are written each time: a
// run that is cut has said as much about each fault.
int run(const Options& options) {
  std::vector<Fault> list = all_faults();
  std::vector<Found> all;
  std::vector<double> ratios;
  auto write = [&] {
    if (!options.json.empty()) report_of(list, all, ratios).write_json(options.json);
  };
  uint64_t seeds = options.longer ? 5 : 1;
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    for (const Fault& fault : list)
      if (options.wants(fault.name)) {
        all.push_back(examine(fault, seed, options.profile));
        write();
      }
  if (options.wants("tune"))
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      ratios.push_back(tuned_ratio(seed, options.profile));
      write();
    }
  Report report = report_of(list, all, ratios);
  report.print(std::cout);
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_doctor", argc, argv, stoker::bench::run);
}
