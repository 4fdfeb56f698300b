// Attention on Hopper's tensor cores: 16-bit floats, any head size up to 128 in steps of eight, and everything else that
// the op allows. Every sum has a fixed order.
#pragma once

#include "engine/cuda/kernels/attention.h"

namespace stoker::cuda {

#ifdef STOKER_HOPPER
// Whether the kernels take a call: its sizes and places, and the current GPU.
bool hopper_attention_takes(const AttentionCall& call);
size_t hopper_attention_scratch(const AttentionCall& call, bool gradient);

void run_hopper_attention(const AttentionCall& call, cudaStream_t stream);
void run_hopper_attention_grad(const AttentionCall& call, cudaStream_t stream);
#else  // a build for other GPUs
inline bool hopper_attention_takes(const AttentionCall&) { return false; }
inline size_t hopper_attention_scratch(const AttentionCall&, bool) { return 0; }
inline void run_hopper_attention(const AttentionCall&, cudaStream_t) {}
inline void run_hopper_attention_grad(const AttentionCall&, cudaStream_t) {}
#endif

}  // namespace stoker::cuda
