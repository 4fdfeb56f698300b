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

// Seconds that each kernel takes at least: the larger of its FLOPs and its bytes by the limits.
// Convolutions of fewer than eight channels per group have no use for tensor cores. `graph` is what
// the program was made of.
std::vector<double> floors_of(const Program& program, const Graph& graph,
                              const DeviceLimits& limits);

}  // namespace stoker::bench
