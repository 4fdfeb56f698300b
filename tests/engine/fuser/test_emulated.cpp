// Generated sources, run on the host: what they compute is what the graph says, block by block and
// barrier by barrier.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "engine/fuser/host_kernels.h"
#include "engine/fuser/interpret.h"
#include "engine/fuser/random_moves.h"
#include "engine/reference/reference_backend.h"
#include "engine/run_graph.h"
#include "graph/passes/passes.h"
#include "support/draw.h"

namespace stoker::test {

namespace {

// A graph with inputs, whatever made it.
struct Emulated {
  std::string name;
  DType dtype;
  std::shared_ptr<const Graph> graph;
  std::vector<Tensor> inputs;
};

Emulated of_seed(uint64_t seed) {
  constexpr auto kTypes = std::to_array({DType::float32, DType::bfloat16, DType::float16});
  DType dtype = kTypes[seed % 3];
  auto moves = std::make_shared<RandomMoves>(
      seed,
      RandomMoves::Options{
          .dtype = dtype, .scale = seed % 4 == 0 ? 3 : 1, .gradients = dtype == DType::float32});
  passes::merge_duplicates(moves->graph);
  return {fmt::format("{}: {}", seed, moves->story), dtype,
          std::shared_ptr<const Graph>(moves, &moves->graph), moves->inputs};
}

Emulated of_ops(const char* name, DType dtype, const std::vector<Shape>& shapes,
                const std::function<Value(const Values&)>& build) {
  auto graph = std::make_shared<Graph>();
  Values values;
  std::vector<Tensor> inputs;
  for (const Shape& shape : shapes) {
    Rng rng(values.size());
    values.push_back(graph->input("x", {dtype, shape}));
    inputs.push_back(draw({dtype, shape}, {.low = -1, .high = 1}, rng));
  }
  graph->output(build(values), "y");
  return {name, dtype, graph, inputs};
}

// What each shape of code is for, with extents that leave something over.
std::vector<Emulated> shapes_of_code(DType dtype) {
  using V = const Values&;
  auto turned = [](const Value& x) { return ops::transpose(x, {0, 2, 1}); };
  auto one = [&](const char* name, const std::vector<Shape>& shapes,
                 const std::function<Value(V)>& build) {
    return of_ops(name, dtype, shapes, build);
  };
  return {
      one("columns", {{6000, 96}}, [](V v) { return ops::sum(v[0], {.axes = {0}}); }),
      one("odd columns", {{6001, 37}}, [](V v) { return ops::mean(v[0] * v[0], {.axes = {0}}); }),
      one("few columns", {{20000, 8}}, [](V v) { return ops::max(v[0], {.axes = {0}}); }),
      one("pooling", {{3, 900, 24}},
          [](V v) { return ops::sqrt(ops::mean(ops::square(v[0]), {.axes = {1}}) + 1.0); }),
      one("short rows", {{700, 64}}, [](V v) { return ops::max(v[0], {.axes = {1}}); }),
      one("odd rows", {{70, 1001}}, [](V v) { return ops::sum(v[0], {.axes = {1}}); }),
      one("few rows", {{3, 30000}}, [](V v) { return ops::sum(v[0], {.axes = {1}}); }),
      one("all", {{100003}}, [](V v) { return ops::min(v[0]); }),
      one("channels first", {{6, 5, 30, 28}},
          [](V v) {
            return ops::sum(v[0], {.axes = {0, 2, 3}});
          }),
      one("turned", {{2, 100, 132}}, [=](V v) { return turned(v[0]); }),
      one("turned, odd", {{2, 101, 67}, {2, 67, 101}}, [=](V v) { return turned(v[0]) * v[1]; }),
      one("turned padding", {{2, 40, 64}},
          [=](V v) {
            return turned(ops::pad(v[0], {0, 3, 0}, {0, 1, 0}, 0.5));
          }),
      one("odd map", {{10007}}, [](V v) { return ops::gelu(v[0] * 4.0); }),
      one("scales", {{50, 96}, {96}, {50, 1}}, [](V v) { return ops::silu(v[0] * v[1]) + v[2]; }),
  };
}

double allowed(DType dtype) {
  return dtype == DType::float32 ? 2e-5 : dtype == DType::float16 ? 1e-2 : 6e-2;
}

TEST(FuserEmulation, ComputesWhatTheGraphSays) {
  if (!HostKernels::usable()) GTEST_SKIP() << "there is no compiler c++ here";
  std::vector<Emulated> all;
  for (uint64_t seed = 500; seed < 515; ++seed) all.push_back(of_seed(seed));
  for (DType dtype : {DType::float32, DType::bfloat16})
    for (Emulated& each : shapes_of_code(dtype)) all.push_back(std::move(each));
  HostKernels kernels;
  for (const Emulated& each : all) {
    Readers readers(*each.graph);
    for (const fuser::FoundRegion& found : fuser::find_regions(readers, {.least_bytes = 0}))
      kernels.add(fuser::generate(*found.region));
  }
  EXPECT_GT(kernels.size(), 60U);
  ASSERT_EQ(kernels.compile(), "");
  auto run = [&](const fuser::Region& region, const std::vector<Tensor>& operands,
                 const TensorSpec& result) {
    return kernels.run(fuser::generate(region), operands, result);
  };
  for (const Emulated& each : all) {
    SCOPED_TRACE(each.name + " " + std::string(name(each.dtype)));
    std::vector<Tensor> expected = run_graph(*each.graph, each.inputs, reference_backend());
    FusedRun got = run_fused(*each.graph, each.inputs, {.least_bytes = 0}, run);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_LT(distance(got.outputs[i], expected[i]), allowed(each.dtype)) << "output " << i;
  }
}

}  // namespace

}  // namespace stoker::test
