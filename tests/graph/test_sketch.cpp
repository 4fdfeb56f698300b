// Models drawn before their batch size is known.
#include <stoker/ops.h>

#include "graph/sketch.h"
#include "graph/tracing.h"

namespace stoker {

using namespace test;
using testing::HasSubstr;

Value image() { return sketch_input("image", {DType::float32, {28, 28, 1}}); }

// A layer as the graph sees it: x · w, counted.
class Dense : public Callable {
 public:
  explicit Dense(int64_t units) : units_(units) {}
  Values apply(Graph& graph, const Values& inputs) override {
    ++calls;
    Graph::Scope scope(graph, "dense");
    if (!kernel_.defined()) kernel_ = weight("kernel", {inputs[0].shape()[-1], units_});
    return {ops::matmul(inputs[0], kernel_)};
  }
  int calls = 0;

 private:
  int64_t units_;
  Variable kernel_;
};

TEST(Sketch, ShowsTheBatchAsUnknown) {
  EXPECT_EQ(image().shape(), Shape({-1, 28, 28, 1}));
  EXPECT_EQ(ops::flatten(image()).shape(), Shape({-1, 784}));
  EXPECT_EQ(ops::conv2d(image(), weight("w", {3, 3, 1, 8})).shape(), Shape({-1, 26, 26, 8}));
  EXPECT_EQ(ops::depthwise_conv2d(image(), weight("w", {3, 3, 1, 8})).shape(),
            Shape({-1, 26, 26, 8}));
  EXPECT_EQ((image() * 2.0 + image()).shape(), Shape({-1, 28, 28, 1}));
  EXPECT_EQ(ops::sum(image(), {.axes = {1, 2, 3}}).shape(), Shape({-1}));
}

TEST(Sketch, KnowsWhenTheBatchIsGone) {
  EXPECT_EQ(ops::mean(image()).shape(), Shape({}));
  EXPECT_EQ(ops::sum(image(), {.axes = {0}}).shape(), Shape({28, 28, 1}));
  EXPECT_EQ(ops::reshape(image(), {-1, 14}).shape(), Shape({-1, 14}));
}

TEST(Sketch, ChecksShapesAtOnce) {
  EXPECT_THAT(error_of([] { ops::matmul(image(), weight("w", {5, 5})); }), HasSubstr("matmul: "));
  EXPECT_THAT(error_of([] { ops::squeeze(image(), 1); }), HasSubstr("[None, 28, 28, 1]"));
}

Value sequence() { return sketch_input("x", {DType::float32, {-1, 3}}); }

TEST(Sketch, KeepsOtherUnknownDimensions) {
  EXPECT_EQ(sequence().shape(), Shape({-1, -1, 3}));
  EXPECT_EQ(ops::sum(sequence(), {.axes = {2}}).shape(), Shape({-1, -1}));
  EXPECT_EQ(ops::matmul(sequence(), weight("w", {3, 5})).shape(), Shape({-1, -1, 5}));
  EXPECT_EQ(ops::pad(sequence(), {0, 2, 0}, {0, 0, 0}).shape(), Shape({-1, -1, 3}));
  EXPECT_EQ(ops::reshape(sequence(), {-1, 3}).shape(), Shape({-1, 3}));  // all steps of a batch
  EXPECT_EQ(ops::expand_dims(sequence(), 1).shape(), Shape({-1, 1, -1, 3}));
  EXPECT_EQ(with_trial_extents({-1, 3}).rank(), 2);
  EXPECT_TRUE(with_trial_extents({-1, 3}).is_known());
}

TEST(Sketch, ShowsUnknownDimensionsInErrors) {
  EXPECT_THAT(error_of([] {
                ops::matmul(sequence(), weight("w", {5, 5}));
              }),
              HasSubstr("None, 3]"));
  EXPECT_THAT(error_of([] { ops::reshape(sequence(), {-1, 7, 2}); }), HasSubstr("None"));
  EXPECT_THAT(error_of([] { ops::reshape(image(), {0, 784}); }), HasSubstr("[None, 28, 28, 1]"));
  EXPECT_THAT(error_of([] { ops::concatenate({image(), sequence()}); }), Not(HasSubstr("8191")));
}

TEST(Sketch, TriesACallableOnceAndRemembersIt) {
  auto dense = std::make_shared<Dense>(10);
  Values outputs = apply(std::shared_ptr<Callable>(dense), {ops::flatten(image())});
  EXPECT_EQ(outputs[0].shape(), Shape({-1, 10}));
  EXPECT_EQ(dense->calls, 1);
}

TEST(Sketch, AppliesACallableToTracedValuesAtOnce) {
  Graph graph;
  auto dense = std::make_shared<Dense>(10);
  Values outputs = apply(std::shared_ptr<Callable>(dense), {f32(graph, {8, 4})});
  EXPECT_EQ(outputs[0].traced()->graph, &graph);
  EXPECT_EQ(graph.nodes()[0].scope, "dense");
}

TEST(Sketch, ListsEveryNodeOnceAndAfterItsInputs) {
  Value x = image();
  Value a = ops::exp(x), b = ops::log(a), c = a + b;
  auto nodes = topological({c, b});
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[0], x.sketched()->node);
  EXPECT_EQ(nodes[1], a.sketched()->node);
  EXPECT_EQ(nodes[2], b.sketched()->node);
  EXPECT_EQ(nodes[3], c.sketched()->node);
}

TEST(Sketch, TakesModelsOfThousandsOfLayers) {
  Value x = image();
  for (int i = 0; i < 5000; ++i) x = ops::relu(x);
  EXPECT_EQ(topological({x}).size(), 5001U);
}

TEST(Replay, EmitsTheModelAtAConcreteBatch) {
  Value x = image();
  auto dense = std::make_shared<Dense>(10);
  Value hidden = apply(std::shared_ptr<Callable>(dense), {ops::flatten(x)})[0];
  Value y = ops::softmax(hidden * 2.0 + weight("b", {10}));
  for (int64_t batch : {32, 5}) {
    Graph graph;
    Values outputs = replay(graph, {x}, {f32(graph, {batch, 28, 28, 1})}, {y, hidden});
    EXPECT_EQ(outputs[0].shape(), Shape({batch, 10}));
    EXPECT_EQ(outputs[1].shape(), Shape({batch, 10}));
    EXPECT_EQ(ops_of(graph), "reshape, matmul, binary, binary, softmax");
    EXPECT_EQ(graph.variables().size(), 2U);
  }
}

TEST(Replay, StartsWhereItIsTold) {
  Value x = image(), middle = ops::flatten(ops::relu(x)), y = ops::exp(middle);
  Graph graph;
  Values outputs = replay(graph, {middle}, {f32(graph, {4, 784})}, {y});
  EXPECT_EQ(outputs[0].shape(), Shape({4, 784}));
  EXPECT_EQ(ops_of(graph), "unary");
}

TEST(Replay, NamesTheInputThatIsMissing) {
  Value a = image(), b = sketch_input("mask", {DType::float32, {28, 28, 1}});
  Graph graph;
  Value x = f32(graph, {4, 28, 28, 1});
  EXPECT_THAT(error_of<Error>([&] { replay(graph, {a}, {x}, {a * b}); }),
              HasSubstr("input \"mask\", which was not given"));
  EXPECT_THAT(error_of<ValueError>([&] {
                replay(graph, {a, b}, {x}, {a * b});
              }),
              HasSubstr("2 inputs was given 1"));
}

TEST(Replay, LimitsTheIndicesOfTheGraphItEmits) {
  Value ids = sketch_input("ids", {DType::int32, {7}});
  Value y = ops::gather(weight("table", {50, 8}), ids);
  EXPECT_EQ(y.shape(), Shape({-1, 7, 8}));
  Graph graph;
  replay(graph, {ids}, {graph.input("ids", {DType::int32, {4, 7}})}, {y});
  EXPECT_EQ(graph.inputs()[0].limit->limit, 50);
}

TEST(Gradients, AreNotForSketches) {
  Value x = image();
  EXPECT_THAT(error_of<Error>([&] { gradients(ops::mean(x), {x}); }),
              HasSubstr("not part of a graph"));
}

}  // namespace stoker
