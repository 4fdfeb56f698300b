// EinsumDense, SwiGLU, positions and reversible embeddings, by hand.
#include <cmath>

#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

TEST(EinsumDense, RefusesWhatIsNoEquation) {
  for (const char* bad : {"", "ab,bc", "ab->bc", "ab,bc->ad", "ab,cd->ad", "aab,bc->ac",
                          "...ab,...bc->...ac", "...ab,bc->ac", "ab,b?->a?"})
    EXPECT_THROW(EinsumDense(bad, {3}), ValueError) << bad;
  EXPECT_THROW(EinsumDense("ab,bc->ac", {3}, {.bias_axes = "b"})(Input({4})), ValueError);
  EXPECT_THROW(EinsumDense("ab,bc->ac", {3, 4})(Input({4})), ShapeError);
  EXPECT_THROW(EinsumDense("abc,cd->abd", {5, 3})(Input({4, 2})), ShapeError);
  EXPECT_THROW(EinsumDense("ab,bc->ac", {3})(Input({4, 2})), ShapeError);
}

TEST(EinsumDense, TakesAnyNumberOfAxesWhereTheyAreElided) {
  Layer layer = EinsumDense("...x,xy->...y", {3}, {.bias_axes = "y"});
  EXPECT_EQ(layer(Input({5, 2})).shape(), (Shape{-1, 5, 3}));
  EXPECT_EQ(layer(Input({2})).shape(), (Shape{-1, 3}));
  EXPECT_EQ(layer(Input({-1, 4, 2})).shape(), (Shape{-1, -1, 4, 3}));
}

TEST(SwiGLU, IsAGatedPairOfProducts) {
  for (const std::string& device : devices()) {
    Layer layer = SwiGLU(1, {.name = "ffn"});
    layer(Input({2}));
    layer.set_weights({floats({1, 0}, {2, 1}), floats({0, 1}, {2, 1}), floats({2, -1}, {1, 2})});
    double gate = 3 / (1 + std::exp(-3.0));
    EXPECT_TRUE(
        near(run_layer(layer, floats({3, 5}, {1, 2}), {.device = device}), {10 * gate, -5 * gate}));
    EXPECT_EQ(layer.weights()[0].name(), "ffn/gate/kernel");
  }
}

TEST(RotaryEmbedding, TurnsPairsByAnglesThatGrowWithThePosition) {
  Tensor x = random_tensor({1, 3, 2, 4});
  for (const std::string& device : devices()) {
    Tensor y = run_layer(RotaryEmbedding({.max_wavelength = 100, .scaling_factor = 2}), x,
                         {.device = device});
    for (int64_t i = 0; i < x.elements(); ++i) {
      int64_t feature = i % 4, pair = feature % 2, step = i / 8;
      double angle = double(step) / 2 * std::pow(100.0, -double(pair) / 2);
      double other = x.at(i + (feature < 2 ? 2 : -2)) * (feature < 2 ? -1 : 1);
      EXPECT_NEAR(y.at(i), x.at(i) * std::cos(angle) + other * std::sin(angle), 1e-5) << device;
    }
  }
  EXPECT_THROW(RotaryEmbedding()(Input({4, 3})), ShapeError);
}

TEST(SinePositionEncoding, IsSinesAndCosinesOfThePosition) {
  for (const std::string& device : devices()) {
    Tensor y = run_layer(SinePositionEncoding({.max_wavelength = 100}), Tensor::zeros({2, 3, 4}),
                         {.device = device});
    for (int64_t i = 0; i < y.elements(); ++i) {
      int64_t feature = i % 4, step = i / 4 % 3;
      double angle = double(step) * std::pow(100.0, -double(feature / 2 * 2) / 4);
      EXPECT_NEAR(y.at(i), feature % 2 == 0 ? std::sin(angle) : std::cos(angle), 1e-5) << device;
    }
  }
}

TEST(PositionEmbedding, RepeatsItsFirstRows) {
  Layer layer = PositionEmbedding(3);
  layer(Input({2, 2}));
  layer.set_weights({floats({1, 2, 3, 4, 5, 6}, {3, 2})});
  for (const std::string& device : devices())
    EXPECT_TRUE(near(run_layer(layer, Tensor::zeros({2, 2, 2}), {.device = device}),
                     {1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_NE(message_of<ShapeError>([&] {
              layer(Input({4, 2}));
            }).find("at most 3 steps"),
            std::string::npos);
}

TEST(ReversibleEmbedding, ServesTheHeadWithItsOwnWeights) {
  for (const std::string& device : devices()) {
    ReversibleEmbedding tokens(3, 2, {.logit_soft_cap = 10});
    tokens(Input({1}, {.dtype = DType::int32}));
    ASSERT_EQ(tokens.weights().size(), 1U);
    tokens.set_weights({floats({1, 2, 3, 4, 5, 6}, {3, 2})});
    std::vector<Tensor> out = run({Tensor::from<int32_t>({1}, {1, 1})},
                                  [&](Graph&, const Values& ids) {
                                    Value x = tokens(ids[0]);
                                    return Values{x, tokens.reverse(x)};
                                  },
                                  {.device = device});
    EXPECT_TRUE(near(out[0], {3, 4}));
    EXPECT_TRUE(near(out[1], {10 * std::tanh(1.1), 10 * std::tanh(2.5), 10 * std::tanh(3.9)}));
  }
}

// d(loss)/d(embeddings) has a part from the rows that were looked up, and one from the head.
TEST(ReversibleEmbedding, GetsTheGradientOfBothUses) {
  ReversibleEmbedding tokens(2, 1);
  tokens(Input({1}, {.dtype = DType::int32}));
  tokens.set_weights({floats({3, 5}, {2, 1})});
  for (const std::string& device : devices()) {
    Tensor slope = run({Tensor::from<int32_t>({0}, {1, 1})},
                       [&](Graph&, const Values& ids) {
                         Value logits = tokens.reverse(tokens(ids[0]));  // {3 · 3, 3 · 5}
                         return gradients(ops::sum(logits), tokens.weights());
                       },
                       {.device = device})[0];
    EXPECT_TRUE(near(slope, {2 * 3 + 5, 3}));
  }
}

TEST(ReversibleEmbedding, HasAHeadOfItsOwnWhereWeightsAreNotTied) {
  ReversibleEmbedding tokens(5, 2, {.tie_weights = false, .name = "tokens"});
  tokens(Input({3}, {.dtype = DType::int32}));
  ASSERT_EQ(tokens.weights().size(), 2U);
  EXPECT_EQ(tokens.weights()[1].name(), "tokens/reverse_embeddings");
  EXPECT_EQ(tokens.weights()[1].shape(), (Shape{2, 5}));
  tokens.set_trainable(false);
  EXPECT_TRUE(tokens.trainable_weights().empty());
}

TEST(TokenAndPositionEmbedding, AddsBothAndCarriesTheMask) {
  TokenAndPositionEmbedding layer(4, 3, 2, {.mask_zero = true, .name = "in"});
  layer(Input({2}, {.dtype = DType::int32}));
  EXPECT_EQ(layer.weights()[0].name(), "in/token_embedding/embeddings");
  EXPECT_EQ(layer.weights()[1].name(), "in/position_embedding/embeddings");
  layer.set_weights(
      {floats({0, 0, 1, 2, 3, 4, 5, 6}, {4, 2}), floats({10, 20, 30, 40, 50, 60}, {3, 2})});
  bool masked = false;
  Tensor y = run({Tensor::from<int32_t>({2, 1}, {1, 2})}, [&](Graph& graph, const Values& ids) {
    Value x = layer(ids[0]);
    masked = CallContext(graph).mask_of(x).defined();
    return Values{x, layer.reverse(x)};
  })[0];
  EXPECT_TRUE(masked);
  EXPECT_TRUE(near(y, {13, 24, 31, 42}));
}

}  // namespace
}  // namespace stoker::test
