// Every node's work is counted once, however engines join nodes.
#include <gtest/gtest.h>

#include "engine/device_test.h"
#include "engine/kernel_costs.h"
#include "engine/kernel_work.h"
#include "engine/networks.h"
#include "engine/residual_tower.h"

namespace stoker::test {

namespace {

constexpr double kMatmul = 2 * 4 * 5 * 6;

// matmul → add → relu, and what each costs alone.
struct Chain {
  Graph graph;
  std::vector<double> flops, bytes;
  std::vector<int> into = {-1, -1, -1};

  Chain() {
    Value x = graph.input("x", {DType::float32, {4, 5}}),
          w = graph.input("w", {DType::float32, {5, 6}}),
          c = graph.input("c", {DType::float32, {6}});
    graph.output(ops::relu(ops::matmul(x, w) + c), "y");
    for (const Node& node : graph.nodes()) {
      flops.push_back(graph.cost(node).flops);
      bytes.push_back(graph.cost(node).bytes);
    }
  }
  int result(int node) const { return graph.nodes()[size_t(node)].outputs[0]; }
};

TEST(KernelCosts, AreThoseOfTheNodeThatAKernelStandsFor) {
  Chain chain;
  ASSERT_EQ(chain.flops.size(), 3U);
  std::vector<KernelWork> kernels;
  for (int i = 0; i < 3; ++i)
    kernels.push_back({.node = i, .is_node = true, .results = {chain.result(i)}, .bytes = 7});
  std::vector<Cost> costs = costs_of(chain.graph, chain.into, kernels);
  EXPECT_EQ(costs[0].flops, kMatmul);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(costs[i].flops, chain.flops[i]);
    EXPECT_EQ(costs[i].bytes, chain.bytes[i]);
  }
}

TEST(KernelCosts, OfAKernelThatDoesSeveralNodesAreTheirWorkAndItsOwnBuffers) {
  Chain chain;
  chain.into = {1, 2, -1};
  std::vector<KernelWork> kernels = {
      {.node = 2, .is_node = true, .results = {chain.result(2)}, .bytes = 7}};
  std::vector<Cost> costs = costs_of(chain.graph, chain.into, kernels);
  EXPECT_EQ(costs[0].flops, chain.flops[0] + chain.flops[1] + chain.flops[2]);
  EXPECT_EQ(costs[0].bytes, 7);
}

TEST(KernelCosts, CountANodeOnceWhereItTakesSeveralKernels) {
  Chain chain;
  std::vector<KernelWork> kernels = {{.node = 0, .is_node = true, .bytes = 7},
                                     {.node = 0, .is_node = true, .bytes = 7},
                                     {.node = 0, .is_node = false, .bytes = 9}};
  std::vector<Cost> costs = costs_of(chain.graph, chain.into, kernels);
  EXPECT_EQ(costs[0].flops, kMatmul);
  EXPECT_EQ(costs[0].bytes, chain.bytes[0]);
  EXPECT_EQ(costs[1].flops + costs[1].bytes, 0);
  EXPECT_EQ(costs[2].flops, 0) << "an op of the engine's own";
  EXPECT_EQ(costs[2].bytes, 9);
}

TEST(KernelCosts, FindWhoMadeTheResultsOfANodeThatWasNeverBuilt) {
  Chain chain;
  std::vector<KernelWork> kernels = {
      {.node = 0, .is_node = false, .results = {chain.result(0), chain.result(2)}, .bytes = 7}};
  std::vector<Cost> costs = costs_of(chain.graph, chain.into, kernels);
  EXPECT_EQ(costs[0].flops, chain.flops[0] + chain.flops[2]) << "nobody did the one between them";
}

TEST(KernelCosts, FallBackToTheLastKernelThatWasBuiltForANode) {
  Chain chain;
  std::vector<KernelWork> kernels = {{.node = 1, .bytes = 7}, {.node = 1, .bytes = 8}};
  std::vector<Cost> costs = costs_of(chain.graph, chain.into, kernels);
  EXPECT_EQ(costs[0].flops, 0);
  EXPECT_EQ(costs[1].flops, chain.flops[1]);
}

class KernelWorkTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, KernelWorkTest, ::testing::ValuesIn(device_names()), device_name);

TEST_P(KernelWorkTest, IsThatOfTheGraphForACnn) { expect_all_work(small_cnn()->graph, device()); }

TEST_P(KernelWorkTest, IsThatOfTheGraphForAResidualNetwork) {
  expect_all_work(residual_network()->graph, device());
}

TEST_P(KernelWorkTest, IsThatOfTheGraphForAResidualTower) {
  expect_all_work(ResidualTower({}, 1).graph, device());
}

}  // namespace

}  // namespace stoker::test
