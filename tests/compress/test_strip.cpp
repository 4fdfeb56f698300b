// Channels: pruned as groups, and removed by strip().
#include <stoker/applications.h>
#include <stoker/flops.h>
#include <stoker/prune.h>

#include "compress/stirred.h"
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

// After pruning a model computes with the hidden channels what it computes without them.
void expect_same_without_channels(const Model& model, const Tensor& x,
                                  const PruneOptions& options = {.kind = PruneKind::channels,
                                                                 .sparsity = 0.5}) {
  PruneReport report = prune(model, options);
  Model smaller = strip(model);
  EXPECT_LT(smaller.count_params(), model.count_params());
  EXPECT_LT(count_flops(smaller), count_flops(model));
  EXPECT_GT(report.removed, 0);
  expect_near(smaller.predict({x}), model.predict({x}), 1e-4);
  EXPECT_TRUE(prune_report(smaller).weights.empty());
}

class Strip : public testing::Test {
 protected:
  Tensor images(int64_t size, uint64_t seed = 3) { return normal({2, size, size, 3}, seed); }
  OnDevice device_{"cpu", 7};
};

TEST_F(Strip, RemovesChannelsBehindFlattenAndPooling) {
  Model model = Sequential({Input({8, 8, 3}), Conv2D(12, 3, {.activation = "relu"}),
                            MaxPooling2D(2), Conv2D(16, 2, {.activation = "sigmoid"}), Flatten(),
                            Dense(20, {.activation = "tanh"}), Dropout(0.5),
                            Dense(4, {.activation = "softmax", .name = "head"})});
  stir(model, 1);
  expect_same_without_channels(model, images(8));
  Model smaller = strip(model);
  EXPECT_EQ(smaller.get_layer(0).weights()[0].shape(), (Shape{3, 3, 3, 6}));
  EXPECT_EQ(smaller.get_layer("head").weights()[0].shape(), (Shape{10, 4}));
}

TEST_F(Strip, FollowsResidualAddsAndBatchNormalization) {
  Value input = Input({8, 8, 3});
  Value x = Conv2D(8, 3, {.padding = "same", .name = "stem"})(input);
  Value y = Activation("relu")(BatchNormalization()(Conv2D(24, 1, {.name = "wide"})(x)));
  y = BatchNormalization()(Conv2D(8, 3, {.padding = "same", .name = "narrow"})(y));
  Value sum = ReLU()(Add()({x, y}));
  Model model(input, Dense(3)(GlobalAveragePooling2D()(sum)));
  stir(model, 2);
  expect_same_without_channels(model, images(8));
  Model smaller = strip(model);
  EXPECT_EQ(smaller.get_layer("stem").weights()[0].shape(), (Shape{3, 3, 3, 4}));
  EXPECT_EQ(smaller.get_layer("narrow").weights()[0].shape(), (Shape{3, 3, 12, 4}));
}

TEST_F(Strip, FollowsConcatenationsOfAUNet) {
  Value input = Input({16, 16, 3});
  Value a = Conv2D(8, 3, {.padding = "same", .activation = "relu", .name = "a"})(input);
  Value b = Conv2D(16, 3, {.padding = "same", .activation = "relu"})(MaxPooling2D(2)(a));
  Value up = Conv2DTranspose(12, 2, {.strides = 2, .name = "up"})(b);
  Value joined = Concatenate()({a, up});
  Value c = Conv2D(8, 3, {.padding = "same", .activation = "relu", .name = "c"})(joined);
  Model model(input, Conv2D(2, 1, {.name = "out"})(c));
  stir(model, 3);
  expect_same_without_channels(model, images(16));
  EXPECT_EQ(strip(model).get_layer("c").weights()[0].shape(), (Shape{3, 3, 10, 4}));
}

TEST_F(Strip, FollowsDepthwiseAndSqueezeAndExcite) {
  Value input = Input({8, 8, 3});
  Value x = BatchNormalization()(Conv2D(16, 1)(input));
  x = Activation("swish")(DepthwiseConv2D(3, {.padding = "same", .depth_multiplier = 2})(x));
  Value s = Reshape({1, 1, 32})(GlobalAveragePooling2D()(x));
  s = Conv2D(32, 1, {.activation = "sigmoid"})(Conv2D(8, 1, {.activation = "swish"})(s));
  x = SeparableConv2D(12, 3)(Multiply()({x, s}));
  Model model(input, Dense(3)(Flatten()(x)));
  stir(model, 4);
  expect_same_without_channels(model, images(8));
}

TEST_F(Strip, ShrinksADecoderThatBeginsWithADenseLayer) {
  Value input = Input({6});
  Value x = Reshape({4, 4, 8})(Dense(128, {.activation = "relu", .name = "start"})(input));
  Model model(input, Conv2DTranspose(1, 3)(x));
  stir(model, 5);
  PruneReport report = prune(model, {.kind = PruneKind::channels, .sparsity = 0.5});
  EXPECT_EQ(report.channels, 8);  // each of 16 units of the dense layer
  Model smaller = strip(model);
  EXPECT_EQ(smaller.get_layer("start").weights()[0].shape(), (Shape{6, 64}));
  expect_near(smaller.predict({normal({3, 6}, 9)}), model.predict({normal({3, 6}, 9)}), 1e-4);
}

TEST_F(Strip, WalksNestedModelsAndSharedLayers) {
  Sequential encoder({Input({8}), Dense(16, {.activation = "relu", .name = "inner"})},
                     {.name = "encoder"});
  Value left = Input({8}), right = Input({8});
  Value distance = Subtract()({encoder(left), encoder(right)});
  Model model({left, right}, {Dense(1)(distance)});
  stir(model, 6);
  prune(model, {.kind = PruneKind::channels, .sparsity = 0.25});
  Model smaller = strip(model);
  EXPECT_EQ(smaller.get_layer("encoder/inner").weights()[0].shape(), (Shape{8, 12}));
  std::vector<Tensor> x = {normal({3, 8}, 1), normal({3, 8}, 2)};
  expect_near(smaller.predict(x), model.predict(x), 1e-4);
}

TEST_F(Strip, GivesNestedModelsInputsOfTheNewWidth) {
  Sequential block({Input({8, 8, 12}), Conv2D(10, 3, {.activation = "relu", .name = "inside"})},
                   {.name = "block"});
  Model model =
      Sequential({Input({8, 8, 3}), Conv2D(12, 1, {.name = "before"}), block, Flatten(), Dense(3)});
  stir(model, 8);
  expect_same_without_channels(model, images(8));
  EXPECT_EQ(strip(model).get_layer("block/inside").weights()[0].shape(), (Shape{3, 3, 6, 5}));
}

TEST_F(Strip, ShrinksKnownNetworks) {
  applications::Options small{.input_shape = {32, 32, 3}, .classes = 5};
  for (const char* name : {"resnet18", "mobilenet"}) {
    SCOPED_TRACE(name);
    Model model = applications::by_name(name, small);
    stir(model, 10);
    expect_same_without_channels(model, images(32));
  }
}

TEST_F(Strip, ShrinksDenseNetAndEfficientNet) {
  applications::ApplicationOptions small{.input_shape = {32, 32, 3}, .classes = 5};
  for (const Model& model :
       {applications::DenseNet121(small),
        applications::MobileNetV3Small({.input_shape = {32, 32, 3}, .classes = 5})}) {
    SCOPED_TRACE(model.name());
    stir(model, 11);
    expect_same_without_channels(model, images(32));
  }
}

TEST_F(Strip, ReachesAShareOfTheFlops) {
  Model model = applications::resnet18({.input_shape = {32, 32, 3}, .classes = 5});
  double before = count_flops(model);
  prune(model, {.kind = PruneKind::channels, .flops = 0.5});
  double share = count_flops(strip(model)) / before;
  EXPECT_LE(share, 0.5);
  EXPECT_GT(share, 0.45);
}

TEST_F(Strip, AShareOfTheFlopsLeavesWholeVectorsOfChannels) {
  Model model = Sequential({Input({16, 16, 3}), Conv2D(64, 3, {.name = "wide"}), ReLU(),
                            Conv2D(24, 3, {.name = "narrow"}), ReLU(),
                            Conv2D(6, 3, {.name = "thin"}), Flatten(), Dense(4)});
  double before = count_flops(model);
  auto filters = [](const Model& smaller, const char* name) {
    return smaller.get_layer(name).weights()[0].shape()[-1];
  };
  for (double share : {0.3, 0.5, 0.7}) {
    Model copy = strip(model);
    prune(copy, {.kind = PruneKind::channels, .flops = share});
    Model smaller = strip(copy);
    EXPECT_LE(count_flops(smaller), share * before);
    EXPECT_EQ(filters(smaller, "wide") % 16, 0) << filters(smaller, "wide");
    EXPECT_EQ(filters(smaller, "narrow") % 8, 0) << filters(smaller, "narrow");
    EXPECT_EQ(filters(smaller, "thin") % 2, 0) << filters(smaller, "thin");
  }
  prune(model, {.kind = PruneKind::channels, .flops = 0.5, .multiple_of = 1});
  double share = count_flops(strip(model)) / before;
  EXPECT_LE(share, 0.5);
  EXPECT_GT(share, 0.47);
}

TEST_F(Strip, RefusesSharesThatMultiplesCannotReach) {
  Model model = Sequential({Input({8}), Dense(16, {.name = "wide"}), Dense(3)});
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { prune(model, {.kind = PruneKind::channels, .flops = 0.1}); }),
           {"flops is 0.1", "are left", ".multiple_of = 1"}));
  prune(model, {.kind = PruneKind::channels, .flops = 0.1, .multiple_of = 1});
  EXPECT_EQ(strip(model).get_layer("wide").weights()[0].shape(), (Shape{8, 1}));
  EXPECT_TRUE(says(
      error_of<ValueError>([&] { prune(model, {.kind = PruneKind::channels, .multiple_of = 0}); }),
      {"multiple_of is 0"}));
}

TEST_F(Strip, TheSmallerModelTrainsAndIsSaved) {
  Data data = blobs(64, 8, 3, 5);
  Model model = Sequential({Input({8}), Dense(32, {.activation = "relu"}), Dense(3)});
  prune(model, {.kind = PruneKind::channels, .sparsity = 0.75});
  Model smaller = strip(model);
  EXPECT_FALSE(smaller.compiled());
  smaller.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true})});
  smaller.fit(data.x, data.y, {.verbose = 0});
  TempDir folder;
  smaller.save(folder / "m.stoker");
  EXPECT_EQ(load_model(folder / "m.stoker").get_weights(), smaller.get_weights());
}

TEST_F(Strip, ChannelsStayHiddenWhileTheModelTrains) {
  Data data = blobs(64, 8, 3, 5);
  Model model = Sequential({Input({8}), Dense(32, {.activation = "relu", .name = "hidden"}),
                            BatchNormalization(), Dense(3)});
  model.compile({.optimizer = Adam({.learning_rate = 0.01, .weight_decay = 0.1}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  model.fit(data.x, data.y,
            {.epochs = 6,
             .verbose = 0,
             .callbacks = {Pruning({.kind = PruneKind::channels, .sparsity = 0.5},
                                   PolynomialSparsity{.end_step = 8, .frequency = 2})}});
  Model smaller = strip(model);
  EXPECT_EQ(smaller.get_layer("hidden").weights()[0].shape(), (Shape{8, 16}));
  expect_near(smaller.predict({data.x}), model.predict({data.x}), 1e-4);
}

TEST_F(Strip, LeavesAModelWithoutMasksAsItIs) {
  Model model = Sequential({Input({8}), Dense(4, {.kernel_initializer = "zeros"}), Dense(3)});
  Model same = strip(model);
  EXPECT_EQ(same.get_weights(), model.get_weights());
  EXPECT_FALSE(same.get_layer(0) == model.get_layer(0));
}

TEST_F(Strip, ChannelsThatStayAreListedWithTheReason) {
  Model model = Sequential({Input({8, 8, 4}), Conv2D(8, 3, {.name = "first"}),
                            Conv2D(8, 3, {.groups = 2, .name = "grouped"}),
                            Conv2D(6, 3, {.name = "last"}), Flatten(), Dense(3, {.name = "head"})});
  PruneReport report = prune(model, {.kind = PruneKind::channels});
  EXPECT_TRUE(says(report.text(), {"Not pruned: first/kernel", "\"grouped\"", "2 groups",
                                   "Not pruned: head/kernel", "an output of the model"}));
  EXPECT_EQ(report.channels, 6);
  EXPECT_TRUE(says(error_of<ValueError>(
                       [&] { prune(model, {.kind = PruneKind::channels, .layers = {"head"}}); }),
                   {"head/kernel cannot lose channels", "an output of the model"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { prune(model, {.kind = PruneKind::channels, .flops = 0.0}); }),
           {"flops is 0", "(0, 1)"}));
}

TEST_F(Strip, LayerNormalizationIsNotedAsNotExact) {
  Model model = Sequential(
      {Input({8}), Dense(16, {.name = "wide"}), LayerNormalization({.name = "norm"}), Dense(3)});
  PruneReport report = prune(model, {.kind = PruneKind::channels, .sparsity = 0.5});
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_TRUE(says(report.notes[0], {"\"norm\"", "normalises over all channels"}));
  EXPECT_EQ(strip(model).get_layer("wide").weights()[0].shape(), (Shape{8, 8}));
}

TEST_F(Strip, KeepsMultiplesOfChannels) {
  Model model = Sequential({Input({8}), Dense(40, {.name = "wide"}), Dense(3)});
  prune(model, {.kind = PruneKind::channels, .sparsity = 0.5, .multiple_of = 8});
  EXPECT_EQ(strip(model).get_layer("wide").weights()[0].shape(), (Shape{8, 24}));
}

}  // namespace
}  // namespace stoker
