#include "doctor/table.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace stoker::bench {

namespace {

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

void add_tuning(std::vector<double> ratios, Report& report) {
  std::ranges::sort(ratios);
  report.add({.name = "tune = Auto against the best by hand",
              .value = ratios[ratios.size() / 2],
              .unit = "of its rate",
              .bar = 0.95,
              .note = fmt::format("median of {}, {:.2f} to {:.2f}", ratios.size(), ratios.front(),
                                  ratios.back())});
}

}  // namespace

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

}  // namespace stoker::bench
