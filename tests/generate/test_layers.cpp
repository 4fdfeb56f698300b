// Layers of Transformers in cached steps.
#include "generate/checks.h"

namespace stoker::test {
namespace {

class GenerateWith : public ::testing::Test {
 protected:
  void SetUp() override { set_seed(3); }
  // Logits that differ by units, so that greedy tokens do.
  static Layer head() {
    return Dense(kVocabulary, {.kernel_initializer = RandomNormal({.stddev = 1.0})});
  }
  static Layer embedding(bool mask_zero = false) {
    return Embedding(
        kVocabulary, 24,
        {.embeddings_initializer = RandomNormal({.stddev = 1.0}), .mask_zero = mask_zero});
  }
  static void expect_cached(const Value& ids, const Value& logits,
                            const std::vector<TokenIds>& prompts = {kPrompt}) {
    Model model(ids, logits);
    expect_same_logits(model, prompts);
    EXPECT_EQ(said(model, kPrompt), "");
  }
  Value ids = Input({-1}, {.dtype = DType::int32});
};

TEST_F(GenerateWith, MultiHeadAttentionAndTiedEmbeddings) {
  TokenAndPositionEmbedding embed(kVocabulary, 128, 24,
                                  {.embeddings_initializer = RandomNormal({.stddev = 0.5})});
  Value x = embed(ids);
  for (int block = 0; block < 2; ++block) {
    Value y = LayerNormalization()(x);
    x = x + MultiHeadAttention(4, 6)(y, y, {.use_causal_mask = true});
    x = x + Dense(24)(Dense(48, {.activation = "gelu"})(LayerNormalization()(x)));
  }
  expect_cached(ids, embed.reverse(LayerNormalization()(x)), {kPrompt, {1, 2, 3}});
}

TEST_F(GenerateWith, GroupedQueriesSwiGLUAndRMSNormalization) {
  Value x = embedding()(ids);
  x = x + PositionEmbedding(128, {.initializer = RandomNormal({.stddev = 0.5})})(x);
  Value y = RMSNormalization()(x);
  x = x + GroupedQueryAttention(6, 4, 2)(y, y, {.use_causal_mask = true});
  x = x + SwiGLU(32)(RMSNormalization()(x));
  expect_cached(ids, head()(x));
}

TEST_F(GenerateWith, SinesForPositions) {
  Value x = embedding()(ids);
  x = x + SinePositionEncoding()(x);
  x = x + MultiHeadAttention(2, 12)(x, x, {.use_causal_mask = true});
  expect_cached(ids, head()(x));
}

// Queries and keys turned by their positions.
class RotaryAttention : public LayerBase {
 public:
  std::string kind() const override { return "RotaryAttention"; }
  void build(const std::vector<Shape>& inputs) override {
    kernel_ = add_weight("kernel", {inputs[0][-1], 3 * inputs[0][-1]});
  }
  Values call(const Values& inputs, CallContext&) override {
    const Shape& shape = inputs[0].shape();
    Values parts = ops::split(ops::matmul(inputs[0], kernel_), 3);
    for (Value& part : parts) part = ops::reshape(part, {shape[0], shape[1], 4, shape[2] / 4});
    Value y = ops::dot_product_attention(rotary_(parts[0]), rotary_(parts[1]), parts[2],
                                         {.is_causal = true});
    return {ops::reshape(y, shape)};
  }

 private:
  Variable kernel_;
  RotaryEmbedding rotary_;
};

TEST_F(GenerateWith, RotaryPositions) {
  Value x = embedding()(ids);
  expect_cached(ids, head()(x + make_layer<RotaryAttention>()(x)));
}

TEST_F(GenerateWith, ASlidingWindow) {
  Value x = embedding()(ids);
  x = x + MultiHeadAttention(2, 12, {.sliding_window = 4})(x, x, {.use_causal_mask = true});
  expect_cached(ids, head()(x));
}

TEST_F(GenerateWith, TokensThatAreMasked) {
  Value x = embedding(true)(ids);
  x = x + MultiHeadAttention(2, 12)(x, x, {.use_causal_mask = true});
  expect_cached(ids, head()(x), {{3, 0, 7, 0, 0, 2, 5}, {4, 0}});
}

TEST_F(GenerateWith, ACausalMaskThatWasGiven) {
  int64_t length = 60;
  Tensor mask(DType::bool_, {1, length, length});
  for (int64_t i = 0; i < mask.elements(); ++i) mask.data_mut<bool>()[i] = i % length <= i / length;
  Value fixed = Input({length}, {.dtype = DType::int32});
  Value x = embedding()(fixed);
  x = x + MultiHeadAttention(2, 12)(x, x, {.attention_mask = Value(mask)});
  expect_cached(fixed, head()(x));
}

TEST_F(GenerateWith, CrossAttentionToAnEncoder) {
  Value source = Input({6}, {.dtype = DType::int32});
  Value memory = Embedding(kVocabulary, 24, {.mask_zero = true})(source);
  memory = memory + MultiHeadAttention(2, 12)(memory, memory);
  Value x = embedding()(ids);
  x = x + MultiHeadAttention(2, 12)(x, x, {.use_causal_mask = true});
  x = x + MultiHeadAttention(2, 12)(x, memory);
  Model model({source, ids}, {head()(x)});
  GenerateOptions options = greedy();
  options.inputs = Tensor::from<int32_t>({1, 2, 3, 4, 0, 0}, {1, 6});
  expect_same_logits(model, {kPrompt}, options);
}

TEST_F(GenerateWith, LambdaAndBatchNormalization) {
  Value x = BatchNormalization()(embedding()(ids));
  x = Lambda([](const Value& v) { return v * ops::sigmoid(v) + 1.0; })(x);
  expect_cached(ids, head()(x + MultiHeadAttention(2, 12)(x, x, {.use_causal_mask = true})));
}

TEST_F(GenerateWith, AnotherModelInside) {
  Value part = Input({-1, 24});
  Model block(part, part + MultiHeadAttention(2, 12)(part, part, {.use_causal_mask = true}));
  expect_cached(ids, head()(block(block(embedding()(ids)))));
}

TEST_F(GenerateWith, AConvolutionOverTimeComputesAllAgain) {
  Value x = Conv1D(24, 3, {.padding = "causal", .name = "over_time"})(embedding()(ids));
  Model model(ids, head()(x));
  EXPECT_NE(said(model, kPrompt).find("over_time"), std::string::npos);
  expect_same_logits(model, {kPrompt}, greedy(4));
}

}  // namespace
}  // namespace stoker::test
