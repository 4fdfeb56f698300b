// Shape rules of convolution, pooling and normalisation.
#include <stoker/ops.h>

#include "graph/tracing.h"

namespace stoker {

using namespace test;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Conv2D, GivesTheShapeOfItsOutput) {
  Graph graph;
  Value x = f32(graph, {32, 28, 28, 1});
  EXPECT_EQ(ops::conv2d(x, weight("w", {3, 3, 1, 64})).shape(), Shape({32, 26, 26, 64}));
  EXPECT_EQ(ops::conv2d(x, weight("w", {3, 3, 1, 8}), {.strides = {2, 2}}).shape(),
            Shape({32, 13, 13, 8}));
  EXPECT_EQ(ops::conv2d(x, weight("w", {3, 3, 1, 8}), {.dilation = {2, 3}}).shape(),
            Shape({32, 24, 22, 8}));
  EXPECT_EQ(ops::conv2d(f32(graph, {1, 8, 8, 6}), weight("w", {1, 1, 2, 9}), {.groups = 3}).shape(),
            Shape({1, 8, 8, 9}));
  EXPECT_EQ(ops::depthwise_conv2d(f32(graph, {1, 8, 8, 6}), weight("w", {3, 3, 6, 2})).shape(),
            Shape({1, 6, 6, 12}));
}

TEST(Conv2D, SaysWhichReshapeRepairsAFlatImage) {
  Graph graph;
  Graph::Scope scope(graph, "stem");
  Value flat = f32(graph, {32, 784});
  EXPECT_THAT(error_of([&] {
                ops::conv2d(flat, weight("w", {3, 3, 1, 8}));
              }),
              StartsWith("conv2d \"stem\": expected 4-D input [B, H, W, C], got [32, 784]; add "
                         "Reshape({28, 28, 1}) "
                         "before it"));
  EXPECT_THAT(error_of([&] {
                ops::conv2d(f32(graph, {32, 3072}), weight("w", {3, 3, 3, 8}));
              }),
              HasSubstr("add Reshape({32, 32, 3})"));
  EXPECT_THAT(error_of([&] {
                ops::conv2d(f32(graph, {32, 600}), weight("w", {3, 3, 3, 8}));
              }),
              HasSubstr("add Reshape({height, width, 3})"));
  EXPECT_THAT(error_of([&] {
                ops::conv2d(f32(graph, {32, 28, 30}), weight("w", {3, 3, 1, 8}));
              }),
              HasSubstr("add Reshape({28, 30, 1})"));
}

TEST(Conv2D, SaysWhatDoesNotFit) {
  Graph graph;
  Value x = f32(graph, {1, 8, 8, 6});
  EXPECT_THAT(error_of([&] {
                ops::conv2d(x, weight("w", {3, 3, 4, 8}));
              }),
              HasSubstr("expected 4 input channels"));
  EXPECT_THAT(error_of([&] {
                ops::conv2d(x, weight("w", {3, 3, 2, 8}), {.groups = 3});
              }),
              HasSubstr("divide the 8 filters"));
  EXPECT_THAT(error_of([&] {
                ops::conv2d(x, weight("w", {9, 9, 6, 8}));
              }),
              HasSubstr("at least 9x9 pixels with its padding, got 8x8"));
  EXPECT_THAT(error_of([&] {
                ops::conv2d(x, weight("w", {3, 3, 6, 8}), {.strides = {0, 1}});
              }),
              HasSubstr("strides of 1 or more"));
  EXPECT_THAT(error_of([&] {
                ops::conv2d(x, weight("w", {3, 3, 6, 8}), {.groups = 0});
              }),
              HasSubstr("groups"));
}

TEST(SamePadding, KeepsTheExtentAndPutsTheOddPixelBelowAndRight) {
  ops::Padding even = ops::same_padding({1, 28, 28, 1}, {3, 3}, {1, 1});
  EXPECT_EQ(even.top, 1);
  EXPECT_EQ(even.bottom, 1);
  ops::Padding odd = ops::same_padding({1, 28, 27, 1}, {2, 3}, {1, 2});
  EXPECT_EQ(odd.top, 0);
  EXPECT_EQ(odd.bottom, 1);
  EXPECT_EQ(odd.left, 1);
  EXPECT_EQ(odd.right, 1);
  ops::Padding none = ops::same_padding({1, 28, 28, 1}, {2, 2}, {2, 2});
  EXPECT_EQ(none.bottom, 0);

  Graph graph;
  Value x = f32(graph, {1, 7, 10, 1});
  Value kernel = weight("w", {3, 5, 1, 1});
  auto padding = ops::same_padding(x.shape(), {3, 5}, {2, 3}, {1, 1});
  EXPECT_EQ(ops::conv2d(x, kernel, {.strides = {2, 3}, .padding = padding}).shape(),
            Shape({1, 4, 4, 1}));
}

TEST(Pooling, GivesTheShapeOfItsOutput) {
  Graph graph;
  Value x = f32(graph, {4, 13, 13, 8});
  EXPECT_EQ(ops::max_pool2d(x).shape(), Shape({4, 6, 6, 8}));
  EXPECT_EQ(ops::average_pool2d(x, {.window = {3, 3}, .strides = {1, 1}}).shape(),
            Shape({4, 11, 11, 8}));
}

TEST(Pooling, RefusesWindowsOfNothingButPadding) {
  Graph graph;
  Value x = f32(graph, {4, 13, 13, 8});
  EXPECT_THAT(error_of([&] { ops::max_pool2d(x, {.padding = {.top = 2}}); }),
              HasSubstr("smaller than the window"));
  EXPECT_THAT(error_of([&] {
                ops::max_pool2d(f32(graph, {4, 8}));
              }),
              EndsWith("expected 4-D input [B, H, W, C], got [4, 8] (inputs: float32[4, 8])"));
}

TEST(BatchNorm, GivesStatisticsInFloat32) {
  Graph graph;
  Value x = graph.input("x", {DType::bfloat16, {8, 4, 4, 3}});
  auto [y, mean, variance] = ops::batch_norm(x, weight("gamma", {3}), weight("beta", {3}));
  EXPECT_EQ(y.spec(), x.spec());
  EXPECT_EQ(mean.spec(), (TensorSpec{DType::float32, {3}}));
  EXPECT_EQ(variance.spec(), mean.spec());
  EXPECT_THAT(error_of([&] { ops::batch_norm(x, weight("gamma", {4}), weight("beta", {3})); }),
              HasSubstr("expected gamma float32[3], got float32[4]"));
}

TEST(LayerNorm, NormalisesTheDimensionsOfGamma) {
  Graph graph;
  Value x = f32(graph, {8, 5, 4, 3});
  EXPECT_EQ(ops::layer_norm(x, weight("gamma", {4, 3}), weight("beta", {4, 3})).shape(), x.shape());
  const Node& node = only(graph, "layer_norm");
  EXPECT_EQ(graph.spec(node.outputs[1]).shape, Shape({8, 5}));
  EXPECT_THAT(error_of([&] { ops::layer_norm(x, weight("gamma", {4}), weight("beta", {4})); }),
              HasSubstr("trailing dimensions of [8, 5, 4, 3], got [4]"));
}

TEST(WeightNorm, KeepsTheShapeOfTheWeight) {
  Graph graph;
  Graph::Scope scope(graph, "dense");
  Value w = ops::weight_norm(weight("v", {3, 3, 4, 8}), weight("g", {8}));
  EXPECT_EQ(w.shape(), Shape({3, 3, 4, 8}));
  EXPECT_EQ(only(graph, "reduce").attrs.get<Ints>("axes"), Ints({0, 1, 2}));
}

TEST(Softmax, OverAnotherAxisIsTransposedThereAndBack) {
  Graph graph;
  Value x = f32(graph, {2, 3, 4});
  EXPECT_EQ(ops::softmax(x, 1).shape(), x.shape());
  EXPECT_EQ(ops_of(graph), "transpose, softmax, transpose");
}

}  // namespace stoker
