// The graph as data: leaves, results, scopes, rewriting, copies and its text.
#include <stoker/ops.h>

#include "graph/tracing.h"

namespace stoker {

using namespace test;
using testing::HasSubstr;

TEST(Graph, RefusesInputsOfUnknownShape) {
  Graph graph;
  EXPECT_THAT(error_of([&] {
                f32(graph, {-1, 3}, "image");
              }),
              HasSubstr("graph input \"image\" needs a concrete shape"));
}

TEST(Graph, PutsNodesIntoTheScopeAndPhaseThatAreOpen) {
  Graph graph;
  Value x = f32(graph, {3});
  {
    Graph::Scope layer(graph, "stem");
    x = x + 1.0;
    Graph::Scope phase(graph, Phase::update);
    x = x + 1.0;
  }
  x = x + 1.0;
  const std::vector<Node>& nodes = graph.nodes();
  EXPECT_EQ(nodes[0].scope, "stem");
  EXPECT_EQ(nodes[0].phase, Phase::forward);
  EXPECT_EQ(nodes[1].scope, "stem");
  EXPECT_EQ(nodes[1].phase, Phase::update);
  EXPECT_EQ(nodes[2].scope, "");
  EXPECT_EQ(nodes[2].phase, Phase::forward);
}

TEST(Graph, AssignsAVariableOnce) {
  Graph graph;
  Variable w = weight("w", {3});
  Value x = f32(graph, {3});
  graph.assign(w, x);
  graph.assign(w, x + 1.0);
  ASSERT_EQ(graph.assignments().size(), 1U);
  EXPECT_EQ(graph.producer(graph.assignments()[0].value)->op->name, "binary");
  EXPECT_THAT(error_of([&] { graph.assign(w, f32(graph, {4})); }),
              HasSubstr("variable \"w\" holds float32[3]"));
}

TEST(Graph, GuardsAFloat32Scalar) {
  Graph graph;
  EXPECT_EQ(graph.guard(), -1);
  EXPECT_THAT(error_of([&] { graph.guard(f32(graph, {3})); }),
              HasSubstr("float32 scalar, got float32[3]"));
  graph.guard(ops::sum(f32(graph, {3})));
  EXPECT_GE(graph.guard(), 0);
}

TEST(Graph, RemembersTheTightestLimitOfAnIntegerInput) {
  Graph graph;
  Value ids = graph.input("ids", {DType::uint8, {6}});
  Value indices = ops::reshape(ops::cast(ids, DType::int32), {2, 3});
  ops::gather(weight("wide", {200, 4}), indices);
  ops::gather(weight("narrow", {100, 4}), indices);
  ops::gather(weight("wide", {200, 4}), indices);
  ASSERT_TRUE(graph.inputs()[0].limit.has_value());
  EXPECT_EQ(graph.inputs()[0].limit->limit, 100);
  EXPECT_EQ(graph.inputs()[0].limit->what, "embedding index");
}

TEST(Graph, LimitsClassIds) {
  Graph graph;
  Value labels = i64(graph, {8}, "labels");
  ops::sparse_softmax_cross_entropy(f32(graph, {8, 10}), labels);
  EXPECT_EQ(graph.inputs()[0].limit->limit, 10);
  EXPECT_EQ(graph.inputs()[0].limit->what, "class id");
}

TEST(Graph, DoesNotLimitWhatIsComputed) {
  Graph graph;
  Value labels = i64(graph, {8}, "labels");
  ops::sparse_softmax_cross_entropy(f32(graph, {8, 10}), labels * 2.0);
  EXPECT_FALSE(graph.inputs()[0].limit.has_value());
}

TEST(Graph, DropsWhatReachesNoResult) {
  Graph graph;
  Value x = f32(graph, {3});
  Value unused = ops::exp(x), kept = ops::log(x), guarded = ops::sum(ops::sqrt(x));
  ops::square(unused);
  graph.output(kept, "kept");
  graph.guard(guarded);
  EXPECT_EQ(graph.remove_dead_nodes(), 2);
  EXPECT_EQ(ops_of(graph), "unary, unary, reduce");
  EXPECT_EQ(graph.producer(unused.traced()->id), nullptr);
  EXPECT_EQ(graph.producer(kept.traced()->id), &graph.nodes()[0]);
  EXPECT_EQ(kept.shape(), Shape({3}));
  EXPECT_TRUE(can_run(graph));
}

TEST(Graph, ReplacesAValueEverywhereItIsRead) {
  Graph graph;
  Variable w = weight("w", {});
  Value x = f32(graph, {}), y = x + 1.0, z = y * y;
  graph.output(y, "y");
  graph.assign(w, y);
  graph.guard(y);
  EXPECT_EQ(graph.use_counts()[size_t(y.traced()->id)], 5);
  graph.replace_uses(y.traced()->id, x.traced()->id);
  EXPECT_EQ(graph.use_counts()[size_t(y.traced()->id)], 0);
  EXPECT_EQ(graph.producer(z.traced()->id)->inputs,
            std::vector<int>({x.traced()->id, x.traced()->id}));
  EXPECT_EQ(graph.outputs()[0].value, x.traced()->id);
  EXPECT_EQ(graph.assignments()[0].value, x.traced()->id);
  EXPECT_EQ(graph.guard(), x.traced()->id);
}

TEST(Graph, ClonesToTheSameIdsAndThenLivesItsOwnLife) {
  Graph graph;
  graph.set_training(true);
  graph.set_random_state(i64(graph, {2}, "state"));
  Value x = f32(graph, {3}) * weight("w", {3});
  graph.add_penalty(ops::sum(x));
  graph.output(x, "y");
  std::unique_ptr<Graph> copy = graph.clone();
  EXPECT_EQ(copy->dump(), graph.dump());
  EXPECT_TRUE(copy->training());
  EXPECT_EQ(copy->random_state().traced()->graph, copy.get());
  EXPECT_EQ(copy->penalties()[0].traced()->graph, copy.get());
  copy->value(x.traced()->id) + 1.0;
  EXPECT_EQ(copy->nodes().size(), graph.nodes().size() + 1);
}

TEST(Graph, PrintsOneLineANode) {
  Graph graph;
  Variable w("dense/kernel", Tensor::zeros({4, 2}));
  Value x = f32(graph, {8, 4});
  Graph::Scope scope(graph, "dense");
  Value y = ops::relu(ops::matmul(x, w));
  graph.output(y, "y");
  graph.assign(w, w * 2.0);
  EXPECT_EQ(
      graph.dump(),
      "%0 = input \"x\" : float32[8, 4]\n"
      "%4 = constant : float32[]\n"
      "%1 = variable \"dense/kernel\" : float32[4, 2]\n"
      "%2 = matmul(%0, %1) {transpose_a: false, transpose_b: false, activation: \"\", alpha: 0} "
      ": float32[8, 2]  "
      "# forward \"dense\"\n"
      "%3 = unary(%2) {fn: relu, alpha: 0, beta: 0} : float32[8, 2]  # forward \"dense\"\n"
      "%5 = binary(%1, %4) {fn: mul} : float32[4, 2]  # forward \"dense\"\n"
      "output \"y\" %3\n"
      "assign \"dense/kernel\" %5\n");
}

TEST(Cost, CountsAConvolutionsMultiplyAdds) {
  Graph graph;
  Value x = f32(graph, {32, 28, 28, 16});
  ops::conv2d(x, weight("w", {3, 3, 16, 64}));
  Cost cost = graph.cost(graph.nodes()[0]);
  EXPECT_EQ(cost.flops, 2.0 * 32 * 26 * 26 * 64 * 3 * 3 * 16);
  EXPECT_EQ(cost.bytes, 4.0 * (32 * 28 * 28 * 16 + 3 * 3 * 16 * 64 + 32 * 26 * 26 * 64));
}

TEST(Cost, OfBothConvolutionGradientsIsThatOfTheConvolution) {
  Graph graph;
  Variable w = weight("w", {3, 3, 8, 64});
  Value x = f32(graph, {4, 14, 14, 16});
  Value y = ops::conv2d(x, w, {.strides = {2, 2}, .groups = 2});
  gradients(ops::sum(y), Values{x, w});
  double forward = graph.cost(only(graph, "conv2d")).flops;
  EXPECT_EQ(graph.cost(only(graph, "conv2d_input_grad")).flops, forward);
  EXPECT_EQ(graph.cost(only(graph, "conv2d_weight_grad")).flops, forward);
}

TEST(Cost, OfASliceIsWhatItReadsNotTheWhole) {
  Graph graph;
  ops::slice(f32(graph, {8, 100}), {0, 40}, {8, 5});
  EXPECT_EQ(graph.cost(only(graph, "slice")).bytes, 2.0 * 4 * 8 * 5);
}

TEST(Cost, OfAPhaseIsTheSumOfItsNodes) {
  Graph graph;
  Variable w = weight("w", {16, 4});
  Value y = ops::matmul(f32(graph, {32, 16}), w);
  gradients(ops::sum(y), {w});
  EXPECT_EQ(graph.cost(Phase::forward).flops, 2.0 * 32 * 16 * 4 + 32 * 4);
  EXPECT_EQ(graph.cost(Phase::backward).flops, 2.0 * 32 * 16 * 4);
  EXPECT_EQ(graph.cost(Phase::update).flops, 0);
}

}  // namespace stoker
