// The rows of bench_pipeline, by subject.
#pragma once

#include <string>

#include "common/report.h"

namespace stoker::bench {

// Makes rows whose names contain `only`.
struct Wanted {
  std::string only;
  double scale = 1;  // of the time each row takes
  bool operator()(const std::string& name) const { return name.find(only) != std::string::npos; }
};

void measure_overheads(const Wanted& wanted, Report& report);  // cost per element, hand-off, memcpy
void measure_images(const std::string& photos, const Wanted& wanted, Report& report);
void measure_first_batch(const Wanted& wanted, Report& report);
void measure_tuning(const Wanted& wanted, Report& report);  // autotune, uneven elements, memory

// Work that takes a core so long, when it has the core to itself.
void spin(double seconds);

}  // namespace stoker::bench
