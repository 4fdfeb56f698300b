// From the start of a process to its first finished training step.
#pragma once

#include "common/timing.h"

namespace stoker::bench {

// Runs bench_first_step, which stands beside this program, so many times. Empty when it is not
// there.
Samples measure_start_up(int repeats);

}  // namespace stoker::bench
