// Embedding.
#include "graph/graph.h"
#include "nn/config.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

class EmbeddingLayer : public SingleInputLayer {
 public:
  EmbeddingLayer(int64_t input_dim, int64_t output_dim, const EmbeddingOptions& options)
      : SingleInputLayer(options.name),
        input_dim_(input_dim),
        output_dim_(output_dim),
        initializer_(options.embeddings_initializer),
        regularizer_(options.embeddings_regularizer) {
    expect_positive("input_dim", input_dim);
    expect_positive("output_dim", output_dim);
  }

  std::string kind() const override { return "Embedding"; }

  Attrs config() const override {
    Attrs attrs = {{"input_dim", input_dim_}, {"output_dim", output_dim_}};
    config::put(attrs, "embeddings_initializer", initializer_);
    config::put(attrs, "embeddings_regularizer", regularizer_);
    return attrs;
  }

 protected:
  void build_for(const Shape&) override {
    embeddings_ = add_weight("embeddings", {input_dim_, output_dim_},
                             {.initializer = initializer_, .regularizer = regularizer_});
  }

  Value forward(const Value& x, CallContext& context) override {
    context.graph().limit(x, {input_dim_, "embedding index"});
    bool ready = x.dtype() == DType::int32 || x.dtype() == DType::int64;
    return ops::gather(embeddings_, ready ? x : ops::cast(x, DType::int32));
  }

 private:
  int64_t input_dim_, output_dim_;
  Initializer initializer_;
  Regularizer regularizer_;
  Variable embeddings_;
};

}  // namespace

Embedding::Embedding(int64_t input_dim, int64_t output_dim, const EmbeddingOptions& options)
    : Layer(std::make_shared<EmbeddingLayer>(input_dim, output_dim, options), options.dtype) {}

void add_embedding_layers(LayerFactories& factories) {
  factories["Embedding"] = [](const Attrs& attrs) {
    return Embedding(
        config::integer(attrs, "input_dim"), config::integer(attrs, "output_dim"),
        {.embeddings_initializer = config::initializer(attrs, "embeddings_initializer", "uniform"),
         .embeddings_regularizer = config::regularizer(attrs, "embeddings_regularizer")});
  };
}

}  // namespace stoker
