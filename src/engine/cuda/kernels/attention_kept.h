// Which weights attention's dropout keeps, one bit each: the numbers that `dropout` would draw for weights
// [batch, heads, queries, keys], element by element.
#pragma once

#include "engine/cuda/kernels/attention.h"

namespace stoker::cuda {

struct KeptBits {
  uint2* by_queries = nullptr;  // [batch, heads, queries, keys / 64]
  uint2* by_keys = nullptr;     // [batch, heads, keys, queries / 64]; null: not needed
};

// Bytes per element of the batch.
size_t kept_bits_bytes(const AttentionCall& call, bool by_keys);
// `first`: the batch's first element, where a call is a part of one.
void run_kept_bits(const AttentionCall& call, int64_t first, const KeptBits& to,
                   cudaStream_t stream);

}  // namespace stoker::cuda
