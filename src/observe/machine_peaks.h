// What the machine reaches at best, as its engine reaches it: products and convolutions, moving
// tensors in memory and in the last cache, and copying to a device. Measured once in a process for
// each engine and number of threads, in up to a second.
#pragma once

#include <algorithm>
#include <span>

#include <stoker/context.h>

namespace stoker {

// What an op does with memory.
struct Moved {
  double bytes = 0, written = 0;  // `written` of the bytes; the rest is read
  bool in_place = false;          // what is written was read just before: an optimiser's update
};

// Bytes a second, read and written. A core waits for what it reads and for lines that it is about
// to overwrite, while what it wrote goes back beside that. So these rates differ by three times,
// and no op can be asked for more than what one of its own kind reaches.
struct MemoryRates {
  double read = 0;    // a sum: nothing is written
  double copy = 0;    // relu: as much is written as read, elsewhere
  double fill = 0;    // a number everywhere: nothing is read
  double update = 0;  // SGD with momentum: in place

  // Between read, copy and fill seconds a byte lie on a line.
  double of(const Moved& moved) const;
  double best() const { return std::max({read, copy, fill, update}); }
};

struct MachinePeaks {
  double flops = 0;         // a second
  MemoryRates memory = {};  // of tensors far larger than the last cache
  MemoryRates cache = {};   // of tensors that stay in it
  double cache_size = 0;    // bytes
  double link_bytes = 0;    // a second, from page-locked memory to a device; 0: there is none

  // The share of the peak that `seconds` of work reach. More than 1: the peak or the count is off.
  double compute_share(double done, double seconds) const;
  // The same for what some ops move. `held` is what the step touches again and again: what stays in
  // the cache is compared with the cache. Ops that are faster than the memory have found a part of
  // their data there, too: their share is the part that the memory can have brought.
  double bandwidth_share(std::span<const Moved> ops, double seconds, double held) const;
};

const MachinePeaks& machine_peaks(const Context& context);
// Something was seen to compute faster than the peak: that is the peak now.
void raise_peak(const Context& context, double flops);

}  // namespace stoker
