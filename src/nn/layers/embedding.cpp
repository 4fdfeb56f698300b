// Embedding.
#include "graph/graph.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

struct EmbeddingConfig : EmbeddingOptions {
  int64_t input_dim = 0, output_dim = 0;
  static constexpr const char* kKind = "Embedding";
  static Fields<EmbeddingConfig> fields() {
    using C = EmbeddingConfig;
    return {{"input_dim", &C::input_dim, {.check = at_least(1), .required = true}},
            {"output_dim", &C::output_dim, {.check = at_least(1), .required = true}},
            {"embeddings_initializer", &C::embeddings_initializer},
            {"embeddings_regularizer", &C::embeddings_regularizer}};
  }
};

class EmbeddingLayer : public Configured<SingleInputLayer, EmbeddingConfig> {
 public:
  using Configured::Configured;

 protected:
  void build_for(const Shape&) override {
    embeddings_ = add_weight("embeddings", {options().input_dim, options().output_dim},
                             {.initializer = options().embeddings_initializer,
                              .regularizer = options().embeddings_regularizer});
  }

  Value forward(const Value& x, CallContext& context) override {
    context.graph().limit(x, {options().input_dim, "embedding index"});
    bool ready = x.dtype() == DType::int32 || x.dtype() == DType::int64;
    return ops::gather(embeddings_, ready ? x : ops::cast(x, DType::int32));
  }

 private:
  Variable embeddings_;
};

}  // namespace

Embedding::Embedding(int64_t input_dim, int64_t output_dim, const EmbeddingOptions& options)
    : Layer(configured<EmbeddingLayer>({options, input_dim, output_dim})) {}

void add_embedding_layers(LayerKinds& kinds) { add_layer<EmbeddingLayer>(kinds); }

}  // namespace stoker
