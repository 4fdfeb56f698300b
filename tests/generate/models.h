// Small language models for the tests of generation.
#pragma once

#include <stoker/attention.h>
#include <stoker/generate.h>
#include <stoker/layers.h>

namespace stoker::test {

inline constexpr int64_t kVocabulary = 23;

struct SelfAttentionOptions {
  int64_t heads = 4, groups = 4, depth = 6;
  bool causal = true;
  Value mask = {};
};

// Attention as a user writes it with ops.
class SelfAttention : public LayerBase {
 public:
  explicit SelfAttention(SelfAttentionOptions options) : options_(std::move(options)) {}
  std::string kind() const override { return "SelfAttention"; }
  bool supports_masking() const override { return true; }
  void build(const std::vector<Shape>& inputs) override {
    int64_t width = inputs[0][-1],
            columns = (options_.heads + 2 * options_.groups) * options_.depth;
    kernel_ = add_weight("kernel", {width, columns});
    output_ = add_weight("output", {options_.heads * options_.depth, width});
  }
  Values call(const Values& inputs, CallContext&) override {
    const Shape& shape = inputs[0].shape();
    auto heads = [&](const Value& all, int64_t first, int64_t count) {
      Value part =
          ops::slice(all, {0, 0, first * options_.depth}, {-1, -1, count * options_.depth});
      return ops::reshape(part, {shape[0], shape[1], count, options_.depth});
    };
    Value all = ops::matmul(inputs[0], kernel_);
    Value q = heads(all, 0, options_.heads), k = heads(all, options_.heads, options_.groups);
    Value v = heads(all, options_.heads + options_.groups, options_.groups);
    Value mixed =
        ops::dot_product_attention(q, k, v, {.mask = options_.mask, .is_causal = options_.causal});
    return {ops::matmul(ops::reshape(mixed, {shape[0], shape[1], -1}), output_)};
  }

 private:
  SelfAttentionOptions options_;
  Variable kernel_, output_;
};

// Attention of one head to something else: x [B, T, width], memory [B, S, width].
class CrossAttention : public LayerBase {
 public:
  std::string kind() const override { return "CrossAttention"; }
  Values call(const Values& inputs, CallContext&) override {
    Value q = ops::expand_dims(inputs[0], 2), k = ops::expand_dims(inputs[1], 2);
    return {ops::squeeze(ops::dot_product_attention(q, k, k), 2)};
  }
};

// Learnt positions, as a user writes them.
class Positions : public LayerBase {
 public:
  explicit Positions(int64_t most) : most_(most) {}
  std::string kind() const override { return "Positions"; }
  void build(const std::vector<Shape>& inputs) override {
    table_ = add_weight("table", {most_, inputs[0][-1]}, {.initializer = "random_normal"});
  }
  Values call(const Values& inputs, CallContext&) override {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < inputs[0].shape()[1]; ++i) places.push_back(i);
    return {inputs[0] + ops::gather(table_, Value(Tensor::from(places, {int64_t(places.size())})))};
  }

 private:
  int64_t most_;
  Variable table_;
};

struct TinyGpt {
  int64_t length = -1;  // of the input
  int64_t positions = 128;
  int64_t blocks = 2;
  bool softmax = false;
  SelfAttentionOptions attention = {};
};

inline Model tiny_gpt(const TinyGpt& options = {}) {
  Value ids = Input({options.length}, {.dtype = DType::int32});
  Value x = make_layer<Positions>(options.positions)(
      Embedding(kVocabulary, 24, {.embeddings_initializer = "random_normal"})(ids));
  for (int64_t block = 0; block < options.blocks; ++block) {
    x = x + make_layer<SelfAttention>(options.attention)(LayerNormalization()(x));
    x = x + Dense(24)(Dense(48, {.activation = "gelu"})(LayerNormalization()(x)));
  }
  Value logits = Dense(kVocabulary, {.activation = options.softmax ? "softmax" : "linear",
                                     .kernel_initializer = RandomNormal({.stddev = 1.0})})(x);
  return Model(ids, logits);
}

// Each step's logits, in the order in which they were chosen from.
inline std::vector<std::vector<float>> logits_of(const Model& model,
                                                 const std::vector<TokenIds>& prompts,
                                                 GenerateOptions options) {
  std::vector<std::vector<float>> all;
  options.adjust_logits = [&](size_t, const TokenIds&, std::span<float> logits) {
    all.emplace_back(logits.begin(), logits.end());
  };
  generate(model, prompts, options);
  return all;
}

}  // namespace stoker::test
