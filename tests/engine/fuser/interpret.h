// Regions of the fuser run one scalar at a time on the host: what generated kernels compute, without
// a compiler and a GPU.
#pragma once

#include <functional>
#include <vector>

#include "engine/cuda/fuser/find_regions.h"

namespace stoker::test {

struct FusedRun {
  std::vector<Tensor> outputs;
  size_t regions = 0, inlined = 0;  // regions with more than one node; nodes that none writes
};

// What runs a region: its result from its operands.
using RunRegion = std::function<Tensor(const fuser::Region&, const std::vector<Tensor>& operands,
                                       const TensorSpec& result)>;

// The outputs of a graph: nodes in regions are interpreted exactly, or run by `run`; the others run
// on the exact reference.
FusedRun run_fused(const Graph& graph, const std::vector<Tensor>& inputs,
                   const fuser::RegionOptions& options, const RunRegion& run = nullptr);

}  // namespace stoker::test
