// Regions of the fuser run one scalar at a time on the host: what generated kernels compute, without
// a compiler and a GPU.
#pragma once

#include <vector>

#include "engine/cuda/fuser/find_regions.h"

namespace stoker::test {

struct FusedRun {
  std::vector<Tensor> outputs;
  size_t regions = 0, inlined = 0;  // regions with more than one node; nodes that none writes
};

// The outputs of a graph of float64-like precision: nodes in regions are interpreted, the others run
// on the exact reference.
FusedRun run_fused(const Graph& graph, const std::vector<Tensor>& inputs,
                   const fuser::RegionOptions& options);

}  // namespace stoker::test
