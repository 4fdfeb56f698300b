// The ops of generation with a key-value cache: a chunk of n new tokens attends to the keys and
// values that earlier chunks left in the cache, and to its own.
#pragma once

#include "graph/op.h"

namespace stoker {

void register_decoding_ops(OpRegistry& registry);

// The extents of a cached_attention. q: [B, m, H, D], k: [B, n, G, D], v: [B, n, G, Dv], the cache
// of k: [B, G, C, D], that of v: [B, G, C, Dv], positions: int32 [n].
struct CachedAttentionShape {
  int64_t batch, queries, heads, depth, chunk, groups, capacity, value_depth;
  // Of mask [B or 1, H or 1, m or 1, C]; rank 0: none. A bool hides keys, a float is added to the
  // scores.
  Shape mask;
  bool bias = false;

  explicit CachedAttentionShape(std::span<const TensorSpec> inputs);
  bool masked() const { return mask.rank() == 4; }
  // The row of the mask that a query of a head has.
  int64_t mask_row(int64_t batch_row, int64_t head, int64_t query) const {
    return ((mask[0] == 1 ? 0 : batch_row) * mask[1] + (mask[1] == 1 ? 0 : head)) * mask[2] +
           (mask[2] == 1 ? 0 : query);
  }
};

}  // namespace stoker
