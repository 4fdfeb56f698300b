// attention and attention_grad over heads that lie by themselves or inside a larger value.
#pragma once

#include "engine/cuda/builder.h"
#include "graph/ops/attention.h"

namespace stoker::cuda {

// The rows of query, key or value, or of a gradient: in `value` from element `offset` on, `pitch`
// elements from one position to the next.
struct HeadPlace {
  int value = -1;
  int64_t offset = 0, pitch = 0;
};
struct HeadPlaces {
  HeadPlace query, key, value;
};
AttentionShape attention_shape(const Graph& graph, const Node& node);
// The node's own operands; of attention_grad, its own results.
HeadPlaces own_operands(const AttentionShape& shape, const Node& node);
HeadPlaces own_gradients(const AttentionShape& shape, const Node& node);

void emit_attention(Builder& b, const Node& node, const HeadPlaces& from);
// Pitches of a gradient are those of what it is the gradient of.
void emit_attention_grad(Builder& b, const Node& node, const HeadPlaces& from,
                         const HeadPlaces& to);

}  // namespace stoker::cuda
