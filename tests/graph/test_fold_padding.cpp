// Padding that becomes part of the windows that read it.
#include <stoker/ops.h>

#include "engine/graph_memory.h"
#include "graph/passes/passes.h"
#include "graph/rewriting.h"
#include "graph/tracing.h"
#include "support/draw.h"

namespace stoker {

using namespace test;

namespace {

Value framed(const Value& x, const ops::Padding& frame) {
  return ops::pad(x, {0, frame.top, frame.left, 0}, {0, frame.bottom, frame.right, 0});
}

int fold_and_compare(Graph& graph) {
  uint64_t seed = fresh_seed();
  SCOPED_TRACE("STOKER_TEST_SEED=" + std::to_string(seed));
  std::vector<Tensor> before = run(graph, seed);
  int folded = passes::fold_padding(graph);
  EXPECT_TRUE(can_run(graph)) << graph.dump();
  expect_close(run(graph, seed), before);
  return folded;
}

Ints pads_of(const Graph& graph, const std::string& op) {
  return only(graph, op).attrs.get<Ints>("pads");
}

TEST(FoldPadding, GivesItToAConvolutionAndBothOfItsGradients) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 2, 4});
  Value x = f32(graph, {2, 6, 7, 2});
  Value y = ops::conv2d(framed(x, {1, 2, 0, 1}), w, {.strides = {2, 1}});
  Value loss = ops::sum(ops::square(y));
  Values found = gradients(loss, Values{x, w});
  graph.output(y, "y");
  graph.output(found[0], "dx");
  graph.output(found[1], "dw");
  EXPECT_EQ(fold_and_compare(graph), 1);
  for (const char* op : {"conv2d", "conv2d_weight_grad", "conv2d_input_grad"})
    EXPECT_EQ(pads_of(graph, op), (Ints{1, 2, 0, 1})) << op;
  EXPECT_EQ(count(graph, "pad") + count(graph, "slice"), 0) << graph.dump();
  EXPECT_EQ(passes::fold_padding(graph), 0) << "nothing is left to fold";
}

TEST(FoldPadding, AddsToThePaddingThatIsThere) {
  Graph graph;
  Variable w = noisy("w", {5, 5, 2, 3});
  Value y = ops::conv2d(framed(f32(graph, {2, 6, 6, 2}), {1, 0, 2, 1}), w,
                        {.padding = {2, 2, 2, 2}, .dilation = {2, 1}});
  differentiate(graph, ops::sum(ops::square(y)), {w});
  EXPECT_EQ(fold_and_compare(graph), 1);
  EXPECT_EQ(pads_of(graph, "conv2d"), (Ints{3, 2, 4, 3}));
}

TEST(FoldPadding, IsForDepthwiseConvolutionsAndSeveralReadersToo) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 1, 4}), v = noisy("v", {3, 3, 4, 2});
  Value padded = framed(f32(graph, {2, 5, 5, 4}), {0, 1, 0, 1});
  Value y = ops::conv2d(padded, w, {.strides = {2, 2}, .groups = 4});
  Value z = ops::conv2d(padded, v);
  differentiate(graph, ops::sum(ops::square(y)) + ops::sum(z), {w, v});
  EXPECT_EQ(fold_and_compare(graph), 1);
  EXPECT_EQ(count(graph, "pad"), 0);
}

TEST(FoldPadding, ReachesTheConvolutionThroughACast) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 2, 4});
  Value x = ops::cast(framed(f32(graph, {2, 6, 6, 2}), {1, 1, 1, 1}), DType::bfloat16);
  Value y = ops::conv2d(x, ops::cast(graph.variable(w), DType::bfloat16));
  differentiate(graph, ops::sum(ops::cast(y, DType::float32)), {w});
  EXPECT_EQ(fold_and_compare(graph), 1);
  EXPECT_EQ(count(graph, "pad"), 0);
  EXPECT_EQ(pads_of(graph, "conv2d_weight_grad"), (Ints{1, 1, 1, 1}));
}

TEST(FoldPadding, GivesItToMaxPoolingAfterRelu) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 2, 4});
  // Many windows hold nothing above zero: the frame ties with the image.
  Value y = ops::relu(ops::conv2d(f32(graph, {2, 9, 9, 2}), w) - 0.5);
  Value pooled = ops::max_pool2d(framed(y, {1, 1, 1, 1}), {.window = {3, 3}, .strides = {2, 2}});
  graph.output(pooled, "pooled");
  differentiate(graph, ops::sum(ops::square(pooled)) + ops::sum(pooled), {w});
  EXPECT_EQ(fold_and_compare(graph), 1);
  EXPECT_EQ(pads_of(graph, "max_pool2d"), (Ints{1, 1, 1, 1}));
  EXPECT_EQ(pads_of(graph, "max_pool2d_grad"), (Ints{1, 1, 1, 1}));
  EXPECT_EQ(count(graph, "pad") + count(graph, "slice"), 0) << graph.dump();
}

TEST(FoldPadding, LeavesPoolingOfWhatMayBeNegativeAndMeans) {
  Graph graph;
  Value x = f32(graph, {2, 6, 6, 3});
  graph.output(ops::max_pool2d(framed(x, {1, 1, 1, 1})), "max");
  graph.output(ops::average_pool2d(framed(ops::relu(x), {1, 1, 1, 1})), "mean");
  EXPECT_EQ(fold_and_compare(graph), 0);
}

TEST(FoldPadding, LeavesFramesThatOthersReadOrThatAreNotZero) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 3, 2});
  Value x = f32(graph, {2, 6, 6, 3});
  Value padded = framed(x, {1, 1, 1, 1});
  graph.output(ops::conv2d(padded, w), "y");
  graph.output(padded, "padded");
  graph.output(ops::conv2d(ops::pad(x, {0, 1, 1, 0}, {0, 1, 1, 0}, 0.5), w), "of 0.5");
  graph.output(ops::conv2d(ops::pad(x, {1, 0, 0, 0}, {0, 0, 0, 0}), w), "of the batch");
  EXPECT_EQ(fold_and_compare(graph), 0);
}

TEST(FoldPadding, LeavesFramesThatHoldWholeWindows) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 2, 2}), point = noisy("point", {1, 1, 2, 2});
  Value x = f32(graph, {2, 6, 6, 2});
  differentiate(graph,
                ops::sum(ops::square(ops::conv2d(framed(x, {3, 0, 0, 0}), w))) +
                    ops::sum(ops::square(ops::conv2d(framed(x, {1, 1, 1, 1}), point))),
                {w, point});
  EXPECT_EQ(fold_and_compare(graph), 0);
}

TEST(FoldPadding, TakesThePaddedImageOutOfTheMemoryPlan) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 8, 8});
  Value y = ops::conv2d(framed(f32(graph, {4, 32, 32, 8}), {1, 1, 1, 1}), w);
  differentiate(graph, ops::sum(ops::square(y)), {w});
  size_t before = plan_graph_memory(graph).arena;
  passes::fold_padding(graph);
  EXPECT_LE(plan_graph_memory(graph).arena + size_t(4 * 34 * 34 * 8) * sizeof(float), before);
}

}  // namespace

}  // namespace stoker
