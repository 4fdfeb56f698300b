// ReversibleEmbedding and TokenAndPositionEmbedding.
#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/transformer_layers.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/embedding.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

constexpr const char* kReverse = "reverse";

// How ids become rows, or rows logits: the call argument "reverse".
class Reversible : public SingleInputLayer {
 public:
  using SingleInputLayer::SingleInputLayer;
  std::vector<std::string> call_arguments() const override { return {kReverse}; }
};

struct ReversibleEmbeddingConfig : ReversibleEmbeddingOptions {
  int64_t input_dim = 0, output_dim = 0;
  static constexpr const char* kKind = "ReversibleEmbedding";
  static Fields<ReversibleEmbeddingConfig> fields() {
    using C = ReversibleEmbeddingConfig;
    return {{"input_dim", &C::input_dim, {.check = at_least(1), .required = true}},
            {"output_dim", &C::output_dim, {.check = at_least(1), .required = true}},
            {"tie_weights", &C::tie_weights},
            {"embeddings_initializer", &C::embeddings_initializer},
            {"embeddings_regularizer", &C::embeddings_regularizer},
            {"embeddings_constraint", &C::embeddings_constraint, {.sparse = true}},
            {"mask_zero", &C::mask_zero},
            {"reverse_dtype", &C::reverse_dtype},
            {"logit_soft_cap", &C::logit_soft_cap, {.check = above(0)}}};
  }
};

class ReversibleEmbeddingLayer : public Configured<Reversible, ReversibleEmbeddingConfig> {
 public:
  explicit ReversibleEmbeddingLayer(ReversibleEmbeddingConfig config)
      : Configured(std::move(config)) {
    if (!options().reverse_dtype.empty()) dtype_from_name(options().reverse_dtype);  // checks it
  }
  bool supports_masking() const override { return true; }
  // forward() sets the mask of embedded ids; logits keep the mask of their steps.
  Values compute_mask(const Values& inputs, const Values& masks) const override {
    return is_floating(inputs[0].dtype()) ? masks : Values();
  }

 protected:
  void build_for(const Shape&) override {
    const auto& o = options();
    embeddings_ = add_weight("embeddings", {o.input_dim, o.output_dim},
                             {.initializer = o.embeddings_initializer,
                              .regularizer = o.embeddings_regularizer,
                              .constraint = o.embeddings_constraint});
    if (!o.tie_weights)
      reverse_ = add_weight("reverse_embeddings", {o.output_dim, o.input_dim},
                            {.initializer = o.embeddings_initializer});
  }

  Value forward(const Value& x, CallContext& context) override {
    return context.arguments().get_or(kReverse, false) ? logits(x) : embedded(x, context);
  }

 private:
  Value embedded(const Value& ids, CallContext& context) const {
    Value y = ops::gather(embeddings_, row_ids(ids, options().input_dim, context));
    if (options().mask_zero) context.set_mask(y, ops::not_equal(ids, 0));
    return y;
  }

  Value logits(const Value& given) const {
    expect_float(given);
    if (given.shape()[-1] != options().output_dim)
      fail_input(fmt::format("input [.., {}], its output_dim", options().output_dim),
                 given.shape());
    Value x = given, kernel = options().tie_weights ? embeddings_ : reverse_;
    if (!options().reverse_dtype.empty()) {
      DType dtype = dtype_from_name(options().reverse_dtype);
      x = ops::cast(x, dtype);
      kernel = ops::cast(kernel, dtype);
    }
    Value y = ops::matmul(x, kernel, {.transpose_b = options().tie_weights});
    if (!options().logit_soft_cap) return y;
    double cap = *options().logit_soft_cap;
    return ops::tanh(y * (1 / cap)) * cap;
  }

  Variable embeddings_, reverse_;
};

struct TokenAndPositionEmbeddingConfig : TokenAndPositionEmbeddingOptions {
  int64_t vocabulary_size = 0, sequence_length = 0, embedding_dim = 0;
  static constexpr const char* kKind = "TokenAndPositionEmbedding";
  static Fields<TokenAndPositionEmbeddingConfig> fields() {
    using C = TokenAndPositionEmbeddingConfig;
    return {{"vocabulary_size", &C::vocabulary_size, {.check = at_least(1), .required = true}},
            {"sequence_length", &C::sequence_length, {.check = at_least(1), .required = true}},
            {"embedding_dim", &C::embedding_dim, {.check = at_least(1), .required = true}},
            {"tie_weights", &C::tie_weights},
            {"embeddings_initializer", &C::embeddings_initializer},
            {"mask_zero", &C::mask_zero}};
  }
};

class TokenAndPositionEmbeddingLayer
    : public Configured<Reversible, TokenAndPositionEmbeddingConfig> {
 public:
  explicit TokenAndPositionEmbeddingLayer(TokenAndPositionEmbeddingConfig config)
      : Configured(std::move(config)),
        tokens_(ReversibleEmbedding(options().vocabulary_size, options().embedding_dim,
                                    {.tie_weights = options().tie_weights,
                                     .embeddings_initializer = options().embeddings_initializer,
                                     .mask_zero = options().mask_zero,
                                     .name = "token_embedding"})),
        positions_(PositionEmbedding(
            options().sequence_length,
            {.initializer = options().embeddings_initializer, .name = "position_embedding"})) {}
  bool supports_masking() const override { return true; }
  Values compute_mask(const Values& inputs, const Values& masks) const override {
    return is_floating(inputs[0].dtype()) ? masks : Values();
  }

 protected:
  void build_for(const Shape&) override {
    adopt(tokens_.shared());
    adopt(positions_.shared());
  }

  Value forward(const Value& x, CallContext& context) override {
    if (context.arguments().get_or(kReverse, false))
      return tokens_(x, {.arguments = {{kReverse, true}}});
    Value rows = tokens_(x);
    Value y = rows + positions_(rows);
    if (Value mask = context.mask_of(rows); mask.defined()) context.set_mask(y, mask);
    return y;
  }

 private:
  Layer tokens_, positions_;
};

}  // namespace

ReversibleEmbedding::ReversibleEmbedding(int64_t input_dim, int64_t output_dim,
                                         const ReversibleEmbeddingOptions& options)
    : Layer(configured<ReversibleEmbeddingLayer>({options, input_dim, output_dim})) {}

Value ReversibleEmbedding::reverse(const Value& x) const {
  return (*this)(x, {.arguments = {{kReverse, true}}});
}

TokenAndPositionEmbedding::TokenAndPositionEmbedding(
    int64_t vocabulary_size, int64_t sequence_length, int64_t embedding_dim,
    const TokenAndPositionEmbeddingOptions& options)
    : Layer(configured<TokenAndPositionEmbeddingLayer>(
          {options, vocabulary_size, sequence_length, embedding_dim})) {}

Value TokenAndPositionEmbedding::reverse(const Value& x) const {
  return (*this)(x, {.arguments = {{kReverse, true}}});
}

void add_reversible_embedding_layers(LayerKinds& kinds) {
  add_layer<ReversibleEmbeddingLayer>(kinds);
  add_layer<TokenAndPositionEmbeddingLayer>(kinds);
}

}  // namespace stoker
