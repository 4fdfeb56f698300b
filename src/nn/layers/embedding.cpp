// Embedding and Masking.
#include "nn/layers/embedding.h"

#include "graph/graph.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"
#include "nn/masks.h"

namespace stoker {

Value row_ids(const Value& x, int64_t rows, CallContext& context) {
  context.graph().limit(x, {rows, "embedding index"});
  bool ready = x.dtype() == DType::int32 || x.dtype() == DType::int64;
  return ready ? x : ops::cast(x, DType::int32);
}

namespace {

struct EmbeddingConfig : EmbeddingOptions {
  int64_t input_dim = 0, output_dim = 0;
  static constexpr const char* kKind = "Embedding";
  static Fields<EmbeddingConfig> fields() {
    using C = EmbeddingConfig;
    return {{"input_dim", &C::input_dim, {.check = at_least(1), .required = true}},
            {"output_dim", &C::output_dim, {.check = at_least(1), .required = true}},
            {"embeddings_initializer", &C::embeddings_initializer},
            {"embeddings_regularizer", &C::embeddings_regularizer},
            {"embeddings_constraint", &C::embeddings_constraint},
            {"mask_zero", &C::mask_zero}};
  }
};

class EmbeddingLayer : public LookupLayer<EmbeddingConfig> {
 public:
  using LookupLayer::LookupLayer;

 protected:
  void build_for(const Shape&) override {
    embeddings_ = add_weight("embeddings", {options().input_dim, options().output_dim},
                             {.initializer = options().embeddings_initializer,
                              .regularizer = options().embeddings_regularizer,
                              .constraint = options().embeddings_constraint});
  }

  Value forward(const Value& x, CallContext& context) override {
    return ops::gather(embeddings_, row_ids(x, options().input_dim, context));
  }

 private:
  Variable embeddings_;
};

struct MaskingConfig : LayerOptions {
  double mask_value = 0;
  static constexpr const char* kKind = "Masking";
  static Fields<MaskingConfig> fields() { return {{"mask_value", &MaskingConfig::mask_value}}; }
};

class MaskingLayer : public Configured<SteadyLayer, MaskingConfig> {
 public:
  using Configured::Configured;
  // The mask that forward() sets; an earlier one ends here.
  Values compute_mask(const Values&, const Values&) const override { return {}; }

 protected:
  Value forward(const Value& x, CallContext& context) override {
    if (x.shape().rank() < 2)
      fail_input("input of 2 or more dimensions, [B, T, C]", x.shape(), "add Reshape before it");
    Value mask = any_last(ops::not_equal(x, options().mask_value));
    Value y = ops::where(ops::expand_dims(mask, -1), x, 0);
    context.set_mask(y, mask);
    return y;
  }
};

}  // namespace

Embedding::Embedding(int64_t input_dim, int64_t output_dim, const EmbeddingOptions& options)
    : Layer(configured<EmbeddingLayer>({options, input_dim, output_dim})) {}

Masking::Masking(double mask_value, const LayerOptions& options)
    : Layer(configured<MaskingLayer>({options, mask_value})) {}

void add_embedding_layers(LayerKinds& kinds) {
  add_layer<EmbeddingLayer>(kinds);
  add_layer<MaskingLayer>(kinds);
}

}  // namespace stoker
