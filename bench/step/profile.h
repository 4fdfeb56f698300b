// Where the time of a step goes, kernel by kernel.
#pragma once

#include <iosfwd>

#include "common/training_step.h"

namespace stoker::bench {

// Median and best microseconds of every kernel over some steps, and what it reaches.
void print_profile(TrainingStep& step, int steps, std::ostream& out);

}  // namespace stoker::bench
