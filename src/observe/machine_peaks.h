// What the machine reaches at best, as its engine reaches it: products and convolutions, moving
// tensors in memory and in the last cache, and copying to a device. Measured once in a process for
// each engine and number of threads, in up to a second.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

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
  MemoryRates cache = {};   // of tensors that stay in it, at their best size
  double cache_size = 0;    // bytes
  // Of tensors of so many bytes, the largest first. The last cache of a large processor is half as
  // fast as a core's own, and where it is shared much of it belongs to others.
  struct Level {
    double size = 0;
    MemoryRates rates = {};
  };
  std::vector<Level> levels = {};
  double link_bytes = 0;  // a second, from page-locked memory to a device; 0: there is none

  // The share of the peak that `seconds` of work reach. More than 1: the peak or the count is off.
  double compute_share(double done, double seconds) const;
  // The same for what some ops move. `held` is what the step touches again and again: it is compared
  // with the level of about that size. Ops that are faster than their level have found a part of
  // their data nearer: their share is the part that the level can have brought.
  double bandwidth_share(std::span<const Moved> ops, double seconds, double held) const;
  // How long they need at least where all data comes from that level.
  double seconds_of(std::span<const Moved> ops, double held) const;
  // Whether a level was measured with about so many bytes.
  bool knows(double held) const;

 private:
  const MemoryRates& rates_of(double held) const;
};

const MachinePeaks& machine_peaks(const Context& context);
// The same with a level for steps that touch so many bytes again and again, which is measured once:
// between a core's own cache and the memory, rates fall with every doubling, and where they do
// depends on the processor and on what else runs on it.
MachinePeaks machine_peaks(const Context& context, double held);
// Something was seen to compute faster than the peak: that is the peak now.
void raise_peak(const Context& context, double flops);

}  // namespace stoker
