// Which nodes become regions, and that regions compute what their nodes do.
#include <gtest/gtest.h>

#include <algorithm>

#include <stoker/ops.h>

#include "engine/fuser/interpret.h"
#include "engine/fuser/random_moves.h"
#include "engine/run_graph.h"
#include "graph/emit.h"
#include "graph/passes/passes.h"
#include "support/run_op.h"

namespace stoker::test {

namespace {

using fuser::FoundRegion;
using fuser::RegionOptions;

constexpr uint64_t kGraphs = 400;

TEST(FuserRegions, ComputeWhatTheirNodesDoForwardAndBackward) {
  size_t regions = 0, inlined = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    RandomMoves moves(seed);
    SCOPED_TRACE(std::to_string(seed) + ": " + moves.story);
    passes::merge_duplicates(moves.graph);
    std::vector<Tensor> expected = run_graph(moves.graph, moves.inputs, exact_reference());
    FusedRun got = run_fused(moves.graph, moves.inputs, {.least_bytes = 0});
    regions += got.regions;
    inlined += got.inlined;
    for (size_t i = 0; i < expected.size(); ++i) {
      double allowed = 1e-5 * std::max(1.0, largest(expected[i]));
      for (int64_t at = 0; at < expected[i].elements(); ++at)
        ASSERT_NEAR(got.outputs[i].at(at), expected[i].at(at), allowed) << "output " << i;
    }
  }
  EXPECT_GT(regions, kGraphs);
  EXPECT_GT(inlined, 4 * kGraphs);
}

// The regions of a graph, and a node's name for each of their nodes.
std::vector<FoundRegion> regions_of(const Graph& graph, double least_bytes = 0) {
  Readers readers(graph);
  return fuser::find_regions(readers, {.least_bytes = least_bytes});
}

Value image(Graph& graph, const char* name, const Shape& shape) {
  return graph.input(name, {DType::bfloat16, shape});
}

TEST(FuserRegions, TakeAChainAsOne) {
  Graph graph;
  Value x = image(graph, "x", {8, 64});
  graph.output(ops::silu(x) * x + 1.0, "y");
  std::vector<FoundRegion> found = regions_of(graph);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].region->operands.size(), 1U) << "constants are part of the code";
}

TEST(FuserRegions, LeaveSmallWorkAlone) {
  Graph graph;
  graph.output(ops::silu(image(graph, "x", {8, 64})), "y");
  EXPECT_TRUE(regions_of(graph, 1 << 20).empty());
}

TEST(FuserRegions, ReadASliceInPlace) {
  Graph graph;
  Value x = image(graph, "x", {4, 8, 8, 32});
  graph.output(ops::relu(ops::slice(x, {0, 0, 0, 16}, {4, 8, 8, 16})), "y");
  std::vector<FoundRegion> found = regions_of(graph);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].region->operands[0].value, x.traced()->id);
  EXPECT_EQ(found[0].region->bytes, 2.0 * 2 * 4 * 8 * 8 * 16) << "half of x, and the result";
}

TEST(FuserRegions, WriteAConcatenationOfWhatTheyComputeAtOnce) {
  Graph graph;
  Value a = image(graph, "a", {4, 8, 8, 16}), b = image(graph, "b", {4, 8, 8, 16});
  graph.output(ops::concatenate({ops::silu(a), ops::tanh(b)}), "y");
  EXPECT_EQ(regions_of(graph).size(), 1U);
}

TEST(FuserRegions, ReduceWhatTheyCompute) {
  Graph graph;
  Value x = image(graph, "x", {64, 32}), dy = image(graph, "dy", {64, 32});
  graph.output(ops::sum(x * dy, {.axes = {0}}), "gradient");
  std::vector<FoundRegion> found = regions_of(graph);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].region->reduction, fuser::Reduction::sum);
  EXPECT_EQ(found[0].region->kept, 32);
  EXPECT_EQ(found[0].region->gone, 64);
}

TEST(FuserRegions, GoOnBehindAReductionElementByElement) {
  Graph graph;
  Value x = image(graph, "x", {64, 32});
  graph.output(ops::sqrt(ops::mean(ops::square(x), {.axes = {0}}) + 1.0), "norm");
  EXPECT_EQ(regions_of(graph).size(), 1U);
}

TEST(FuserRegions, WriteWhatTwoNodesNeedWhenComputingItTwiceMovesMore) {
  Graph graph;
  Value sum = image(graph, "a", {8, 64});
  for (const char* name : {"b", "c", "d", "e"}) sum = sum + image(graph, name, {8, 64});
  graph.output(ops::relu(sum), "relu");
  graph.output(ops::tanh(sum), "tanh");
  EXPECT_EQ(regions_of(graph).size(), 3U);
}

TEST(FuserRegions, ComputeACheapValueTwiceWhenThatMovesLess) {
  Graph graph;
  Value x = image(graph, "x", {8, 64});
  Value shared = x * 2.0;
  graph.output(ops::relu(shared), "relu");
  graph.output(ops::transpose(shared, {1, 0}), "turned");
  std::vector<FoundRegion> found = regions_of(graph);
  ASSERT_EQ(found.size(), 2U);
  for (const FoundRegion& each : found)
    EXPECT_TRUE(std::ranges::any_of(each.region->scalars, [](const fuser::Scalar& scalar) {
      return scalar.operation == fuser::Operation::round;
    })) << "both must see the bits that memory would have held";
}

TEST(FuserRegions, DoNotComputeAnExpensiveValueForEveryCopyOfIt) {
  Graph graph;
  Value row = image(graph, "row", {64}), x = image(graph, "x", {512, 64});
  graph.output(x * ops::gelu(row), "y");
  EXPECT_EQ(regions_of(graph).size(), 2U);
}

}  // namespace

}  // namespace stoker::test
