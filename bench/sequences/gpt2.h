// GPT-2 124M: 12 blocks of 768 numbers, the head tied to the embedding of 50,304 words.
#pragma once

#include <stoker/stoker.h>

namespace stoker::bench {

inline constexpr int64_t kGptBatch = 16, kGptLength = 1024, kGptWords = 50304;
inline constexpr const char* kGptRow = "GPT-2 124M b16 T1024";

// Ids [B, T] → logits [B, T, 50304].
Model gpt2();
// Random ids, and the ids that follow them.
Batch gpt2_batch();

}  // namespace stoker::bench
