// generate(): cached steps give what the whole sequence gives.
#include <algorithm>

#include <stoker/error.h>
#include <stoker/recurrent_layers.h>

#include "generate/checks.h"

namespace stoker::test {
namespace {

const GenerateOptions kGreedy = greedy();

class Generate : public ::testing::Test {
 protected:
  void SetUp() override { set_seed(11); }
};

TEST_F(Generate, GivesTheLogitsOfTheWholeSequence) {
  Model model = tiny_gpt();
  expect_same_logits(model, {kPrompt});
  EXPECT_EQ(said(model, kPrompt), "");
}

TEST_F(Generate, FollowsAModelOfAFixedLength) {
  Model model = tiny_gpt({.length = 64, .positions = 64});
  expect_same_logits(model, {kPrompt});
  EXPECT_EQ(said(model, kPrompt), "");
}

TEST_F(Generate, SharesHeadsOfKeysInGroups) {
  expect_same_logits(tiny_gpt({.attention = {.heads = 6, .groups = 2}}), {kPrompt});
}

TEST_F(Generate, TakesAMaskThatIsCausalForACausalOne) {
  int64_t length = 48;
  Tensor mask(DType::bool_, {length, length});
  for (int64_t i = 0; i < mask.elements(); ++i)
    mask.data_mut<bool>()[i] = i % length <= i / length && i / length - i % length < 5;
  Model model = tiny_gpt({.length = length, .attention = {.causal = false, .mask = Value(mask)}});
  expect_same_logits(model, {kPrompt});
  EXPECT_EQ(said(model, kPrompt), "");
}

TEST_F(Generate, FindsTheLogitsBehindASoftmax) {
  Model model = tiny_gpt({.softmax = true});
  expect_same_logits(model, {kPrompt});
  EXPECT_LT(logits_of(model, {kPrompt}, kGreedy)[0][0], 0.0F + 50);
}

TEST_F(Generate, ReadsLongPromptsInChunks) {
  TokenIds prompt;
  for (int64_t i = 0; i < 61; ++i) prompt.push_back((i * i + 3) % kVocabulary);
  expect_same_logits(tiny_gpt(), {prompt});
}

TEST_F(Generate, TakesPromptsOfDifferentLengths) {
  Model model = tiny_gpt();
  std::vector<TokenIds> prompts = {{3}, kPrompt, {1, 2, 3}};
  expect_same_logits(model, prompts);
  std::vector<TokenIds> together = generate(model, prompts, kGreedy);
  for (size_t row = 0; row < prompts.size(); ++row)
    EXPECT_EQ(together[row], generate(model, prompts[row], kGreedy)) << row;
}

TEST_F(Generate, KeepsThePromptAndAddsWhatWasAskedFor) {
  TokenIds made = generate(tiny_gpt(), kPrompt, {.max_new_tokens = 5});
  ASSERT_EQ(made.size(), kPrompt.size() + 5);
  EXPECT_TRUE(std::equal(kPrompt.begin(), kPrompt.end(), made.begin()));
}

TEST_F(Generate, RepeatsWithTheSameSeed) {
  Model model = tiny_gpt();
  GenerateOptions options{.max_new_tokens = 30, .temperature = 1.5, .top_k = 10, .seed = 4};
  TokenIds first = generate(model, kPrompt, options);
  EXPECT_EQ(generate(model, kPrompt, options), first);
  options.seed = 5;
  EXPECT_NE(generate(model, kPrompt, options), first);
}

TEST_F(Generate, DrawsAnotherContinuationInEveryCallWithoutASeed) {
  Model model = tiny_gpt();
  TokenIds first = generate(model, kPrompt, {.max_new_tokens = 30, .temperature = 2});
  TokenIds second = generate(model, kPrompt, {.max_new_tokens = 30, .temperature = 2});
  EXPECT_NE(first, second);
  set_seed(11);
  Model again = tiny_gpt();
  EXPECT_EQ(generate(again, kPrompt, {.max_new_tokens = 30, .temperature = 2}), first);
}

TEST_F(Generate, EndsARowWithAStopToken) {
  Model model = tiny_gpt();
  std::vector<TokenIds> prompts = {kPrompt, {1, 2}};
  TokenIds free = generate(model, prompts[0], kGreedy);
  GenerateOptions options = kGreedy;
  options.stop = {free[kPrompt.size() + 3]};
  std::vector<TokenIds> made = generate(model, prompts, options);
  auto end = std::find(free.begin() + int64_t(kPrompt.size()), free.end(), options.stop[0]) + 1;
  EXPECT_EQ(made[0], TokenIds(free.begin(), end));
  EXPECT_EQ(made[1], generate(model, prompts[1], options));
}

TEST_F(Generate, CallsBackForEveryTokenAndEndsARowThatSaysSo) {
  Model model = tiny_gpt();
  TokenIds heard;
  GenerateOptions options = kGreedy;
  options.on_token = [&](const GeneratedToken& token) {
    EXPECT_EQ(token.index, kPrompt.size() + heard.size());
    heard.push_back(token.id);
    return heard.size() < 4;
  };
  TokenIds made = generate(model, kPrompt, options);
  EXPECT_EQ(heard, TokenIds(made.begin() + int64_t(kPrompt.size()), made.end()));
  EXPECT_EQ(heard.size(), 4U);
}

TEST_F(Generate, SeesTheLastTokensOfAModelThatIsFull) {
  Model model = tiny_gpt({.length = 16, .positions = 16});
  expect_same_logits(model, {kPrompt});
}

TEST_F(Generate, FollowsWeightsThatChange) {
  Model model = tiny_gpt();
  generate(model, kPrompt, kGreedy);
  std::vector<Tensor> weights = model.get_weights();
  for (Tensor& weight : weights) weight = weight * 1.5F;
  model.set_weights(weights);
  expect_same_logits(model, {kPrompt});
}

TEST_F(Generate, KeepsTheStatesOfRecurrentLayers) {
  for (const Layer& layer :
       {Layer(LSTM(16, {.return_sequences = true})), Layer(GRU(16, {.return_sequences = true})),
        Layer(GRU(16, {.return_sequences = true, .reset_after = false})),
        Layer(RNN(LSTMCell(8, {.activation = "relu"}), {.return_sequences = true}))}) {
    Value ids = Input({-1}, {.dtype = DType::int64});
    Model model(ids, Dense(kVocabulary)(layer(Embedding(kVocabulary, 12)(ids))));
    expect_same_logits(model, {kPrompt, {1, 2}});
    EXPECT_EQ(said(model, kPrompt), "");
  }
}

TEST_F(Generate, TakesModelsThatGiveTheLastStepAlone) {
  Value ids = Input({-1}, {.dtype = DType::int32});
  Model model(
      ids, Dense(kVocabulary, {.activation = "softmax"})(GRU(16)(Embedding(kVocabulary, 12)(ids))));
  expect_same_logits(model, {kPrompt});
  EXPECT_EQ(said(model, kPrompt), "");
}

TEST_F(Generate, SaysWhereAModelCannotBeCached) {
  Value ids = Input({-1}, {.dtype = DType::int32});
  Value x = Embedding(kVocabulary, 12)(ids);
  Model both(ids, Dense(kVocabulary)(
                      Bidirectional(GRU(8, {.return_sequences = true}), {.name = "both"})(x)));
  std::string text = said(both, kPrompt);
  EXPECT_NE(text.find("without a cache"), std::string::npos) << text;
  EXPECT_NE(text.find("both"), std::string::npos) << text;
  EXPECT_EQ(said(both, kPrompt), "");  // once
  EXPECT_EQ(generate(both, kPrompt, kGreedy), generate(both, kPrompt, without_cache(kGreedy)));
  Model open = tiny_gpt({.attention = {.causal = false}});
  EXPECT_NE(said(open, kPrompt).find("later steps"), std::string::npos);
}

TEST_F(Generate, ComputesWhatAnEncoderGivesOnce) {
  Value source = Input({6}, {.dtype = DType::int32}), ids = Input({-1}, {.dtype = DType::int32});
  Value memory = Bidirectional(GRU(12, {.return_sequences = true}))(Embedding(9, 8)(source));
  Value x = make_layer<SelfAttention>(SelfAttentionOptions{})(Embedding(kVocabulary, 24)(ids));
  Model model({source, ids}, {Dense(kVocabulary)(x + make_layer<CrossAttention>()({x, memory}))});
  Tensor first = Tensor::from<int32_t>({1, 2, 3, 4, 5, 6}, {1, 6});
  GenerateOptions options = kGreedy;
  options.inputs = first;
  expect_same_logits(model, {kPrompt}, options);
  options.inputs = Tensor::from<int32_t>({6, 5, 4, 3, 2, 1}, {1, 6});
  expect_same_logits(model, {kPrompt}, options);
}

TEST_F(Generate, HidesMaskedTokensAsTheModelDoes) {
  Value ids = Input({-1}, {.dtype = DType::int32});
  Value x = Embedding(kVocabulary, 24, {.mask_zero = true})(ids);
  Model model(ids, Dense(kVocabulary)(LSTM(16, {.return_sequences = true})(x)));
  expect_same_logits(model, {{5, 0, 0, 7}});
  EXPECT_EQ(said(model, kPrompt), "");
}

TEST_F(Generate, RefusesWhatItCannotUse) {
  Model model = tiny_gpt();
  EXPECT_THROW(generate(model, TokenIds{}), ValueError);
  EXPECT_THROW(generate(model, std::vector<TokenIds>{}), ValueError);
  EXPECT_THROW(generate(model, TokenIds{kVocabulary}), ValueError);
  EXPECT_THROW(generate(model, kPrompt, {.inputs = Tensor::zeros({1, 2})}), ValueError);
  Value ids = Input({-1}, {.dtype = DType::int32});
  Value x = Embedding(kVocabulary, 8)(ids);
  Model placed(ids, Dense(kVocabulary)(x + PositionEmbedding(32)(x)));
  EXPECT_EQ(generate(placed, kPrompt, greedy(25)).size(), 32U);
  EXPECT_THROW(generate(placed, kPrompt, greedy(26)), ShapeError);
  Value picture = Input({8, 8, 3});
  EXPECT_THROW(generate(Model(picture, Flatten()(picture)), kPrompt), ShapeError);
}

TEST_F(Generate, RefusesToBeCalledInsideItself) {
  Model model = tiny_gpt();
  GenerateOptions options = kGreedy;
  options.on_token = [&](const GeneratedToken&) {
    EXPECT_THROW(generate(model, kPrompt, kGreedy), Error);
    return false;
  };
  generate(model, kPrompt, options);
}

}  // namespace
}  // namespace stoker::test
