// The GPU engine's special cases, by structure: no GPU is needed. What they compute is compared
// with the reference in test_classifiers and test_residual_tower.
#include "engine/cuda/special/special.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include <stoker/attention.h>
#include <stoker/ops.h>

#include "engine/cuda/fusion.h"
#include "engine/networks.h"
#include "engine/residual_tower.h"
#include "graph/passes/passes.h"

namespace stoker::test {

namespace {

using cuda::Fusion;
using cuda::Special;

// Convolution over one channel, bias, relu, 2×2 pooling; dense layer, cross-entropy; Adam.
void digits(Graph& graph, bool keeps_unpooled = false) {
  Value x = graph.input("x", {DType::float32, {4, 12, 12, 1}});
  Value labels = graph.input("y", {DType::int64, {4}});
  std::vector<Variable> parameters = {{"w", Tensor::full({3, 3, 1, 8}, 0.1)},
                                      {"b", Tensor::zeros({8})},
                                      {"dense", Tensor::full({200, 10}, 0.1)},
                                      {"bias", Tensor::zeros({10})}};
  Value image = ops::relu(ops::conv2d(x, parameters[0]) + Value(parameters[1]));
  if (keeps_unpooled) graph.output(image, "unpooled");
  Value flat = ops::flatten(ops::max_pool2d(image));
  Value logits = ops::matmul(flat, parameters[2]) + Value(parameters[3]);
  Value loss = ops::mean(ops::sparse_softmax_cross_entropy(logits, labels));
  graph.output(loss, "loss");
  add_adam(graph, parameters, gradients(loss, parameters), {});
}

void dense_layer(Graph& graph) {
  Value x = graph.input("x", {DType::float32, {16, 64}});
  Variable w("w", Tensor::zeros({64, 10})), b("b", Tensor::zeros({10}));
  graph.output(ops::relu(ops::matmul(x, w) + Value(b)), "y");
}

struct Found {
  std::unique_ptr<Graph> graph;
  Fusion fusion;
};

// What one special case finds in a graph that went through the passes before it.
Found find(const Special& special, std::unique_ptr<Graph> graph) {
  passes::merge_duplicates(*graph);
  passes::fold_padding(*graph);
  passes::fuse(*graph);
  if (special.order != nullptr) special.order(*graph);
  size_t nodes = graph->nodes().size();
  Fusion fusion{.into = std::vector<int>(nodes, -1),
                .tails = std::vector<std::optional<Fusion::NormTail>>(nodes),
                .joins = std::vector<std::optional<Fusion::Join>>(nodes),
                .special = {}};
  special.match(Readers(*graph), fusion);
  return {std::move(graph), std::move(fusion)};
}

const Special& named(std::string_view name) {
  for (const Special& special : cuda::specials())
    if (special.name == name) return special;
  throw Error("there is no such special case");
}

std::unique_ptr<Graph> tower_graph() { return ResidualTower({}, 1).graph.clone(); }
std::unique_ptr<Graph> digits_graph() {
  auto graph = std::make_unique<Graph>();
  digits(*graph);
  return graph;
}
std::unique_ptr<Graph> dense_graph() {
  auto graph = std::make_unique<Graph>();
  dense_layer(*graph);
  return graph;
}

// Query, key and value as slices of one product, which all get gradients.
std::unique_ptr<Graph> packed_heads(bool reads_more) {
  auto graph = std::make_unique<Graph>();
  Value x = graph->input("x", {DType::float32, {2, 5, 48}});
  Variable w("w", Tensor::full({48, 72}, 0.1));
  Values heads = ops::split(ops::reshape(ops::matmul(x, w), {2, 5, 9, 8}), 3, 2);
  Value out = ops::dot_product_attention(heads[0], heads[1], heads[2]);
  Value loss = ops::sum(out) + (reads_more ? ops::sum(heads[1]) : ops::sum(x));
  graph->output(gradients(loss, {w})[0], "dw");
  return graph;
}
// A large product with a bias and a residual.
std::unique_ptr<Graph> residual_graph() {
  auto graph = std::make_unique<Graph>();
  TensorSpec square{DType::bfloat16, {1024, 1024}};
  Value x = graph->input("x", square), w = graph->input("w", square);
  Value bias = graph->input("bias", {DType::bfloat16, {1024}});
  graph->output(ops::matmul(x, w) + bias + x, "y");
  return graph;
}
std::unique_ptr<Graph> packed_graph() { return packed_heads(false); }

}  // namespace

TEST(CudaSpecial, EveryCaseIsFoundInTheNetworkItIsFor) {
  const std::map<std::string_view, std::unique_ptr<Graph> (*)()> networks = {
      {"norm_pool", tower_graph},      {"stem", digits_graph},
      {"head", digits_graph},          {"narrow_gradient", digits_graph},
      {"narrow_product", dense_graph}, {"packed_heads", packed_graph},
      {"sums", residual_graph},
  };
  for (const Special& special : cuda::specials()) {
    ASSERT_TRUE(networks.contains(special.name)) << special.name << " has no network here";
    Found found = find(special, networks.at(special.name)());
    EXPECT_FALSE(found.fusion.special.empty()) << special.name;
  }
}

TEST(CudaSpecial, NoCaseIsFoundInANetworkWithoutIt) {
  for (const Special& special : cuda::specials()) {
    auto graph = std::make_unique<Graph>();
    graph->output(ops::exp(graph->input("x", {DType::float32, {4, 4}})), "y");
    EXPECT_TRUE(find(special, std::move(graph)).fusion.special.empty()) << special.name;
  }
}

TEST(CudaSpecial, AStemTakesTheOptimisersStepToo) {
  Found found = find(named("stem"), digits_graph());
  int updates = 0;
  for (const auto& [node, special] : found.fusion.special) {
    EXPECT_GE(special->includes(), 0);
    int into = found.fusion.into[size_t(node)];
    updates += into >= 0 && found.graph->nodes()[size_t(into)].traits().updates_variables;
  }
  EXPECT_EQ(found.fusion.special.size(), 2U) << "forwards and backwards";
  EXPECT_EQ(updates, 1);
}

TEST(CudaSpecial, AStemIsLeftAloneWhereTheUnpooledImageIsAnOutput) {
  auto graph = std::make_unique<Graph>();
  digits(*graph, true);
  EXPECT_TRUE(find(named("stem"), std::move(graph)).fusion.special.empty());
}

TEST(CudaSpecial, TheMaximaOfANormalizedImageAreTakenWithoutWritingIt) {
  for (int64_t window : {2, 3}) {
    Found found = find(named("norm_pool"), ResidualTower({.window = window}, 1).graph.clone());
    int pools = 0;
    for (const auto& [node, special] : found.fusion.special)
      if (found.graph->nodes()[size_t(node)].is("max_pool2d")) {
        ++pools;
        const Node& norm = found.graph->nodes()[size_t(special->normalizes())];
        EXPECT_EQ(norm.attrs.get<std::string>("activation"), "relu");
        EXPECT_TRUE(found.fusion.is_normalized_later(special->normalizes()));
      }
    EXPECT_EQ(pools, 1);
  }
}

TEST(CudaSpecial, TheGradientOfTheMaximaComesFromTheSmallImage) {
  Found found = find(named("norm_pool"), tower_graph());
  const std::vector<Node>& nodes = found.graph->nodes();
  int pooled = 0, sums = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!found.fusion.is_inlined(int(i))) continue;
    EXPECT_TRUE(nodes[size_t(found.fusion.into[i])].is("batch_norm_grad"));
    pooled += nodes[i].is("max_pool2d_grad");
    sums += nodes[i].is("binary", "add");
  }
  EXPECT_EQ(pooled, 1);
  EXPECT_EQ(sums, 1) << "the block and its shortcut both send a gradient back";
}

TEST(CudaSpecial, AttentionReadsSlicesOfOneProductWhereTheyLie) {
  Found found = find(named("packed_heads"), packed_graph());
  int slices = 0, concats = 0;
  for (size_t i = 0; i < found.graph->nodes().size(); ++i) {
    const Node& node = found.graph->nodes()[i];
    if (!node.is("slice") && !node.is("concat")) continue;
    EXPECT_TRUE(found.fusion.is_inlined(int(i)));
    slices += node.is("slice");
    concats += node.is("concat");
  }
  EXPECT_EQ(found.fusion.special.size(), 2U) << "forwards and backwards";
  EXPECT_EQ(slices, 3);
  EXPECT_EQ(concats, 1);
}

TEST(CudaSpecial, SlicesThatOthersReadAreMade) {
  Found found = find(named("packed_heads"), packed_heads(true));
  EXPECT_TRUE(found.fusion.special.empty());
}

TEST(CudaSpecial, CasesOfSingleNodesAreFoundWhereNodesKeepTheirOrder) {
  std::unique_ptr<Graph> graph = digits_graph();
  Fusion fusion = cuda::no_fusion(*graph);
  EXPECT_FALSE(fusion.special.empty());
  for (int into : fusion.into) EXPECT_EQ(into, -1);
}

}  // namespace stoker::test
