// The part of fusion.h that is about batch norms: what follows one, and where their gradients come
// from.
#pragma once

#include "engine/cuda/fusion.h"

namespace stoker::cuda {

// Adds tails and joins to `found`. `uses`: of the graph's values, see Graph::use_counts.
void find_norm_fusion(const Graph& graph, const std::vector<int>& uses, Fusion& found);

}  // namespace stoker::cuda
