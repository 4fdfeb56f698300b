// Attention to a key-value cache, and what a chunk of tokens leaves in it.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

// As graph/ops/decoding.h says.
struct CachedAttentionCall {
  DType dtype = DType::float32;
  int64_t batch = 0, queries = 0, heads = 0, depth = 0, chunk = 0, groups = 0, capacity = 0,
          value_depth = 0;
  float scale = 1;
  const void *q = nullptr, *k = nullptr, *v = nullptr, *cached_k = nullptr, *cached_v = nullptr;
  const int32_t* positions = nullptr;
  const void* mask = nullptr;    // may be null: none
  bool bias = false;             // the mask is of `dtype`, not of bool
  int64_t mask_strides[3] = {};  // by batch, head, query
  float* scores = nullptr;       // [blocks, capacity]
  void* out = nullptr;
};
int64_t cached_attention_blocks(int64_t items);  // items: batch · heads · queries
void run_cached_attention(const CachedAttentionCall& call, cudaStream_t stream);

// rows: [batch, chunk, groups, width] into cache: [batch, groups, capacity, width], bytes per row
struct CacheAppendCall {
  int64_t batch = 0, chunk = 0, groups = 0, capacity = 0, width = 0;
  const void* rows = nullptr;
  const int32_t* positions = nullptr;
  void* cache = nullptr;
};
void run_cache_append(const CacheAppendCall& call, cudaStream_t stream);

}  // namespace stoker::cuda
