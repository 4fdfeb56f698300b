// Layers made of layers: what a call() calls becomes a child, whatever it is kept in.
#include "graph/graph.h"
#include "nn/layer_tree.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

std::vector<std::string> names(const std::vector<Variable>& variables) {
  std::vector<std::string> all;
  for (const Variable& variable : variables) all.push_back(variable.name());
  return all;
}

using Names = std::vector<std::string>;

class Pair : public LayerBase {
 public:
  std::string kind() const override { return "Pair"; }
  Values call(const Values& inputs, CallContext&) override { return {b(a(inputs[0]))}; }

  Dense a{3, {.use_bias = false}}, b{3, {.use_bias = false}};
};

// Any number of layers, one after the other.
class Chain : public LayerBase {
 public:
  explicit Chain(std::vector<Layer> layers) : layers_(std::move(layers)) {}
  std::string kind() const override { return "Chain"; }
  Values call(const Values& inputs, CallContext&) override {
    Value x = inputs[0];
    for (const Layer& layer : layers_) x = layer(x);
    return {x};
  }

 private:
  std::vector<Layer> layers_;
};

Layer chain(std::vector<Layer> layers) { return make_layer<Chain>(std::move(layers)); }
Layer small_dense(const std::string& name = "") {
  return Dense(3, {.use_bias = false, .name = name});
}

TEST(Children, AreWhatTheCallCalls) {
  Layer pair = make_layer<Pair>();
  EXPECT_TRUE(pair.children().empty());
  pair(Input({4}));
  EXPECT_EQ(pair.children().size(), 2U);
  EXPECT_EQ(names(pair.weights()), Names({"pair/dense/kernel", "pair/dense_1/kernel"}));
  EXPECT_EQ(names(pair.trainable_weights()), names(pair.weights()));
  EXPECT_EQ(pair.parameters(), 4 * 3 + 3 * 3);
}

TEST(Children, AreFoundOnceHoweverOftenTheyAreCalled) {
  Layer shared = small_dense();
  Layer twice = chain({shared, shared});
  twice(Input({3}));
  twice(Input({3}));
  Graph graph;
  twice(graph.input("x", {DType::float32, {2, 3}}));
  EXPECT_EQ(twice.children().size(), 1U);
  EXPECT_EQ(names(twice.weights()), Names({"chain/dense/kernel"}));
}

TEST(Children, ArePartsOfPartsToAnyDepth) {
  Layer deep = chain({chain({chain({small_dense(), small_dense("own")}), small_dense()})});
  deep(Input({3}));
  EXPECT_EQ(names(deep.weights()),
            Names({"chain/chain/chain/dense/kernel", "chain/chain/chain/own/kernel",
                   "chain/chain/dense/kernel"}));
  deep.base().set_name("tower");
  EXPECT_EQ(deep.weights()[1].name(), "tower/chain/chain/own/kernel");
  Layer found = find_descendant(deep.children(), "tower", "chain/chain/own");
  ASSERT_NE(found.shared(), nullptr);
  EXPECT_EQ(found.base().path(), "tower/chain/chain/own");
  EXPECT_EQ(find_descendant(deep.children(), "tower", "chain/nothing").shared(), nullptr);
}

TEST(Children, OfTwoParentsBelongToTheFirst) {
  Layer shared = small_dense("tied");
  Layer first = chain({small_dense(), shared}), second = chain({shared, small_dense()});
  Layer both = chain({first, second});
  both(Input({3}));
  EXPECT_EQ(names(both.weights()), Names({"chain/chain/dense/kernel", "chain/chain/tied/kernel",
                                          "chain/chain_1/dense/kernel"}));
  EXPECT_EQ(shared.name(), "tied");
  EXPECT_EQ(both.parameters(), 3 * 9);
  EXPECT_EQ(second.parameters(), 2 * 9);
}

TEST(Children, EmitTheirOpsUnderTheirPaths) {
  Layer pair = make_layer<Pair>();
  pair.base().set_name("encoder");
  Graph graph;
  pair(graph.input("x", {DType::float32, {2, 4}}));
  ASSERT_EQ(graph.nodes().size(), 2U);
  EXPECT_EQ(graph.nodes()[0].scope, "encoder/dense");
  EXPECT_EQ(graph.nodes()[1].scope, "encoder/dense_1");
}

TEST(Children, AreFrozenWithTheirParentAndAlone) {
  Layer pair = make_layer<Pair>();
  auto& base = static_cast<Pair&>(pair.base());
  pair(Input({4}));
  base.b.set_trainable(false);
  EXPECT_EQ(names(pair.trainable_weights()), Names({"pair/dense/kernel"}));
  pair.set_trainable(false);
  EXPECT_TRUE(pair.trainable_weights().empty());
  EXPECT_FALSE(base.a.weights()[0].trainable());
  pair.set_trainable(true);
  EXPECT_EQ(pair.trainable_weights().size(), 2U);
}

TEST(Children, OfALayerThatWasFrozenBeforeItsFirstCallAreFrozen) {
  Layer pair = make_layer<Pair>();
  pair.set_trainable(false);
  pair(Input({4}));
  EXPECT_EQ(pair.weights().size(), 2U);
  EXPECT_TRUE(pair.trainable_weights().empty());
}

TEST(Children, PenaliseTheirWeightsOncePerGraph) {
  Layer regular = Dense(3, {.kernel_regularizer = "l2"});
  Layer block = chain({regular, regular});
  Graph graph;
  Value x = graph.input("x", {DType::float32, {2, 3}});
  block(x);
  EXPECT_EQ(graph.penalties().size(), 1U);
  regular.set_trainable(false);
  Graph frozen;
  block(frozen.input("x", {DType::float32, {2, 3}}));
  EXPECT_TRUE(frozen.penalties().empty());
}

TEST(Children, ComputeInTheirOwnPolicy) {
  class Wide : public LayerBase {
   public:
    std::string kind() const override { return "Wide"; }
    Values call(const Values& inputs, CallContext&) override {
      Value low = small(inputs[0]), high = exact(low);
      return {low, high};
    }
    Dense small{3};
    Dense exact{3, {.dtype = "float32"}};
  };
  Layer wide = make_layer<Wide>();
  wide.set_dtype_policy("mixed_bfloat16");
  Graph graph;
  Values y = wide.call_all({graph.input("x", {DType::float32, {2, 3}})});
  EXPECT_EQ(y[0].dtype(), DType::bfloat16);
  EXPECT_EQ(y[1].dtype(), DType::float32);
}

TEST(Children, OfACallThatFailedAreForgotten) {
  Layer first = small_dense(), second = Conv2D(2, 3);
  Layer block = chain({first, second});
  EXPECT_THROW(block(Input({4})), ShapeError);
  EXPECT_FALSE(block.base().built());
  EXPECT_TRUE(block.children().empty());
  EXPECT_FALSE(first.base().built());
  EXPECT_EQ(first.name(), "");
  EXPECT_TRUE(first.weights().empty());
  EXPECT_EQ(block(Input({8, 8, 1})).shape(), Shape({-1, 6, 6, 2}));
  EXPECT_EQ(names(block.weights()),
            Names({"chain/dense/kernel", "chain/conv2d/kernel", "chain/conv2d/bias"}));
}

TEST(Children, MayBeMadeInTheConstructorAndInBuild) {
  class Late : public LayerBase {
   public:
    std::string kind() const override { return "Late"; }
    void build(const std::vector<Shape>& inputs) override {
      for (int i = 0; i < 2; ++i) layers_.emplace_back(Dense(inputs[0][-1]));
    }
    Values call(const Values& inputs, CallContext&) override {
      return {layers_[1](layers_[0](inputs[0]))};
    }
    std::vector<Layer> layers_;
  };
  Layer outer = chain({make_layer<Late>(), small_dense()});
  EXPECT_EQ(outer(Input({5})).shape(), Shape({-1, 3}));
  EXPECT_EQ(outer.weights().size(), 5U);
}

TEST(Children, ThatAreConstructedInCallAreAnErrorIfTheyHaveWeights) {
  class Forgetful : public LayerBase {
   public:
    std::string kind() const override { return "Forgetful"; }
    Values call(const Values& inputs, CallContext&) override { return {Dense(2)(inputs[0])}; }
  };
  EXPECT_EQ(message_of<Error>([] { make_layer<Forgetful>()(Input({4})); }),
            "Dense \"dense\": it is constructed while \"forgetful\" is traced, which would give it "
            "new weights in every trace; construct it once, as a member of the layer that calls it "
            "or outside of function()");
  class Harmless : public LayerBase {
   public:
    std::string kind() const override { return "Harmless"; }
    Values call(const Values& inputs, CallContext&) override {
      return {Add()({Flatten()(inputs[0]), Activation("relu")(Flatten()(inputs[0]))})};
    }
  };
  Layer harmless = make_layer<Harmless>();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(harmless(Input({2, 2})).shape(), Shape({-1, 4}));
}

TEST(Children, ThatComeBackToTheirParentAreAnError) {
  class Loop : public LayerBase {
   public:
    std::string kind() const override { return "Loop"; }
    Values call(const Values& inputs, CallContext&) override { return {next(inputs[0])}; }
    Layer next;
  };
  Layer a = make_layer<Loop>(), b = make_layer<Loop>();
  static_cast<Loop&>(a.base()).next = b;
  static_cast<Loop&>(b.base()).next = a;
  a.base().set_name("a");
  b.base().set_name("b");
  EXPECT_EQ(message_of<Error>([&] { a(Input({4})); }),
            "Loop \"a\" calls itself (a → b → a); a layer cannot be part of itself");
  EXPECT_TRUE(a.weights().empty());
  static_cast<Loop&>(b.base()).next = Layer();
  static_cast<Loop&>(a.base()).next = Layer();
}

TEST(Children, OnlyCalledInTrainingAreKnownFromTheFirstSketch) {
  class Auxiliary : public LayerBase {
   public:
    std::string kind() const override { return "Auxiliary"; }
    Values call(const Values& inputs, CallContext& context) override {
      Value y = main_(inputs[0]);
      if (context.training()) context.add_loss(ops::mean(ops::square(head_(y))));
      return {y};
    }
    Dense main_{3}, head_{1};
  };
  Layer layer = make_layer<Auxiliary>();
  layer(Input({4}));
  EXPECT_EQ(layer.weights().size(), 4U);
}

TEST(Weights, AreAddedInTheConstructorOrInBuildAndNowhereElse) {
  class InConstructor : public LayerBase {
   public:
    InConstructor() { scale_ = add_weight("scale", {4}, {.initializer = "ones"}); }
    std::string kind() const override { return "InConstructor"; }
    void build(const std::vector<Shape>& inputs) override {
      if (inputs[0][-1] != 4) fail_input("4 features", inputs[0]);
    }
    Values call(const Values& inputs, CallContext&) override { return {inputs[0] * scale_}; }
    Variable scale_;
  };
  Layer early = make_layer<InConstructor>();
  EXPECT_THROW(early(Input({5})), ShapeError);
  early(Input({4}));
  EXPECT_EQ(names(early.weights()), Names({"in_constructor/scale"}));

  class InCall : public LayerBase {
   public:
    std::string kind() const override { return "InCall"; }
    Values call(const Values& inputs, CallContext&) override {
      return {inputs[0] * add_weight("scale", {4})};
    }
  };
  EXPECT_EQ(
      message_of<Error>([] { make_layer<InCall>()(Input({4})); }),
      "InCall: add_weight(\"scale\") after it is built; call() runs once per graph, and would "
      "add a weight in each; add it in build()");
}

// How such layers were written before children were found: everything by hand.
class ByHand : public LayerBase {
 public:
  explicit ByHand(bool with_base) : with_base_(with_base) {}
  std::string kind() const override { return "ByHand"; }
  void build(const std::vector<Shape>& inputs) override {
    a_.base().set_name("a");
    a_.base().ensure_built(inputs);
    own_ = add_weight("own", {3});
  }
  Values call(const Values& inputs, CallContext&) override { return {a_(inputs[0]) * own_}; }
  void set_name(std::string name) override {
    LayerBase::set_name(name);
    a_.base().set_name(name + "/a");
  }
  void set_trainable(bool trainable) override {
    LayerBase::set_trainable(trainable);
    a_.set_trainable(trainable);
  }
  std::vector<Variable> weights() const override {
    std::vector<Variable> all = with_base_ ? LayerBase::weights() : std::vector<Variable>{own_};
    for (const Variable& weight : a_.weights()) all.push_back(weight);
    return all;
  }
  std::vector<Variable> trainable_weights() const override {
    return trainable() ? weights() : std::vector<Variable>{};
  }

 private:
  bool with_base_;
  Variable own_;
  Dense a_{3, {.use_bias = false}};
};

TEST(Children, ThatALayerListsByHandCountOnce) {
  for (bool with_base : {false, true}) {
    Layer layer = make_layer<ByHand>(with_base);
    layer(Input({4}));
    EXPECT_EQ(names(layer.weights()), Names({"by_hand/own", "by_hand/a/kernel"}));
    layer.base().set_name("block");
    EXPECT_EQ(names(layer.weights()), Names({"block/own", "block/a/kernel"}));
    EXPECT_EQ(layer.parameters(), 3 + 12);
    EXPECT_EQ(layer.get_weights().size(), 2U);
    layer.set_weights(layer.get_weights());
    layer.set_trainable(false);
    EXPECT_TRUE(layer.trainable_weights().empty());
    Layer outer = chain({layer});
    outer(Input({4}));
    EXPECT_EQ(outer.parameters(), 3 + 12);
    EXPECT_EQ(outer.weights()[1].name(), "chain/block/a/kernel");
  }
}

TEST(Children, OfAWrapperHaveItsPath) {
  Layer block = chain({WeightNormalization(Dense(3))});
  block(Input({4}));
  EXPECT_EQ(names(block.weights()),
            Names({"chain/weight_normalization/kernel", "chain/weight_normalization/bias",
                   "chain/weight_normalization/g"}));
}

TEST(Children, OfALambdaAreItsLayers) {
  Layer dense = small_dense();
  Layer lambda = Lambda([dense](const Value& x) { return ops::relu(dense(x)); });
  lambda(Input({4}));
  EXPECT_EQ(names(lambda.weights()), Names({"lambda/dense/kernel"}));
}

}  // namespace
}  // namespace stoker::test
