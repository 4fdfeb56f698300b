// Attention layers by Keras's names, with Keras's defaults and weights. Part of layers.h.
//
//   Value y = MultiHeadAttention(8, 64)(x, x, {.use_causal_mask = true});
//   Values both = MultiHeadAttention(8, 64).call_all(query, value, {.return_attention_scores = true});
//
// query: [B, Tq, features], value and key: [B, Tk, features]; without a key, the value is the key.
// A call takes them as (query, value) or (query, value, key), or as a list: attention({q, v, k}).
//
// Masks: a query mask zeroes what the masked queries get, value and key masks hide keys, and the
// output carries the query's mask. Masks that the inputs carry count (layer.h), those of the call
// take their places. A query that sees no key gets zeros.
//
// Without return_attention_scores the weights are never in memory: it grows with Tq + Tk.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/layer.h>
#include <stoker/layer_options.h>

namespace stoker {

// How an attention layer is called.
struct AttentionCall {
  Value query_mask = {};      // bool [B, Tq]
  Value value_mask = {};      // bool [B, Tk]
  Value key_mask = {};        // bool [B, Tk]
  Value attention_mask = {};  // bool [B, Tq, Tk] or [B, heads, Tq, Tk]; extents of 1 repeat
  // call_all() gives the weights behind the output, before dropout: [B, heads, Tq, Tk], without
  // heads for Attention and AdditiveAttention.
  bool return_attention_scores = false;
  std::optional<bool> training = {};  // as in CallOptions
  bool use_causal_mask = false;       // query t sees the keys up to t
};

// What the layers below share: how they are called.
class AttentionLayer : public Layer {
 public:
  using Layer::operator();
  using Layer::call_all;
  Value operator()(const Value& query, const Value& value, const AttentionCall& call = {}) const;
  Value operator()(const Value& query, const Value& value, const Value& key,
                   const AttentionCall& call = {}) const;
  Values call_all(const Value& query, const Value& value, const AttentionCall& call = {}) const;
  Values call_all(const Value& query, const Value& value, const Value& key,
                  const AttentionCall& call = {}) const;

 protected:
  using Layer::Layer;
};

struct MultiHeadAttentionOptions {
  int64_t value_dim = 0;  // of a head; 0: key_dim
  double dropout = 0.0;   // of the weights
  bool use_bias = true;
  Shape output_shape = {};  // of a step; empty: the query's features
  // The axes of the inputs that attention is over, not counting features; none: all but the batch.
  std::optional<Axes> attention_axes = {};
  int64_t sliding_window = 0;  // a query sees keys less than this many steps away; 0: all
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // of what the projections give
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  bool use_gate = false;  // the heads' outputs times sigmoid(gate(query))
  std::string name = "";
  std::string dtype = "";
};
// Children query, key, value (and gate), EinsumDense with kernels [features, heads, key_dim] and
// biases [heads, key_dim], and attention_output, kernel [heads, value_dim, features].
class MultiHeadAttention : public AttentionLayer {
 public:
  MultiHeadAttention(int64_t num_heads, int64_t key_dim,
                     const MultiHeadAttentionOptions& options = {});
};

struct GroupedQueryAttentionOptions {
  double dropout = 0.0;
  bool use_bias = true;
  int64_t sliding_window = 0;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  bool use_gate = false;
  std::string name = "";
  std::string dtype = "";
};
// Groups of num_query_heads / num_key_value_heads query heads share a head of keys and values.
// Children as of MultiHeadAttention.
class GroupedQueryAttention : public AttentionLayer {
 public:
  GroupedQueryAttention(int64_t head_dim, int64_t num_query_heads, int64_t num_key_value_heads,
                        const GroupedQueryAttentionOptions& options = {});
};

using GroupQueryAttention = GroupedQueryAttention;  // as Keras 3.15 exports it

struct AttentionOptions {
  bool use_scale = false;          // a weight "scale" times the scores
  std::string score_mode = "dot";  // or "concat": Σ tanh(query + key), times "concat_score_weight"
  double dropout = 0.0;            // of the weights
  std::string name = "";
  std::string dtype = "";
};
// Luong's: softmax(query · keyᵀ) · value, without projections.
class Attention : public AttentionLayer {
 public:
  explicit Attention(const AttentionOptions& options = {});
};

struct AdditiveAttentionOptions {
  bool use_scale = true;  // a weight "scale" [features]
  double dropout = 0.0;
  std::string name = "";
  std::string dtype = "";
};
// Bahdanau's: softmax(Σ scale · tanh(query + key)) · value. Its scores are in memory.
class AdditiveAttention : public AttentionLayer {
 public:
  explicit AdditiveAttention(const AdditiveAttentionOptions& options = {});
};

}  // namespace stoker
