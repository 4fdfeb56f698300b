// The rows of bench_doctor: a confusion matrix, predictions, and tune = Auto.
#pragma once

#include "common/report.h"
#include "doctor/examine.h"

namespace stoker::bench {

Report report_of(const std::vector<Fault>& faults, const std::vector<Found>& all,
                 const std::vector<double>& ratios);

}  // namespace stoker::bench
