// Attention without its scores in memory, for everything that the op allows: any lengths and dims,
// masks, biases, dropout, heads that share keys. Every sum has a fixed order.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

// q: [batch, queries, heads, dim], k: [batch, keys, kv_heads, dim], v: [..., value_dim],
// out: [batch, queries, heads, value_dim], lse: [batch, heads, queries]
struct AttentionCall {
  DType dtype = DType::float32;
  int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, dim = 0, value_dim = 0;
  // Numbers from one position to the next of q, k and v, and of their gradients: heads · dim where
  // a tensor is by itself, more where it is a slice of the last axes of a larger one.
  int64_t q_pitch = 0, k_pitch = 0, v_pitch = 0;
  bool aligned = false;  // q, k, v and their gradients begin at multiples of sixteen bytes
  bool causal = false;
  float scale = 1;
  // of [batch, heads, queries, keys]: false where a key is not seen, or a bias in `dtype`
  const void* mask = nullptr;
  bool masked = false, bias = false;
  int64_t mask_strides[4] = {};
  // dropout; state: {seed, step} on the device
  double rate = 0;
  int64_t stream_number = 0;
  const int64_t* state = nullptr;

  const void *q = nullptr, *k = nullptr, *v = nullptr, *dout = nullptr;
  void* out = nullptr;
  float* lse = nullptr;
  void* scratch = nullptr;  // attention_scratch() bytes
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
};
// Whether kernels made for the current device's tensor cores take a call.
bool is_fast_attention(const AttentionCall& call);
// What a call needs on the current device, before its addresses are known.
size_t attention_scratch(const AttentionCall& call, bool gradient);
void run_attention(const AttentionCall& call, cudaStream_t stream);
void run_attention_grad(const AttentionCall& call, cudaStream_t stream);

}  // namespace stoker::cuda
