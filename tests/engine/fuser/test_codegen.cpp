// Generated sources compile, without a GPU, and stay the same.
#include "engine/cuda/fuser/codegen.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include <stoker/ops.h>

#include "engine/cuda/fuser/find_regions.h"
#include "engine/cuda/fuser/nvrtc.h"
#include "engine/fuser/random_moves.h"
#include "engine/fuser/typical_blocks.h"
#include "graph/passes/passes.h"
#include "graph/unary.h"

namespace stoker::test {

namespace {

using fuser::GeneratedKernel;
using fuser::Nvrtc;

std::vector<GeneratedKernel> kernels_of(const Graph& graph, double least_bytes) {
  Readers readers(graph);
  std::vector<GeneratedKernel> kernels;
  for (const fuser::FoundRegion& each : fuser::find_regions(readers, {.least_bytes = least_bytes}))
    kernels.push_back(fuser::generate(*each.region));
  return kernels;
}

// Compiles kernels together: the compiler's start takes longer than most of them.
void expect_compiles(const std::vector<GeneratedKernel>& kernels) {
  const Nvrtc* compiler = Nvrtc::get();
  std::string all;
  std::set<std::string> names;
  for (const GeneratedKernel& kernel : kernels)
    if (names.insert(kernel.name).second) all += kernel.source;
  ASSERT_NO_THROW(EXPECT_GT(compiler->compile(all, 90).size(), 0U));
}

class FuserCode : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Nvrtc::get() == nullptr) GTEST_SKIP() << "there is no libnvrtc here";
  }
};

TEST_F(FuserCode, CompilesForRandomGraphs) {
  std::vector<GeneratedKernel> kernels;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    RandomMoves moves(seed, {.dtype = seed % 2 == 0 ? DType::bfloat16 : DType::float16});
    passes::merge_duplicates(moves.graph);
    for (GeneratedKernel& kernel : kernels_of(moves.graph, 0)) kernels.push_back(kernel);
  }
  EXPECT_GT(kernels.size(), 10U);
  expect_compiles(kernels);
}

TEST_F(FuserCode, CompilesForTheBlocksOfUsualNetworks) {
  for (const TypicalBlock& block : typical_blocks()) {
    SCOPED_TRACE(block.name);
    Graph graph;
    block.build(graph, DType::bfloat16);
    passes::merge_duplicates(graph);
    passes::fuse(graph);
    std::vector<GeneratedKernel> kernels = kernels_of(graph, 1 << 20);
    EXPECT_GT(kernels.size(), 0U);
    expect_compiles(kernels);
  }
}

TEST_F(FuserCode, CompilesForEveryElementTypeAndFunction) {
  std::vector<GeneratedKernel> kernels;
  Graph graph;
  constexpr auto kTypes =
      std::to_array<DType>({DType::float32, DType::float16, DType::bfloat16, DType::int8,
                            DType::int16, DType::int32, DType::int64, DType::uint8, DType::bool_});
  for (DType dtype : kTypes) {
    Value x = graph.input("x", {dtype, {512, 8}});
    // From every type through this one back to the first.
    Value through = ops::cast(x, DType::float32);
    for (DType to : kTypes) through = ops::cast(ops::cast(through, to), dtype);
    graph.output(ops::pad(through, {1, 0}, {0, 3}, 1), "padded");
    if (dtype == DType::int32 || dtype == DType::int64) {
      graph.output(ops::sum(x / x + ops::maximum(x, x * x), {.axes = {1}}), "sum");
      graph.output(ops::min(x, {.axes = {0}}), "min");
      graph.output(ops::max(x, {.axes = {1}}), "max");
      graph.output(ops::prod(x, {.axes = {0}}), "prod");
    }
  }
  Value x = graph.input("x", {DType::float16, {512, 8}});
  for (const UnaryInfo& info : unary_functions()) {
    Attrs attrs = {{"fn", std::string(info.name)}, {"alpha", 1.0}, {"beta", 2.0}};
    x = apply1("unary_grad", {apply1("unary", {x}, attrs), x}, attrs);
  }
  graph.output(x, "functions");
  graph.output(ops::sigmoid_cross_entropy(x, x), "loss");
  graph.output(ops::pow(x, x), "pow");
  expect_compiles(kernels_of(graph, 0));
}

TEST_F(FuserCode, SaysWhatIsWrongWithASource) {
  try {
    Nvrtc::get()->compile("not C++", 90);
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("not C++"), std::string::npos) << error.what();
  }
}

TEST(FuserCodegen, NamesEqualRegionsAlike) {
  auto kernel = [](int64_t channels) {
    Graph graph;
    graph.output(ops::silu(graph.input("x", {DType::bfloat16, {64, channels}})), "y");
    return kernels_of(graph, 0).at(0);
  };
  EXPECT_EQ(kernel(32).name, kernel(32).name);
  EXPECT_NE(kernel(32).name, kernel(48).name);
}

TEST(FuserCodegen, LoadsSixteenBytesWhereNumbersLieSideBySide) {
  Graph graph;
  Value x = graph.input("x", {DType::bfloat16, {64, 32}});
  graph.output(x * graph.input("scale", {DType::bfloat16, {32}}), "y");
  std::string source = kernels_of(graph, 0).at(0).source;
  EXPECT_NE(source.find("load<Bfloat, 8>(p0"), std::string::npos) << source;
  EXPECT_NE(source.find("load<Bfloat, 8>(p1"), std::string::npos) << source;
}

TEST(FuserCodegen, DividesAColumnsRowsAmongBlocksInAFixedWay) {
  Graph graph;
  Value x = graph.input("x", {DType::bfloat16, {100000, 96}});
  graph.output(ops::sum(x, {.axes = {0}}), "y");
  GeneratedKernel kernel = kernels_of(graph, 0).at(0);
  EXPECT_GT(kernel.grid_y, 1U);
  EXPECT_GT(kernel.partial_bytes, 0U);
  EXPECT_EQ(kernel.source.find("atomicAdd"), std::string::npos);
}

}  // namespace

}  // namespace stoker::test
