// Where the time of a step goes, kernel by kernel.
#pragma once

#include <iosfwd>
#include <vector>

#include "common/limits.h"
#include "engine/backend.h"

namespace stoker::bench {

// Median and best microseconds of every kernel over some steps, and what it reaches.
void print_profile(Program& program, const std::vector<Tensor>& batch, int steps,
                   std::ostream& out);

// One line per op and kernel: how often it runs, its microseconds, those of its floor, and the
// shapes it loses most at. The largest loss first.
void print_losses(Program& program, const Graph& graph, const std::vector<Tensor>& batch, int steps,
                  const DeviceLimits& limits, std::ostream& out);

}  // namespace stoker::bench
