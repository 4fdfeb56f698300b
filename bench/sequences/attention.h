// Attention by itself, in bfloat16: the forward pass, and the gradient with sums in a fixed order and
// in any order.
#pragma once

#include <string>
#include <vector>

#include "common/report.h"

namespace stoker::bench {

struct AttentionCase {
  int64_t batch, heads, length, dim;
  bool causal;
  bool masked = false;       // by a mask of keys, [batch, 1, 1, length]
  double rate = 0;           // of dropout
  std::string name() const;  // "attention b4 h16 T4096 d64 causal"
};
std::vector<AttentionCase> attention_cases();

// Milliseconds; the notes have TFLOP/s, of the pairs that see each other.
std::vector<Row> measure_attention(const AttentionCase& size);

}  // namespace stoker::bench
