// Rewrites: what they make of a graph, and that it still computes the same.
#include <stoker/ops.h>

#include "graph/passes/passes.h"
#include "graph/rewriting.h"
#include "graph/tracing.h"

namespace stoker {

using namespace test;
using passes::FusionReport;

FusionReport fuse_and_compare(Graph& graph) {
  std::vector<Tensor> before = run(graph);
  FusionReport report = passes::fuse(graph);
  EXPECT_TRUE(can_run(graph)) << graph.dump();
  expect_close(run(graph), before);
  return report;
}

// --- bias and activation
// ---------------------------------------------------------------------------------

TEST(Fusion, PutsBiasAndActivationIntoTheProduct) {
  Graph graph;
  Variable w = noisy("w", {4, 3}), b = noisy("b", {3});
  Value y = ops::relu(ops::matmul(f32(graph, {8, 4}), w) + b);
  differentiate(graph, ops::sum(y), {w, b});
  FusionReport report = fuse_and_compare(graph);
  EXPECT_EQ(report.bias, 1);
  EXPECT_EQ(report.activation, 1);
  const Node& product = graph.nodes()[0];
  EXPECT_EQ(product.op->name, "matmul");
  EXPECT_EQ(product.inputs.size(), 3U);
  EXPECT_EQ(product.attrs.get<std::string>("activation"), "relu");
  EXPECT_EQ(count(graph, "unary"), 0);
  EXPECT_EQ(count(graph, "unary_grad"), 1);
}

TEST(Fusion, TakesTheBiasFromEitherSideAndCarriesAlpha) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 2, 4}), b = noisy("b", {4});
  Value y = ops::leaky_relu(Value(b) + ops::conv2d(f32(graph, {2, 6, 6, 2}), w), 0.3);
  differentiate(graph, ops::sum(y), {w, b});
  FusionReport report = fuse_and_compare(graph);
  EXPECT_EQ(report.bias, 1);
  EXPECT_EQ(only(graph, "conv2d").attrs.get<double>("alpha"), 0.3);
}

TEST(Fusion, WaitsForABiasThatIsComputedAfterTheProduct) {
  Graph graph;
  Variable w = noisy("w", {4, 3}), b = noisy("b", {3});
  Value product = ops::matmul(f32(graph, {8, 4}), w);
  Value bias = ops::tanh(graph.variable(b));
  differentiate(graph, ops::sum(ops::sigmoid(product + bias)), {w, b});
  EXPECT_EQ(fuse_and_compare(graph).bias, 1);
}

TEST(Fusion, LeavesProductsThatOthersReadToo) {
  Graph graph;
  Variable w = noisy("w", {4, 3}), b = noisy("b", {3});
  Value product = ops::matmul(f32(graph, {8, 4}), w);
  graph.output(ops::relu(product + b), "y");
  graph.output(product, "product");
  EXPECT_EQ(fuse_and_compare(graph).bias, 0);

  Graph second;
  Value sum = ops::matmul(f32(second, {8, 4}), w) + b;
  second.output(ops::relu(sum), "y");
  second.output(ops::tanh(sum), "z");
  FusionReport report = fuse_and_compare(second);
  EXPECT_EQ(report.bias, 1);
  EXPECT_EQ(report.activation, 0);
}

TEST(Fusion, LeavesOperandsThatAreNoBias) {
  Graph graph;
  Variable w = noisy("w", {4, 3});
  Value x = f32(graph, {8, 4});
  graph.output(ops::matmul(x, w) + noisy("row", {1, 3}), "row");
  graph.output(ops::matmul(x, w) + noisy("scalar", {1}), "scalar");
  graph.output(ops::matmul(x, w) + ops::matmul(x, noisy("v", {4, 3})), "other product");
  graph.output(ops::matmul(x, w) - noisy("b", {3}), "difference");
  EXPECT_EQ(fuse_and_compare(graph).bias, 0);
}

TEST(Fusion, LeavesFunctionsWhoseGradientReadsTheirInput) {
  Graph graph;
  Variable w = noisy("w", {4, 3});
  differentiate(graph, ops::sum(ops::gelu(ops::matmul(f32(graph, {8, 4}), w))), {w});
  EXPECT_EQ(fuse_and_compare(graph).activation, 0);
}

TEST(Fusion, PutsAtMostOneFunctionIntoAProduct) {
  Graph graph;
  graph.output(ops::tanh(ops::relu(ops::matmul(f32(graph, {8, 4}), noisy("w", {4, 3})))), "y");
  EXPECT_EQ(fuse_and_compare(graph).activation, 1);
  EXPECT_EQ(ops_of(graph), "matmul, unary");
}

// --- batch norm
// ------------------------------------------------------------------------------------------

TEST(Fusion, PutsReluAndItsGradientIntoBatchNorm) {
  Graph graph;
  Variable gamma = noisy("gamma", {3}), beta = noisy("beta", {3}),
           moving("moving", Tensor::zeros({3}));
  Value x = f32(graph, {4, 5, 5, 3});
  auto [y, mean, variance] = ops::batch_norm(x, gamma, beta);
  // Read between the norm and its relu: the fused node must stay where it is.
  Value average = apply1("moving_average", {graph.variable(moving), mean}, {{"momentum", 0.9}});
  graph.output(average, "average");
  Value dx = gradients(ops::sum(ops::relu(y) * x), Values{x, gamma, beta})[0];
  graph.output(dx, "dx");
  FusionReport report = fuse_and_compare(graph);
  EXPECT_EQ(report.activation, 1);
  EXPECT_EQ(report.activation_gradient, 1);
  EXPECT_EQ(only(graph, "batch_norm").attrs.get<std::string>("activation"), "relu");
  const Node& gradient = only(graph, "batch_norm_grad");
  EXPECT_EQ(gradient.attrs.get<std::string>("activation"), "relu");
  EXPECT_EQ(gradient.inputs.size(), 6U);
  EXPECT_EQ(count(graph, "unary_grad"), 0);
}

TEST(Fusion, PutsOnlyReluIntoBatchNorm) {
  Graph graph;
  Value x = f32(graph, {4, 3});
  Variable gamma = noisy("gamma", {3}), beta = noisy("beta", {3});
  graph.output(ops::tanh(ops::batch_norm(x, gamma, beta).y), "tanh");
  Value fixed = ops::batch_norm_inference(x, gamma, beta, noisy("mean", {3}), Tensor::full({3}, 2));
  graph.output(ops::relu(fixed), "relu");
  EXPECT_EQ(fuse_and_compare(graph).activation, 1);
  EXPECT_EQ(only(graph, "batch_norm_inference").attrs.get<std::string>("activation"), "relu");
}

TEST(Fusion, LeavesReluGradientsOfASharedBatchNormOutput) {
  Graph graph;
  Variable gamma = noisy("gamma", {3}), beta = noisy("beta", {3});
  Value y = ops::batch_norm(f32(graph, {4, 3}), gamma, beta).y;
  differentiate(graph, ops::sum(ops::relu(y)) + ops::sum(ops::square(y)), {gamma, beta});
  FusionReport report = fuse_and_compare(graph);
  EXPECT_EQ(report.activation, 0);
  EXPECT_EQ(report.activation_gradient, 0);
}

// --- pooling and the bias gradient
// -------------------------------------------------------------------------

TEST(Fusion, PutsReluGradientIntoMaxPoolGradient) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 1, 4});
  Value x = f32(graph, {2, 8, 8, 1});
  differentiate(graph, ops::sum(ops::square(ops::max_pool2d(ops::relu(ops::conv2d(x, w))))), {w});
  FusionReport report = fuse_and_compare(graph);
  EXPECT_EQ(report.activation_gradient, 1);
  EXPECT_EQ(only(graph, "max_pool2d_grad").attrs.get<std::string>("activation"), "relu");
  EXPECT_EQ(only(graph, "unary_grad").attrs.get<std::string>("fn"), "square");
}

TEST(Fusion, LeavesPoolGradientsThatAreAddedToOthersFirst) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 1, 4});
  Value y = ops::relu(ops::conv2d(f32(graph, {2, 8, 8, 1}), w));
  differentiate(graph, ops::sum(ops::max_pool2d(y)) + ops::sum(ops::square(y)), {w});
  EXPECT_EQ(fuse_and_compare(graph).activation_gradient, 0);
}

TEST(Fusion, TakesTheBiasGradientFromTheWeightGradient) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 2, 4}), b = noisy("b", {4});
  Value y = ops::conv2d(f32(graph, {2, 6, 6, 2}), w) + b;
  differentiate(graph, ops::sum(ops::square(y)), {w, b});
  EXPECT_EQ(fuse_and_compare(graph).bias_gradient, 1);
  const Node& gradient = only(graph, "conv2d_weight_grad");
  EXPECT_TRUE(gradient.attrs.get<bool>("bias"));
  EXPECT_EQ(gradient.outputs.size(), 2U);
  EXPECT_EQ(count(graph, "reduce"), 1);  // the loss
}

// Of a plain 3×3 convolution.
Value weight_gradient(const Value& x, const Value& dy) {
  return apply1("conv2d_weight_grad", {x, dy},
                {{"strides", Ints{1, 1}},
                 {"pads", Ints{0, 0, 0, 0}},
                 {"dilation", Ints{1, 1}},
                 {"groups", int64_t(1)},
                 {"kernel", Ints{3, 3}},
                 {"bias", false}});
}

TEST(Fusion, ReordersWhatReadsABiasGradientBeforeTheWeightGradient) {
  Graph graph;
  Variable w = noisy("w", {3, 3, 2, 4});
  Value x = f32(graph, {2, 6, 6, 2}), dy = f32(graph, {2, 4, 4, 4});
  Value db = ops::sum(dy, {.axes = {0, 1, 2}});
  graph.output(ops::exp(db), "early reader");
  graph.output(weight_gradient(x, dy), "dw");
  EXPECT_EQ(fuse_and_compare(graph).bias_gradient, 1);
  EXPECT_EQ(ops_of(graph), "conv2d_weight_grad, unary");
}

TEST(Fusion, LeavesASumThatTheWeightGradientDependsOn) {
  Graph graph;
  Value x = f32(graph, {2, 6, 6, 4}), dy = f32(graph, {2, 4, 4, 4});
  Value scaled = x * ops::sum(dy, {.axes = {0, 1, 2}});
  graph.output(weight_gradient(scaled, dy), "dw");
  EXPECT_EQ(fuse_and_compare(graph).bias_gradient, 0);
}

TEST(Fusion, FindsEverythingInATrainingStep) {
  Graph graph;
  std::vector<Variable> variables = {noisy("w1", {3, 3, 1, 4}), noisy("b1", {4}),
                                     noisy("w2", {3, 3, 4, 4}), noisy("gamma", {4}),
                                     noisy("beta", {4}),        noisy("w3", {64, 3}),
                                     noisy("b3", {3})};
  Value x = f32(graph, {4, 14, 14, 1}), labels = i64(graph, {4});
  Value h = ops::max_pool2d(ops::relu(ops::conv2d(x, variables[0]) + variables[1]));
  h = ops::relu(ops::batch_norm(ops::conv2d(h, variables[2]), variables[3], variables[4]).y);
  Value logits = ops::matmul(ops::flatten(h), variables[5]) + variables[6];
  differentiate(graph, ops::mean(ops::sparse_softmax_cross_entropy(logits, labels)), variables);
  FusionReport report = fuse_and_compare(graph);
  EXPECT_EQ(report.bias, 2);
  EXPECT_EQ(report.activation, 2);
  EXPECT_EQ(report.bias_gradient, 1);
  EXPECT_EQ(report.activation_gradient, 2);

  FusionReport again = passes::fuse(graph);
  EXPECT_EQ(again.bias + again.activation + again.bias_gradient + again.activation_gradient, 0);
}

// --- duplicates
// --------------------------------------------------------------------------------------------

TEST(Duplicates, AreMergedWithAllThatFollows) {
  Graph graph;
  Value x = f32(graph, {3});
  graph.output(ops::exp(ops::square(x)) + ops::exp(ops::square(x)), "y");
  std::vector<Tensor> before = run(graph);
  EXPECT_EQ(passes::merge_duplicates(graph), 2);
  EXPECT_EQ(ops_of(graph), "unary, unary, binary");
  EXPECT_TRUE(can_run(graph));
  expect_close(run(graph), before);
}

TEST(Duplicates, DifferInNothing) {
  Graph graph;
  Value x = f32(graph, {3}), state = i64(graph, {2});
  graph.output(ops::dropout(x, state, 0.5, 0) + ops::dropout(x, state, 0.5, 1), "two streams");
  graph.output(ops::leaky_relu(x, 0.1) + ops::leaky_relu(x, 0.2), "two slopes");
  graph.output(x - ops::exp(x), "a");
  graph.output(ops::exp(x) - x, "b");
  EXPECT_EQ(passes::merge_duplicates(graph), 1);  // exp
}

}  // namespace stoker
