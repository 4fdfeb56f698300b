// Attention as an op: what the layers of attention_layers.h and own ones are written with.
#pragma once

#include <optional>

#include <stoker/value.h>

namespace stoker::ops {

struct DotProductAttention {
  // Added to the scores; float, broadcast to [B, heads, Tq, Tk]. -infinity masks. It gets a gradient.
  Value bias = {};
  // bool, broadcast to [B, heads, Tq, Tk]: false where a query does not see a key.
  Value mask = {};
  std::optional<double> scale = {};  // of the scores; empty: 1 / sqrt(dim)
  bool is_causal = false;            // query t sees the keys up to t
  // Of the weights, drawn as ops::dropout does; with a rate above 0 it needs `state`.
  double dropout = 0;
  Value state = {};
  int64_t stream = 0;
  // false: an engine may take a faster gradient whose last bits differ from run to run.
  bool deterministic = true;
};
// softmax(query · keyᵀ · scale + bias) · value per head. query: [B, Tq, heads, dim], key: [B, Tk,
// kv_heads, dim], value: [B, Tk, kv_heads, value_dim] → [B, Tq, heads, value_dim]. heads is a
// multiple of kv_heads: query head h reads head h / (heads / kv_heads). Memory grows with Tq + Tk,
// not with their product. A query that sees no key gives zeros, and passes no gradient on.
Value dot_product_attention(const Value& query, const Value& key, const Value& value,
                            const DotProductAttention& options = {});

}  // namespace stoker::ops
