// Boundaries between bins of equally many numbers, from a summary of them, as Keras's
// Discretization.adapt() finds them.
#pragma once

#include <vector>

namespace stoker {

std::vector<double> quantile_boundaries(std::vector<float> values, int bins, double epsilon);

}  // namespace stoker
