// What Transformers are made of besides attention, by the names of Keras and KerasHub, with their
// defaults and weights. Part of layers.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/layer.h>
#include <stoker/layer_options.h>

namespace stoker {

// --- products -----------------------------------------------------------------------------------

struct EinsumDenseOptions {
  ActivationFunction activation = {};
  std::string bias_axes = "";  // letters of the output; empty: no bias
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = "";
  std::string dtype = "";
};
// A product by an equation: "abc,cd->abd", "...x,xy->...y" or "ab...,bc->ac...". output_shape without
// the batch and the axes of "..."; -1 for extents that the input has.
class EinsumDense : public Layer {
 public:
  EinsumDense(const std::string& equation, const Shape& output_shape,
              const EinsumDenseOptions& options = {});
};

struct SwiGLUOptions {
  bool use_bias = false;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  std::string name = "";
  std::string dtype = "";
};
// A Transformer's feed-forward part with a gate: down(silu(gate(x)) · up(x)). Children gate and up,
// Dense of hidden_dim units, and down, Dense of as many units as x has features.
class SwiGLU : public Layer {
 public:
  explicit SwiGLU(int64_t hidden_dim, const SwiGLUOptions& options = {});
};

namespace ops {
// silu(gate) · x, elementwise.
Value swiglu(const Value& gate, const Value& x);
}  // namespace ops

// --- normalisation ------------------------------------------------------------------------------

struct RMSNormalizationOptions {
  Axes axis = -1;
  double epsilon = 1e-6;
  std::string name = "";
  std::string dtype = "";
};
// x / sqrt(mean(x²) + epsilon) · scale.
class RMSNormalization : public Layer {
 public:
  explicit RMSNormalization(const RMSNormalizationOptions& options = {});
};

struct GroupNormalizationOptions {
  int64_t groups = 32;  // -1: one per channel
  int axis = -1;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  std::string name = "";
  std::string dtype = "";
};
// Every group of neighbouring channels of a sample to mean 0 and variance 1.
class GroupNormalization : public Layer {
 public:
  explicit GroupNormalization(const GroupNormalizationOptions& options = {});
};

// --- positions ----------------------------------------------------------------------------------

struct PositionEmbeddingOptions {
  Initializer initializer = "glorot_uniform";
  std::string name = "";
  std::string dtype = "";
};
// Learnt positions: x [B, T, features] → the first T rows of the weight "embeddings"
// [sequence_length, features], repeated to x's shape: x + PositionEmbedding(512)(x).
class PositionEmbedding : public Layer {
 public:
  explicit PositionEmbedding(int64_t sequence_length, const PositionEmbeddingOptions& options = {});
};

struct SinePositionEncodingOptions {
  double max_wavelength = 10000;
  std::string name = "";
  std::string dtype = "";
};
// Sines (even features) and cosines (odd ones) of the position, in x's shape: to be added to x.
class SinePositionEncoding : public Layer {
 public:
  explicit SinePositionEncoding(const SinePositionEncodingOptions& options = {});
};

struct RotaryEmbeddingOptions {
  double max_wavelength = 10000;
  double scaling_factor = 1.0;  // positions are divided by it
  int sequence_axis = 1;
  int feature_axis = -1;
  std::string name = "";
  std::string dtype = "";
};
// Turns pairs of features (i and i + features / 2) of queries and keys by angles that grow with the
// position. x: [B, T, heads, dim].
class RotaryEmbedding : public Layer {
 public:
  explicit RotaryEmbedding(const RotaryEmbeddingOptions& options = {});
};

// --- embeddings ---------------------------------------------------------------------------------

struct ReversibleEmbeddingOptions {
  bool tie_weights = true;  // false: the head has a weight of its own, "reverse_embeddings"
  Initializer embeddings_initializer = "uniform";
  Regularizer embeddings_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;
  std::string reverse_dtype = "";             // of the head's product; "": the layer's
  std::optional<double> logit_soft_cap = {};  // logits become cap · tanh(logits / cap)
  std::string name = "";
  std::string dtype = "";
};
// An Embedding whose weights also serve a language model's head.
//   ReversibleEmbedding tokens(50257, 768);
//   Value x = tokens(ids);          // [B, T] → [B, T, 768]
//   Value logits = tokens.reverse(x);  // [B, T, 768] → [B, T, 50257]
class ReversibleEmbedding : public Layer {
 public:
  ReversibleEmbedding(int64_t input_dim, int64_t output_dim,
                      const ReversibleEmbeddingOptions& options = {});
  Value reverse(const Value& x) const;  // as the call argument "reverse"
};

struct TokenAndPositionEmbeddingOptions {
  bool tie_weights = true;
  Initializer embeddings_initializer = "uniform";
  bool mask_zero = false;
  std::string name = "";
  std::string dtype = "";
};
// Embeddings of tokens and of their positions, added. Children token_embedding, a
// ReversibleEmbedding, and position_embedding.
class TokenAndPositionEmbedding : public Layer {
 public:
  TokenAndPositionEmbedding(int64_t vocabulary_size, int64_t sequence_length, int64_t embedding_dim,
                            const TokenAndPositionEmbeddingOptions& options = {});
  Value reverse(const Value& x) const;  // of token_embedding
};

}  // namespace stoker
