// What the machine reaches at best, as its engine reaches it: products of large matrices, and
// moving large tensors. Measured once in a process for each engine and number of threads, in some
// tenths of a second.
#pragma once

#include <stoker/context.h>

namespace stoker {

struct MachinePeaks {
  double flops = 0, bytes = 0;  // a second
};

const MachinePeaks& machine_peaks(const Context& context);

}  // namespace stoker
