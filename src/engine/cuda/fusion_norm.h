// The part of fusion.h that is about batch norms: what follows one, and where their gradients come
// from.
#pragma once

#include "engine/cuda/fusion.h"

namespace stoker::cuda {

// Adds tails and joins to `found`.
void find_norm_fusion(const Readers& readers, Fusion& found);

// The sum that nothing but one node needs, if `value` is one of two values like it.
const Node* lone_sum(const Readers& readers, const Fusion& found, int value,
                     const TensorSpec& like);

}  // namespace stoker::cuda
