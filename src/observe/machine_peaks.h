// What the machine reaches at best, as its engine reaches it: products and convolutions, and moving
// tensors in memory and in the last cache. Measured once in a process for each engine and number of
// threads, in some tenths of a second.
#pragma once

#include <stoker/context.h>

namespace stoker {

struct MachinePeaks {
  double flops = 0;        // a second
  double bytes = 0;        // a second, of tensors far larger than the last cache
  double cache_bytes = 0;  // a second, of tensors that stay in it
  double cache_size = 0;   // bytes

  // Shares of the peaks that `seconds` of work reach, at most 1. `held` is what the work touches
  // again and again: bytes that stay in the cache are none of the memory's, and work that moves
  // more than the memory can has found its data there too.
  double compute_share(double done, double seconds) const;
  double bandwidth_share(double moved, double seconds, double held) const;
};

const MachinePeaks& machine_peaks(const Context& context);
// Something was seen to compute faster than the peak: that is the peak now.
void raise_peak(const Context& context, double flops);

}  // namespace stoker
