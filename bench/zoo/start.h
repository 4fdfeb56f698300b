// Time from the start of a process to its first training step.
#pragma once

#include <string>

#include "common/report.h"

namespace stoker::bench {

// Three processes one after another that share an empty folder of plans: the first row is the
// first start, the second the third.
void measure_start(const std::string& network, const std::string& device, Report& report);

}  // namespace stoker::bench
