// What a device allows, and what a program's kernels take at least.
#pragma once

#include <stoker/context.h>

#include "engine/backend.h"

namespace stoker::bench {

// Per second. Of an H200: what its tensor cores, its other units and its memory sustain. Of a CPU:
// the peaks that the doctor measures.
struct DeviceLimits {
  double products = 790e12, others = 60e12;  // FLOPs on tensor cores, and outside of them
  double bytes = 4.3e12;
};

DeviceLimits limits_of(const Context& context);

// What one kernel has to do: FLOPs of products, which tensor cores can do, other FLOPs, and bytes.
struct KernelNeeds {
  double products = 0, others = 0, bytes = 0;
  double floor(const DeviceLimits& limits) const;  // seconds
};

// By kernel. Products are matmuls, attention and convolutions, save those of fewer than eight
// channels per group. What the engine adds to the graph's ops is needed by none of them: copies into
// another layout, sums that another kernel could make on its way. Statistics of batch norms are:
// nothing can be normalised before they are complete. `graph` is what the program was made of.
std::vector<KernelNeeds> needs_of(const Program& program, const Graph& graph);
// Seconds that each kernel takes at least.
std::vector<double> floors_of(const Program& program, const Graph& graph,
                              const DeviceLimits& limits);

}  // namespace stoker::bench
