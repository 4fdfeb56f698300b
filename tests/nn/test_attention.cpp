// Attention layers: masks, scores and dropout.
#include <cmath>

#include <stoker/attention.h>

#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

Tensor bools(const std::vector<bool>& values, const Shape& shape) {
  return Tensor::from(values, shape);
}

Tensor first_steps(const Tensor& x, int64_t steps) {  // of [1, T, C]
  Tensor part = Tensor::zeros({1, steps, x.shape()[2]});
  for (int64_t i = 0; i < part.elements(); ++i) part.data_mut<float>()[i] = float(x.at(i));
  return part;
}

TEST(MultiHeadAttention, HasKerasWeightsByName) {
  Layer layer = MultiHeadAttention(2, 3, {.value_dim = 5, .name = "mha"});
  layer({Input({4, 6}), Input({7, 8})});
  std::vector<std::string> names;
  for (const Variable& weight : layer.weights())
    names.push_back(weight.name() + " " + to_string(weight.shape()));
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "mha/query/kernel [6, 2, 3]", "mha/query/bias [2, 3]", "mha/key/kernel [8, 2, 3]",
                "mha/key/bias [2, 3]", "mha/value/kernel [8, 2, 5]", "mha/value/bias [2, 5]",
                "mha/attention_output/kernel [2, 5, 6]", "mha/attention_output/bias [6]"}));
}

// Glorot's limit is that of the product: fans of features and heads · dim.
TEST(MultiHeadAttention, DrawsItsKernelsWithTheFansOfTheirProducts) {
  Layer layer = MultiHeadAttention(8, 16);
  layer({Input({4, 32}), Input({4, 32})});
  double limit = std::sqrt(6.0 / (32 + 8 * 16)), largest = 0;
  Tensor kernel = layer.get_weights()[0];
  for (int64_t i = 0; i < kernel.elements(); ++i)
    largest = std::max(largest, std::abs(kernel.at(i)));
  EXPECT_LE(largest, limit);
  EXPECT_GT(largest, 0.95 * limit);
}

TEST(MultiHeadAttention, GivesTheSameWithScoresAndWithout) {
  MultiHeadAttention layer(2, 3);
  std::vector<Tensor> inputs = {random_tensor({2, 4, 6}, 1), random_tensor({2, 5, 6}, 2)};
  Value mask = bools({1, 0, 1, 1, 0, 1, 1, 1, 0, 0}, {2, 5});
  for (const std::string& device : devices())
    for (bool causal : {false, true}) {
      SCOPED_TRACE(device + (causal ? ", causal" : ""));
      auto call = [&](bool scores) {
        return run(inputs,
                   [&](Graph&, const Values& x) {
                     return layer.call_all(x[0], x[1],
                                           {.value_mask = mask,
                                            .return_attention_scores = scores,
                                            .use_causal_mask = causal});
                   },
                   {.device = device});
      };
      std::vector<Tensor> fused = call(false), apart = call(true);
      ASSERT_EQ(fused.size(), 1U);
      ASSERT_EQ(apart.size(), 2U);
      EXPECT_TRUE(near(fused[0], apart[0]));
      EXPECT_EQ(apart[1].shape(), (Shape{2, 2, 4, 5}));
    }
}

TEST(MultiHeadAttention, ReadsTheMasksThatItsInputsCarry) {
  Layer embedding = Embedding(9, 6, {.mask_zero = true});
  MultiHeadAttention attention(2, 3);
  Tensor padded = Tensor::from<int32_t>({3, 1, 4, 0, 0}, {1, 5});
  Tensor whole = Tensor::from<int32_t>({3, 1, 4}, {1, 3});
  auto call = [&](const Tensor& ids, bool* masked) {
    return run({ids}, [&](Graph& graph, const Values& x) {
      Value y = embedding(x[0]);
      y = attention(y, y, {.use_causal_mask = true});
      if (masked) *masked = CallContext(graph).mask_of(y).defined();
      return Values{y};
    })[0];
  };
  bool masked = false;
  Tensor long_one = call(padded, &masked), short_one = call(whole, nullptr);
  EXPECT_TRUE(masked) << "the output carries the query's mask";
  EXPECT_TRUE(near(first_steps(long_one, 3), short_one));
}

// Masked queries get the bias of the output alone.
TEST(MultiHeadAttention, GivesZerosToAQueryThatSeesNoKey) {
  for (const std::string& device : devices()) {
    MultiHeadAttention layer(2, 3);
    Tensor mask = bools({1, 1, 0, 0, 0, 0}, {1, 2, 3});
    std::vector<Tensor> out = run({random_tensor({1, 2, 4}, 1), random_tensor({1, 3, 4}, 2)},
                                  [&](Graph&, const Values& x) {
                                    Value y = layer(x[0], x[1], {.attention_mask = mask});
                                    return Values{y, gradients(ops::sum(y * y), Values{x[0]})[0]};
                                  },
                                  {.device = device});
    for (int64_t i = 4; i < 8; ++i) {
      EXPECT_EQ(out[0].at(i), 0) << device;
      EXPECT_EQ(out[1].at(i), 0) << device;
      EXPECT_NE(out[0].at(i - 4), 0) << device;
    }
  }
}

TEST(MultiHeadAttention, DropsWeightsInTrainingOnly) {
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    MultiHeadAttention layer(2, 3, {.dropout = 0.5});
    Tensor x = random_tensor({2, 6, 4});
    auto call = [&](bool training, int64_t step, bool scores) {
      return run(
          {x},
          [&](Graph&, const Values& in) {
            return Values{layer.call_all(in[0], in[0], {.return_attention_scores = scores})[0]};
          },
          {.training = training, .step = step, .device = device})[0];
    };
    EXPECT_TRUE(near(call(false, 0, false), call(false, 1, false)));
    EXPECT_FALSE(near(call(true, 0, false), call(false, 0, false)));
    EXPECT_FALSE(near(call(true, 0, false), call(true, 1, false)));
    // The same weights are dropped whether they are in memory or not.
    EXPECT_TRUE(near(call(true, 0, false), call(true, 0, true)));
  }
}

TEST(MultiHeadAttention, WorksWithLengthsThatVary) {
  Value x = Input({-1, 8});
  Value y = MultiHeadAttention(2, 4)(x, x, {.use_causal_mask = true});
  EXPECT_EQ(y.shape(), (Shape{-1, -1, 8}));
}

TEST(AttentionLayers, RefuseWhatDoesNotFit) {
  MultiHeadAttention heads(2, 3);
  EXPECT_NE(message_of<ShapeError>([&] {
              heads(Input({4, 6}));
            }).find("(x, x)"),
            std::string::npos);
  EXPECT_THROW(heads(Input({4}), Input({4})), ShapeError);
  EXPECT_THROW(heads(Input({4, 6}), Input({5, 6}), Input({6, 6})), ShapeError);
  EXPECT_THROW(heads(Input({4}, {.dtype = DType::int32}), Input({4, 6})), ShapeError);
  EXPECT_THROW(GroupedQueryAttention(4, 3, 2), ValueError);
  EXPECT_THROW(MultiHeadAttention(0, 3), ValueError);
  EXPECT_THROW(MultiHeadAttention(2, 3, {.dropout = 1.0}), ValueError);
  EXPECT_THROW(Attention({.score_mode = "cosine"}), ValueError);
  EXPECT_THROW(Attention()(Input({4, 6}), Input({5, 7})), ShapeError);
}

TEST(CallArguments, AreRefusedByLayersThatHaveNone) {
  EXPECT_EQ(message_of<ValueError>([] {
              Dense(3, {.name = "d"})(Input({4}), {.arguments = {{"reverse", true}}});
            }),
            "Dense \"d\": a call has no argument \"reverse\"; there are none");
  EXPECT_EQ(
      message_of<ValueError>([] {
        Attention({.name = "a"})({Input({4, 2}), Input({4, 2})}, {.arguments = {{"causal", true}}});
      }),
      "Attention \"a\": a call has no argument \"causal\"; there are "
      "return_attention_scores, use_causal_mask");
}

// --- the op --------------------------------------------------------------------------------------

TEST(DotProductAttention, TakesAMaskAndABiasTogether) {
  std::vector<Tensor> inputs = {random_tensor({1, 2, 1, 4}, 1), random_tensor({1, 3, 1, 4}, 2),
                                random_tensor({1, 3, 1, 2}, 3), random_tensor({2, 3}, 4)};
  Tensor mask = bools({1, 0, 1, 0, 0, 0}, {2, 3});
  for (const std::string& device : devices()) {
    std::vector<Tensor> out = run(
        inputs,
        [&](Graph&, const Values& x) {
          Value both = ops::dot_product_attention(x[0], x[1], x[2], {.bias = x[3], .mask = mask});
          Value scores = ops::matmul(ops::reshape(x[0], {2, 4}), ops::reshape(x[1], {3, 4}),
                                     {.transpose_b = true}) *
                             0.5 +
                         x[3];
          Value weights = ops::where(mask, ops::softmax(ops::where(mask, scores, -1e9)), 0.0);
          Value apart =
              ops::reshape(ops::matmul(weights, ops::reshape(x[2], {3, 2})), {1, 2, 1, 2});
          Value loss = ops::sum(both * both);
          return Values{both, apart, gradients(loss, Values{x[3]})[0],
                        gradients(ops::sum(apart * apart), Values{x[3]})[0]};
        },
        {.device = device});
    EXPECT_TRUE(near(out[0], out[1])) << device;
    EXPECT_TRUE(near(out[2], out[3])) << device;
  }
}

TEST(DotProductAttention, SaysWhatItExpects) {
  Graph graph;
  Value x = graph.input("x", {DType::float32, {1, 2, 3, 4}});
  auto text = [&](const ops::DotProductAttention& options) {
    return message_of<Error>([&] { ops::dot_product_attention(x, x, x, options); });
  };
  Tensor numbers = Tensor::zeros({2, 2}), ints = Tensor::zeros({2, 2}, DType::int32);
  EXPECT_NE(text({.mask = numbers}).find("a float is a `bias`"), std::string::npos);
  EXPECT_NE(text({.bias = ints}).find("a bool is a `mask`"), std::string::npos);
  EXPECT_NE(text({.dropout = 0.5}).find("random state"), std::string::npos);
  std::string misfit = text({.bias = Tensor::zeros({3, 2})});
  EXPECT_NE(misfit.find("[1, 3, 2, 2]"), std::string::npos) << misfit;
}

}  // namespace
}  // namespace stoker::test
