// Dense and Embedding whose weights are int8 and whose arithmetic is float.
#include <fmt/format.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/embedding.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

struct WeightOnlyDenseConfig : LayerOptions {
  int64_t units = 0;
  bool use_bias = true;
  ActivationFunction activation = {};
  static constexpr const char* kKind = "WeightOnlyDense";
  static Fields<WeightOnlyDenseConfig> fields() {
    using C = WeightOnlyDenseConfig;
    return {{"units", &C::units, {.check = at_least(1), .required = true}},
            {"use_bias", &C::use_bias},
            {"activation", &C::activation}};
  }
};

class WeightOnlyDenseLayer : public Configured<SingleInputLayer, WeightOnlyDenseConfig> {
 public:
  using Configured::Configured;
  bool supports_masking() const override { return true; }

 protected:
  void build_for(const Shape& input) override {
    if (input.rank() < 2) fail_input("input of 2 or more dimensions, [B, features]", input);
    int64_t units = options().units;
    kernel_ = add_weight("kernel", {input[-1], units},
                         {.initializer = "zeros", .trainable = false, .dtype = DType::int8});
    scale_ = add_weight("scale", {units}, {.initializer = "ones", .trainable = false});
    if (options().use_bias)
      bias_ = add_weight("bias", {units}, {.initializer = "zeros", .trainable = false});
  }

  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    Value y = ops::matmul(as_float32(x), ops::cast(kernel_, DType::float32)) * scale_;
    return options().activation(bias_.defined() ? y + bias_ : y);
  }

 private:
  Variable kernel_, scale_, bias_;
};

struct WeightOnlyEmbeddingConfig : LayerOptions {
  int64_t input_dim = 0, output_dim = 0;
  bool mask_zero = false;
  static constexpr const char* kKind = "WeightOnlyEmbedding";
  static Fields<WeightOnlyEmbeddingConfig> fields() {
    using C = WeightOnlyEmbeddingConfig;
    return {{"input_dim", &C::input_dim, {.check = at_least(1), .required = true}},
            {"output_dim", &C::output_dim, {.check = at_least(1), .required = true}},
            {"mask_zero", &C::mask_zero}};
  }
};

class WeightOnlyEmbeddingLayer : public LookupLayer<WeightOnlyEmbeddingConfig> {
 public:
  using LookupLayer::LookupLayer;

 protected:
  void build_for(const Shape&) override {
    embeddings_ = add_weight("embeddings", {options().input_dim, options().output_dim},
                             {.initializer = "zeros", .trainable = false, .dtype = DType::int8});
    scale_ =
        add_weight("scale", {options().input_dim}, {.initializer = "ones", .trainable = false});
  }

  Value forward(const Value& x, CallContext& context) override {
    Value ids = row_ids(x, options().input_dim, context);
    Value rows = ops::cast(ops::gather(embeddings_, ids), DType::float32);
    return rows * ops::expand_dims(ops::gather(scale_, ids), -1);
  }

 private:
  Variable embeddings_, scale_;
};

}  // namespace

void add_quantized_weight_layers(LayerKinds& kinds) {
  add_layer<WeightOnlyDenseLayer>(kinds);
  add_layer<WeightOnlyEmbeddingLayer>(kinds);
}

}  // namespace stoker
