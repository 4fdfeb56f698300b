// bench_doctor: injected faults, and what the doctor says about each. Automatic repairs are off
// (as_written) wherever the fault is one that they would repair.
#include <algorithm>
#include <cmath>
#include <iostream>

#include <fmt/format.h>

#include "common/options.h"
#include "common/report.h"
#include "doctor/faults.h"

namespace stoker::bench {
namespace {

struct Found {
  std::string fault = {}, finding = {}, cause = {};
  bool right = false;
  double unexplained = 0;
  double predicted = 0, achieved = 0;  // seconds a step; achieved 0: not tried
};

double cured_seconds(const Fault& fault, uint64_t seed) {
  Patient patient = fault.cured(seed);
  Diagnosis diagnosis = diagnose(*patient.model, *patient.dataset,
                                 {.steps = 80, .counterfactuals = false, .layers = false});
  return diagnosis.step_seconds;
}

Found examine(const Fault& fault, uint64_t seed) {
  Found found{.fault = fault.name};
  Diagnosis diagnosis;
  {
    Patient patient = fault.make(seed);
    bool pipeline = fault.finding == Finding::input;
    diagnosis = diagnose(*patient.model, *patient.dataset,
                         {.steps = 90, .fix = pipeline, .callbacks = patient.callbacks});
  }
  found.finding = name(diagnosis.verdict.finding);
  found.cause = name(diagnosis.verdict.cause);
  found.right =
      diagnosis.verdict.finding == fault.finding && diagnosis.verdict.cause == fault.cause;
  found.unexplained = diagnosis.shares[Owner::unexplained];
  for (const Prescription& each : diagnosis.prescriptions) {
    if (each.tried && each.kept && found.achieved == 0) found.achieved = each.after_seconds;
    if (!each.tried && found.predicted == 0) found.predicted = each.predicted_step_seconds;
  }
  if (fault.cured) found.achieved = cured_seconds(fault, seed);
  if (!found.right) std::cout << "  " << diagnosis.verdict.sentence << "\n";
  return found;
}

void add_matrix(const std::vector<Found>& all, Report& report) {
  size_t right = 0;
  double unexplained = 0;
  for (const Found& found : all) {
    right += size_t(found.right);
    unexplained = std::max(unexplained, found.unexplained);
  }
  report.add({.name = "faults that are named, with their cause",
              .value = double(right) / double(all.size()),
              .unit = "of " + std::to_string(all.size()),
              .bar = 1.0});
  report.add({.name = "unexplained share, at most",
              .value = unexplained,
              .unit = "of a step",
              .better = Better::lower,
              .bar = 0.03});
}

void add_predictions(const std::vector<Fault>& faults, const std::vector<Found>& all,
                     Report& report) {
  for (const Fault& fault : faults) {
    std::vector<double> errors;
    std::string note;
    for (const Found& found : all)
      if (found.fault == fault.name && found.achieved > 0 && found.predicted > 0) {
        errors.push_back(std::abs(found.achieved / found.predicted - 1));
        note = fmt::format("predicted {:.2f} ms, achieved {:.2f} ms", found.predicted * 1e3,
                           found.achieved * 1e3);
      }
    if (errors.empty()) continue;
    std::ranges::sort(errors);
    report.add({.name = "prediction against what was achieved: " + fault.name,
                .value = errors[errors.size() / 2],
                .unit = "off",
                .better = Better::lower,
                .bar = 0.2,
                .note = note});
  }
}

// Steps of a tuned fit behind its trials, against the same fit with settings by hand.
void add_tuning(int rounds, Report& report) {
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    auto seconds_of = [&](bool by_hand) {
      Patient patient = slow_pipeline(uint64_t(round + 1), by_hand);
      patient.model->fit(
          *patient.dataset,
          {.epochs = 1, .steps_per_epoch = 500, .verbose = 0, .tune = by_hand ? Tune::off : Auto});
      return last_diagnosis(*patient.model)->step_seconds;
    };
    double by_hand = seconds_of(true);
    ratios.push_back(by_hand / seconds_of(false));
  }
  std::ranges::sort(ratios);
  report.add({.name = "tune = Auto against the best by hand",
              .value = ratios[ratios.size() / 2],
              .unit = "of its rate",
              .bar = 0.95});
}

int run(const Options& options) {
  std::vector<Fault> list = faults();
  std::vector<Found> all;
  uint64_t seeds = options.longer ? 5 : 1;
  for (const Fault& fault : list) {
    if (fault.name.find(options.only) == std::string::npos) continue;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      all.push_back(examine(fault, seed));
      const Found& found = all.back();
      std::cout << fmt::format("{:<30} seed {}  {} {:<10} {:<16} unexplained {:.2f} %\n",
                               fault.name, seed, found.right ? "right" : "WRONG", found.finding,
                               found.cause, 100 * found.unexplained)
                << std::flush;
    }
  }
  Report report;
  if (!all.empty()) {
    add_matrix(all, report);
    add_predictions(list, all, report);
  }
  if (std::string("tune").find(options.only) != std::string::npos)
    add_tuning(options.longer ? 5 : 1, report);
  report.print(std::cout);
  if (!options.json.empty()) report.write_json(options.json);
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) {
  try {
    return stoker::bench::run(stoker::bench::parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "bench_doctor: " << error.what() << "\n";
    return 2;
  }
}
