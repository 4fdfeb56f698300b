// Which pairs of a query and a key a mask allows, one bit each, with a summary of every 64 × 64 pairs.
#pragma once

#include "engine/cuda/kernels/attention.h"

namespace stoker::cuda {

enum SeenPairs : uint8_t { kSeenNone, kSeenSome, kSeenAll };

// Rows are queries and columns keys, or the other way round where a kernel walks along the queries. What a mask repeats is
// there once: its stride is 0. Strides count words of 64 bits, and summaries.
struct SeenBits {
  uint2* bits = nullptr;       // null: no mask of bits
  uint8_t* summary = nullptr;  // a SeenPairs for 64 rows and 64 columns
  int64_t batch = 0, head = 0, row = 0, column = 0;
  int64_t summary_batch = 0, summary_head = 0, summary_row = 0;
  int rows = 0, columns = 0;  // of the pairs

  size_t bytes = 0;  // of both
};

// Where the bits of a call's mask lie in memory that begins at `scratch`; all zero for a bias or no mask.
SeenBits seen_bits(const AttentionCall& call, bool by_keys, void* scratch);
void run_seen_bits(const AttentionCall& call, bool by_keys, const SeenBits& to,
                   cudaStream_t stream);

}  // namespace stoker::cuda
