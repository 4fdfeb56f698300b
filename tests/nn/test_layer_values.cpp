// What layers compute, by hand.
#include <cmath>

#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

TEST(Dense, IsKernelPlusBiasThenActivation) {
  for (const std::string& device : devices()) {
    Layer dense = Dense(2, {.activation = "relu"});
    dense(Input({3}));
    dense.set_weights({floats({1, -1, 2, -2, 3, -3}, {3, 2}), floats({0.5F, 1}, {2})});
    EXPECT_TRUE(near(run_layer(dense, floats({1, 1, 1, -1, 0, 0}, {2, 3}), {.device = device}),
                     {6.5, 0, 0, 2}))
        << device;
  }
}

TEST(Dense, TakesAnyFunctionAsActivation) {
  Layer cubed = Dense(1, {.activation = [](const Value& x) { return x * x * x; },
                          .use_bias = false,
                          .kernel_initializer = "ones"});
  EXPECT_TRUE(near(run_layer(cubed, floats({2, -1}, {2, 1})), {8, -1}));
  Layer rectified = Dense(1, {.activation = ops::relu, .kernel_initializer = "ones"});
  EXPECT_TRUE(near(run_layer(rectified, floats({2, -1}, {2, 1})), {2, 0}));
}

TEST(UnitNormalization, GivesEveryVectorTheLengthOne) {
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    Tensor x = floats({3, 4, 0, 0, -5, 12, 1e-20F, 0}, {2, 2, 2});
    EXPECT_TRUE(near(run_layer(UnitNormalization(), x, {.device = device}),
                     {0.6, 0.8, 0, 0, -5 / 13.0, 12 / 13.0, 1e-8, 0}));
    Tensor rows = floats({2, 4, 1, 2}, {1, 2, 2});
    EXPECT_TRUE(near(run_layer(UnitNormalization({.axis = {1, 2}}), rows, {.device = device}),
                     {0.4, 0.8, 0.2, 0.4}));
  }
  EXPECT_THROW(UnitNormalization({.axis = Axes(std::vector<int64_t>())}), ValueError);
}

TEST(Conv2D, CrossCorrelatesWithKerasSamePadding) {
  for (const std::string& device : devices()) {
    // 4 x 4 ones, 3 x 3 ones, stride 2: "same" pads 0 before and 1 after, as Keras does.
    Layer conv = Conv2D(1, 3, {.strides = 2, .padding = "same", .kernel_initializer = "ones"});
    EXPECT_TRUE(
        near(run_layer(conv, Tensor::full({1, 4, 4, 1}, 1), {.device = device}), {9, 6, 6, 4}))
        << device;
  }
}

TEST(DepthwiseConv2D, KeepsChannelsApart) {
  for (const std::string& device : devices()) {
    Layer conv = DepthwiseConv2D(1, {.depth_multiplier = 2});
    conv(Input({1, 1, 2}));
    conv.set_weights({floats({1, 10, 2, 20}, {1, 1, 2, 2}), Tensor::zeros({4})});
    EXPECT_TRUE(
        near(run_layer(conv, floats({3, 5}, {1, 1, 1, 2}), {.device = device}), {3, 30, 10, 100}))
        << device;
  }
}

TEST(SeparableConv2D, IsDepthwiseThenPointwise) {
  Tensor x = random_tensor({2, 6, 6, 3});
  Layer separable = SeparableConv2D(4, 3, {.padding = "same", .depth_multiplier = 2});
  Tensor expected = run_layer(separable, x);
  Layer depthwise =
      DepthwiseConv2D(3, {.padding = "same", .depth_multiplier = 2, .use_bias = false});
  Layer pointwise = Conv2D(4, 1);
  pointwise(depthwise(Input({6, 6, 3})));
  std::vector<Tensor> weights = separable.get_weights();
  depthwise.set_weights({weights[0]});
  pointwise.set_weights({weights[1], weights[2]});
  EXPECT_TRUE(near(run_layer(pointwise, run_layer(depthwise, x)), expected));
}

TEST(Pooling, DoesNotCountPadding) {
  for (const std::string& device : devices()) {
    Tensor x = floats({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3, 1});
    EXPECT_TRUE(near(run_layer(AveragePooling2D(2, {.padding = "same"}), x, {.device = device}),
                     {3, 4.5, 7.5, 9}))
        << device;
    EXPECT_TRUE(
        near(run_layer(MaxPooling2D(2, {.padding = "same"}), x, {.device = device}), {5, 6, 8, 9}))
        << device;
    EXPECT_TRUE(near(run_layer(GlobalAveragePooling2D(), x, {.device = device}), {5})) << device;
    EXPECT_TRUE(near(run_layer(GlobalMaxPooling2D(), x, {.device = device}), {9})) << device;
  }
}

TEST(Reshaping, MovesElements) {
  Tensor x = floats({1, 2, 3, 4, 5, 6}, {1, 2, 3});
  EXPECT_TRUE(near(run_layer(Permute({2, 1}), x), floats({1, 4, 2, 5, 3, 6}, {1, 3, 2})));
  EXPECT_TRUE(near(run_layer(Reshape({-1, 2}), x), floats({1, 2, 3, 4, 5, 6}, {1, 3, 2})));
  Tensor image = floats({1, 2, 3, 4}, {1, 2, 2, 1});
  EXPECT_TRUE(near(run_layer(ZeroPadding2D({{1, 0}, {0, 1}}), image),
                   floats({0, 0, 0, 1, 2, 0, 3, 4, 0}, {1, 3, 3, 1})));
  EXPECT_TRUE(near(run_layer(Cropping2D({{1, 0}, {0, 1}}), image), floats({3}, {1, 1, 1, 1})));
  EXPECT_TRUE(
      near(run_layer(UpSampling2D({2, 1}), image), floats({1, 2, 1, 2, 3, 4, 3, 4}, {1, 4, 2, 1})));
}

TEST(UpSampling2D, SumsGradientsOfTheCopies) {
  Tensor gradient = run({floats({1, 2}, {1, 1, 2, 1})}, [](Graph&, const Values& x) {
    Value y = UpSampling2D({1, 2})(x[0]);
    return gradients(weighted_sum(y, floats({1, 10, 100, 1000}, {1, 1, 4, 1})), Values{x[0]});
  })[0];
  EXPECT_TRUE(near(gradient, {11, 1100}));
}

TEST(Activations, OfLayersAreKeras) {
  Tensor x = floats({-4, -1, 0, 2, 8}, {1, 5});
  EXPECT_TRUE(near(run_layer(ReLU(), x), {0, 0, 0, 2, 8}));
  EXPECT_TRUE(near(run_layer(ReLU({.max_value = 6}), x), {0, 0, 0, 2, 6}));
  EXPECT_TRUE(near(run_layer(ReLU({.negative_slope = 0.5}), x), {-2, -0.5, 0, 2, 8}));
  EXPECT_TRUE(near(run_layer(ReLU({.max_value = 5, .negative_slope = 0.5, .threshold = 1}), x),
                   {-2.5, -1, -0.5, 2, 5}));
  EXPECT_TRUE(near(run_layer(LeakyReLU(), x), {-1.2, -0.3, 0, 2, 8}));
  EXPECT_TRUE(near(run_layer(ELU(2), x), {2 * std::expm1(-4), 2 * std::expm1(-1), 0, 2, 8}));
  EXPECT_TRUE(
      near(run_layer(PReLU({.alpha_initializer = Constant(0.25)}), x), {-1, -0.25, 0, 2, 8}));
  EXPECT_TRUE(near(run_layer(Activation("sigmoid"), floats({0}, {1, 1})), {0.5}));
  EXPECT_TRUE(near(run_layer(Softmax(1), floats({0, 5, std::log(3.0F), 5}, {1, 2, 2})),
                   {0.25, 0.5, 0.75, 0.5}));
}

TEST(PReLU, LearnsItsSlope) {
  Layer layer = PReLU({.shared_axes = {1}});
  Tensor gradient = run({floats({-2, 3, -5, 1}, {2, 2})}, [&](Graph&, const Values& x) {
    Value y = layer(x[0]);
    return gradients(ops::sum(y), layer.base().trainable_weights());
  })[0];
  EXPECT_TRUE(near(gradient, floats({-7}, {1})));
}

TEST(Merging, CombinesElements) {
  Tensor a = floats({1, 5, 3}, {1, 3}), b = floats({4, 2, 3}, {1, 3});
  auto merged = [&](const Layer& layer) {
    return run({a, b}, [&](Graph&, const Values& x) { return Values{layer(x)}; })[0];
  };
  EXPECT_TRUE(near(merged(Add()), {5, 7, 6}));
  EXPECT_TRUE(near(merged(Subtract()), {-3, 3, 0}));
  EXPECT_TRUE(near(merged(Multiply()), {4, 10, 9}));
  EXPECT_TRUE(near(merged(Average()), {2.5, 3.5, 3}));
  EXPECT_TRUE(near(merged(Maximum()), {4, 5, 3}));
  EXPECT_TRUE(near(merged(Minimum()), {1, 2, 3}));
  EXPECT_TRUE(near(merged(Concatenate()), {1, 5, 3, 4, 2, 3}));
}

TEST(Merging, BroadcastsAfterTheBatch) {
  Tensor image = floats({1, 2, 3, 4, 5, 6, 7, 8}, {2, 1, 2, 2}),
         gate = floats({10, 0, 0, 100}, {2, 2});
  Tensor gated =
      run({image, gate}, [](Graph&, const Values& x) { return Values{Multiply()(x)}; })[0];
  EXPECT_TRUE(near(gated, {10, 0, 30, 0, 0, 600, 0, 800}));
}

TEST(Rescaling, TurnsBytesIntoFloats) {
  for (const std::string& device : devices()) {
    Tensor bytes = Tensor::from<uint8_t>({0, 51, 255}, {1, 3});
    EXPECT_TRUE(near(run_layer(Rescaling(1.0 / 255), bytes, {.device = device}), {0, 0.2, 1}))
        << device;
    EXPECT_TRUE(near(run_layer(Rescaling(1 / 127.5, -1), bytes, {.device = device}), {-1, -0.6, 1}))
        << device;
  }
}

TEST(Normalization, UsesWhatItWasGivenOrAdaptedTo) {
  Tensor data = floats({1, 10, 3, 10, 5, 10}, {3, 2});
  Normalization adapted;
  adapted.adapt(data);
  double deviation = std::sqrt(8.0 / 3.0);
  EXPECT_TRUE(near(run_layer(adapted, data), {-2 / deviation, 0, 0, 0, 2 / deviation, 0}));
  EXPECT_EQ(adapted.get_weights()[2].item(), 3);
  EXPECT_TRUE(
      near(run_layer(Normalization({.mean = {1, 2}, .variance = {4, 16}}), floats({3, 10}, {1, 2})),
           {1, 2}));
  EXPECT_TRUE(near(run_layer(Normalization({.mean = {1, 2}, .variance = {4, 16}, .invert = true}),
                             floats({1, 2}, {1, 2})),
                   {3, 10}));
  Normalization overall({.axis = std::nullopt});
  overall.adapt(Tensor::from<uint8_t>({0, 2, 4, 6}, {2, 2}));
  EXPECT_TRUE(near(run_layer(overall, Tensor::from<uint8_t>({3, 8}, {1, 2})), {0, std::sqrt(5)}));
}

TEST(Normalization, AdaptsAlongAnyAxis) {
  Normalization rows({.axis = 1});
  rows.adapt(floats({0, 2, 10, 30}, {1, 2, 2}));
  EXPECT_TRUE(near(run_layer(rows, floats({0, 2, 10, 30}, {1, 2, 2})), {-1, 1, -1, 1}));
}

TEST(Embedding, LooksUpRowsOfAnyIntegerInput) {
  for (const std::string& device : devices()) {
    Layer embedding = Embedding(3, 2);
    embedding(Input({2}, {.dtype = DType::int32}));
    embedding.set_weights({floats({0, 1, 10, 11, 20, 21}, {3, 2})});
    for (DType dtype : {DType::int32, DType::int64, DType::uint8, DType::float32})
      EXPECT_TRUE(near(run_layer(embedding, floats({2, 0}, {1, 2}).cast(dtype), {.device = device}),
                       floats({20, 21, 0, 1}, {1, 2, 2})))
          << device << " " << name(dtype);
    EXPECT_EQ(message_of<ValueError>([&] {
                run_layer(embedding, Tensor::from<int32_t>({0, 3}, {1, 2}), {.device = device});
              }),
              "input \"input 0\": embedding index 3 at element 1 is outside [0, 3)");
  }
}

TEST(Dropout, KeepsTheRateAndTheScaleAndIsIdentityInInference) {
  for (const std::string& device : devices()) {
    Tensor ones = Tensor::full({200, 500}, 1);
    Tensor dropped = run_layer(Dropout(0.3), ones, {.training = true, .device = device});
    int64_t kept = 0;
    for (float value : dropped.values<float>()) {
      EXPECT_TRUE(value == 0 || std::abs(value - 1 / 0.7F) < 1e-6F);
      kept += value != 0;
    }
    EXPECT_NEAR(double(kept) / 1e5, 0.7, 0.01) << device;
    EXPECT_EQ(run_layer(Dropout(0.3), ones, {.device = device}), ones);
    EXPECT_EQ(run_layer(Dropout(0), ones, {.training = true, .device = device}), ones);
  }
}

TEST(Dropout, DiffersByStepAndByLayerButNotByChance) {
  Tensor ones = Tensor::full({1, 64}, 1);
  auto two = [&](int64_t step) {
    return run({ones},
               [](Graph&, const Values& x) {
                 return Values{Dropout(0.5)(x[0]), Dropout(0.5)(x[0])};
               },
               {.training = true, .step = step});
  };
  EXPECT_EQ(two(3)[0], two(3)[0]);
  EXPECT_FALSE(two(3)[0] == two(4)[0]);
  EXPECT_FALSE(two(3)[0] == two(3)[1]);
}

TEST(Lambda, IsAFunctionOfOps) {
  Layer doubled = Lambda([](const Value& x) { return x * 2.0; });
  EXPECT_TRUE(near(run_layer(doubled, floats({1, -3}, {1, 2})), {2, -6}));
}

}  // namespace
}  // namespace stoker::test
