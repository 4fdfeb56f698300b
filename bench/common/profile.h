// Where the time of a step goes, kernel by kernel.
#pragma once

#include <iosfwd>
#include <vector>

#include "engine/backend.h"

namespace stoker::bench {

// Median and best microseconds of every kernel over some steps, and what it reaches.
void print_profile(Program& program, const std::vector<Tensor>& batch, int steps,
                   std::ostream& out);

}  // namespace stoker::bench
