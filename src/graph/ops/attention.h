// The operands of attention and attention_grad by name, for shape rules and engines.
//   attention       query, key, value [, mask] [, state] → out, logsumexp
//   attention_grad  dout, those, out, logsumexp → dquery, dkey, dvalue [, dbias]
// query: [B, Tq, heads, dim], key: [B, Tk, kv_heads, dim], value: [B, Tk, kv_heads, value_dim], out:
// [B, Tq, heads, value_dim], logsumexp: float32 [B, heads, Tq]. Query head h reads key and value
// head h / group(). docs/reference/ops.md states the meaning.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "graph/autodiff.h"
#include "graph/op.h"

namespace stoker {

struct AttentionShape {
  int64_t batch = 0, queries = 0, keys = 0;
  int64_t heads = 0, kv_heads = 0, dim = 0, value_dim = 0;
  bool causal = false, masked = false, deterministic = true;
  bool bias = false;           // the mask is a float that is added to the scores
  bool bias_gradient = false;  // of attention_grad: the fourth output is there
  double scale = 1, rate = 0;
  int64_t stream = 0;
  // The mask's element for (batch, head, query, key) is at the sum of index · stride: 0 along what
  // is repeated.
  std::array<int64_t, 4> mask_strides = {};

  enum class Op : uint8_t { forward, gradient };
  // ShapeError for operands that do not fit.
  AttentionShape(const Attrs& attrs, std::span<const TensorSpec> inputs, Op op);

  int64_t group() const { return heads / kv_heads; }
  // Keys that a query may see, before the mask: the first ones.
  int64_t keys_of(int64_t query) const { return causal && query + 1 < keys ? query + 1 : keys; }
  double pairs() const;  // of a query and a key that it sees, over batch and heads
  // Places among the operands.
  size_t query() const { return op_ == Op::forward ? 0 : 1; }
  size_t key() const { return query() + 1; }
  size_t value() const { return query() + 2; }
  size_t mask() const { return query() + 3; }
  size_t state() const { return mask() + size_t(masked); }
  static constexpr size_t kDout = 0;  // of attention_grad, as are the next two
  size_t out() const { return state() + size_t(rate > 0); }
  size_t logsumexp() const { return out() + 1; }
  size_t operands() const { return op_ == Op::forward ? out() : out() + 2; }

 private:
  Op op_;
};

// Both ops as compositions of others, computed in float32, with scores [B, heads, Tq, Tk] in memory:
// what engines without a kernel run (passes::compose_attention), and what second derivatives come
// from.
Values compose_attention(const Attrs& attrs, const Values& inputs);
Values compose_attention_grad(const Attrs& attrs, const Values& inputs);

void register_attention_ops(OpRegistry& registry);

}  // namespace stoker
