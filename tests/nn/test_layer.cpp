// What every layer does: names, weights, sharing, freezing, penalties, own layers.
#include "graph/graph.h"
#include "nn/layer_call.h"
#include "nn/names.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

class Scale : public LayerBase {
 public:
  std::string kind() const override { return "Scale"; }
  void build(const std::vector<Shape>& inputs) override {
    scale_ = add_weight("scale", {inputs[0][-1]}, {.initializer = "ones"});
  }
  Values call(const Values& inputs, CallContext&) override {
    return {ops::tanh(inputs[0] * scale_) * ops::exp(scale_)};
  }

 private:
  Variable scale_;
};

class Halves : public LayerBase {
 public:
  std::string kind() const override { return "Halves"; }
  Values call(const Values& inputs, CallContext&) override { return ops::split(inputs[0], 2); }
};

TEST(Names, AreKerasSnakeCase) {
  EXPECT_EQ(snake_case("Conv2D"), "conv2d");
  EXPECT_EQ(snake_case("MaxPooling2D"), "max_pooling2d");
  EXPECT_EQ(snake_case("BatchNormalization"), "batch_normalization");
  EXPECT_EQ(snake_case("PReLU"), "p_re_lu");
  EXPECT_EQ(snake_case("ELU"), "elu");
  EXPECT_EQ(snake_case("DepthwiseConv2D"), "depthwise_conv2d");
  EXPECT_EQ(snake_case("TopKCategoricalAccuracy"), "top_k_categorical_accuracy");
}

TEST(Layer, NamesItsWeightsAndNodes) {
  Graph graph;
  Layer unnamed = Dense(3), named = Dense(3, {.name = "head"});
  Value x = graph.input("x", {DType::float32, {2, 4}});
  named(unnamed(x));
  EXPECT_EQ(unnamed.name(), "");
  EXPECT_EQ(unnamed.weights()[0].name(), "dense/kernel");
  EXPECT_EQ(named.weights()[1].name(), "head/bias");
  EXPECT_EQ(graph.nodes().front().scope, "dense");
  EXPECT_EQ(graph.nodes().back().scope, "head");
  unnamed.base().set_name("first");
  EXPECT_EQ(unnamed.weights()[0].name(), "first/kernel");
}

TEST(Layer, IsFoundAgainInASketch) {
  Layer dense = Dense(3);
  Value y = dense(Input({4}));
  auto callable = std::get<std::shared_ptr<Callable>>(y.sketched()->node->what);
  auto* call = dynamic_cast<LayerCall*>(callable.get());
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->layer, dense);
}

TEST(Layer, UsedTwiceHasOneSetOfWeightsAndSummedGradients) {
  Layer shared = Dense(3, {.use_bias = false});
  Tensor a = random_tensor({2, 4}, 1), b = random_tensor({5, 4}, 2);
  shared(Input({4}));
  auto gradient_of = [&](bool use_a, bool use_b) {
    return run({a, b}, [&](Graph&, const Values& x) {
      Value loss = ops::sum(ops::square(shared(x[0]))) * double(use_a) +
                   ops::sum(ops::square(shared(x[1]))) * double(use_b);
      return gradients(loss, shared.base().trainable_weights());
    })[0];
  };
  EXPECT_EQ(shared.weights().size(), 1U);
  Tensor of_a = gradient_of(true, false), of_b = gradient_of(false, true);
  std::vector<double> sum;
  for (int64_t i = 0; i < of_a.elements(); ++i) sum.push_back(of_a.at(i) + of_b.at(i));
  EXPECT_TRUE(near(gradient_of(true, true), sum));
}

TEST(Layer, AddsItsRegularisersOncePerGraph) {
  Layer shared = Dense(3, {.kernel_regularizer = L1L2(0.5, 0.25), .bias_regularizer = "l2"});
  Graph graph;
  Value x = graph.input("x", {DType::float32, {2, 4}});
  shared(x);
  EXPECT_EQ(graph.penalties().size(), 2U);
  shared(x);
  EXPECT_EQ(graph.penalties().size(), 2U);
  Graph other;
  shared(other.input("x", {DType::float32, {2, 4}}));
  EXPECT_EQ(other.penalties().size(), 2U);
}

TEST(Layer, HasThePenaltyOfItsRegulariser) {
  Layer layer = Dense(2, {.use_bias = false, .kernel_regularizer = L1L2(0.5, 0.25)});
  layer(Input({2}));
  layer.set_weights({floats({1, -2, 3, 0.5}, {2, 2})});
  Tensor penalty = run({random_tensor({1, 2})}, [&](Graph& graph, const Values& x) {
    layer(x[0]);
    return graph.penalties();
  })[0];
  EXPECT_TRUE(near(penalty, {0.5 * 6.5 + 0.25 * 14.25}));
}

TEST(Layer, PenalisesItsActivityPerSample) {
  Layer layer =
      Dense(2, {.use_bias = false, .kernel_initializer = "ones", .activity_regularizer = L2(0.5)});
  Tensor penalty = run({floats({1, 2, 3, 4}, {2, 2})}, [&](Graph& graph, const Values& x) {
    layer(x[0]);
    return graph.penalties();
  })[0];
  EXPECT_TRUE(near(penalty, {0.5 * (9 + 9 + 49 + 49) / 2}));
}

TEST(Layer, FrozenHasNoTrainableWeightsAndNoPenalty) {
  Layer layer = Dense(3, {.kernel_regularizer = "l2"});
  layer.set_trainable(false);
  Graph graph;
  layer(graph.input("x", {DType::float32, {2, 4}}));
  EXPECT_EQ(layer.weights().size(), 2U);
  EXPECT_TRUE(layer.base().trainable_weights().empty());
  EXPECT_FALSE(layer.weights()[0].trainable());
  EXPECT_TRUE(graph.penalties().empty());
  layer.set_trainable(true);
  EXPECT_EQ(layer.base().trainable_weights().size(), 2U);
  EXPECT_TRUE(layer.weights()[0].trainable());
}

TEST(Layer, ListsTrainableWeightsFirst) {
  Layer bn = BatchNormalization({.name = "bn"});
  bn(Input({4}));
  std::vector<std::string> names;
  for (const Variable& weight : bn.weights()) names.push_back(weight.name());
  EXPECT_EQ(names, std::vector<std::string>(
                       {"bn/gamma", "bn/beta", "bn/moving_mean", "bn/moving_variance"}));
}

TEST(Layer, OfOnesOwnHasTheGradientOfFiniteDifferences) {
  for (const std::string& device : devices()) {
    Layer layer = make_layer<Scale>();
    Tensor x = random_tensor({3, 4}, 5), weights = random_tensor({3, 4}, 6);
    layer(Input({4}));
    auto loss_at = [&](const Tensor& at) {
      return run({at},
                 [&](Graph&, const Values& in) {
                   return Values{weighted_sum(layer(in[0]), weights)};
                 })[0]
          .item();
    };
    std::vector<Tensor> found =
        run({x},
            [&](Graph& graph, const Values& in) {
              Value loss = weighted_sum(layer(in[0]), weights);
              return gradients(loss, Values{in[0], graph.variable(layer.weights()[0])});
            },
            {.device = device});
    constexpr double kStep = 1e-2;
    for (int64_t i = 0; i < x.elements(); ++i) {
      Tensor up = x.clone(), down = x.clone();
      up.data_mut<float>()[i] += float(kStep);
      down.data_mut<float>()[i] -= float(kStep);
      EXPECT_NEAR(found[0].at(i), (loss_at(up) - loss_at(down)) / (2 * kStep), 2e-3) << device;
    }
    Tensor ones = layer.get_weights()[0];
    for (int64_t i = 0; i < ones.elements(); ++i) {
      Tensor up = ones.clone(), down = ones.clone();
      up.data_mut<float>()[i] += float(kStep);
      down.data_mut<float>()[i] -= float(kStep);
      layer.set_weights({up});
      double above = loss_at(x);
      layer.set_weights({down});
      EXPECT_NEAR(found[1].at(i), (above - loss_at(x)) / (2 * kStep), 2e-3) << device;
      layer.set_weights({ones});
    }
  }
}

TEST(Layer, MayHaveSeveralOutputs) {
  Layer halves = make_layer<Halves>();
  EXPECT_EQ(halves.call_all({Input({6})})[1].shape(), Shape({-1, 3}));
  EXPECT_EQ(message_of<Error>([&] { halves(Input({6})); }),
            "Halves has 2 outputs; take them with call_all()");
}

TEST(Layer, ThatFailedToBuildCanBeBuiltAgain) {
  Layer conv = Conv2D(4, 3, {.name = "stem"});
  EXPECT_THROW(conv(Input({784})), ShapeError);
  EXPECT_FALSE(conv.base().built());
  EXPECT_EQ(conv(Input({8, 8, 1})).shape(), Shape({-1, 6, 6, 4}));
  EXPECT_EQ(conv.weights().size(), 2U);
}

TEST(Layer, TakesWeightsOfItsShapesOnly) {
  Layer dense = Dense(2, {.name = "head"});
  EXPECT_EQ(message_of<ValueError>([&] { dense.set_weights({Tensor(1.0F)}); }),
            "Dense \"head\": set_weights got 1 tensors for 0 weights; it has not met an input yet");
  dense(Input({3}));
  EXPECT_EQ(message_of<ShapeError>([&] {
              dense.set_weights({Tensor::zeros({3, 2}), Tensor::zeros({3})});
            }),
            "Dense \"head\": set_weights: \"head/bias\" is float32[2], got float32[3]");
  dense.set_weights({Tensor::full({3, 2}, 1), Tensor::full({2}, 2)});
  EXPECT_TRUE(near(run_layer(dense, floats({1, 2, 3}, {1, 3})), {8, 8}));
}

TEST(Layer, ThatIsEmptySaysSo) {
  EXPECT_EQ(message_of<Error>([] { Layer()(Input({1})); }),
            "an empty Layer was called: it was declared, but never given a layer");
}

TEST(Layer, OfConstantsAloneIsNamed) {
  Embedding positions(4, 2, {.name = "positions"});
  std::string said = message_of<Error>([&] { positions(ops::arange(4)); });
  EXPECT_EQ(said.find("Embedding \"positions\": none of its inputs belongs to a graph"), 0U)
      << said;
}

}  // namespace
}  // namespace stoker::test
