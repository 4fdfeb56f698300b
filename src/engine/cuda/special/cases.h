// The special cases there are, each in the file of its name.
#pragma once

#include "engine/cuda/fusion.h"

namespace stoker::cuda {

// batch_norm, relu and 2×2 or 3×3 max pooling, and the gradient of all that (norm_pool.cpp).
void match_norm_pools(const Readers& readers, Fusion& found);

// conv2d over one channel, bias, relu and 2×2 max pooling, and its gradient, with the optimiser's
// step where nothing else reads it (stem.cpp).
void match_stems(const Readers& readers, Fusion& found);

// Dense layer and softmax cross-entropy with their gradients, and the pooling in front (heads.h).
void match_heads(const Readers& readers, Fusion& found);
void order_for_heads(Graph& graph);

// Dense layers with few units over small batches: their gradient by weights, with the bias
// gradient where it may be made on the way, and their product (narrow.cpp).
void match_narrow_gradients(const Readers& readers, Fusion& found);
void match_narrow_products(const Readers& readers, Fusion& found);

// Attention over slices of one value, and its gradient (packed_heads.cpp).
void match_packed_heads(const Readers& readers, Fusion& found);

// The sum of a large product, or of layer norm's gradient, and another value (sums.cpp).
void match_sums(const Readers& readers, Fusion& found);

// A cast to 16 bits of a float32 leaf that only `root` reads, `times` times: it rounds as it reads.
void take_leaf_cast(const Readers& readers, Fusion& found, int value, int times, int root);
// What a kernel that does so reads for a value.
struct Uncast {
  int value = -1;
  bool wide = false;  // the float32 leaf
};
Uncast uncast(const Graph& graph, const Fusion& fusion, int value);

}  // namespace stoker::cuda
