// How the GPU engine runs recurrent layers; small ones are compared with the reference in test_ops.
#include <gtest/gtest.h>

#include <algorithm>

#include <stoker/ops.h>
#include <stoker/random.h>

#include "engine/registry.h"
#include "graph/graph.h"
#include "support/op_checks.h"

namespace stoker::test {

namespace {

struct Layer {
  std::string cell = "lstm";
  DType dtype = DType::bfloat16;
  int64_t batch = 4, length = 6, units = 64;
  bool masked = false;
};

// A layer's outputs and the gradients of all its weights.
struct RecurrentProgram {
  Graph graph;
  std::vector<Tensor> inputs;
  std::unique_ptr<Program> program;

  explicit RecurrentProgram(const Layer& layer, const CompileOptions& options = {}) {
    int64_t gates = layer.cell == "lstm" ? 4 : 3, columns = gates * layer.units;
    Shape bias = layer.cell == "gru" ? Shape{2, columns} : Shape{columns};
    Values all = {add(layer.dtype, {layer.batch, layer.length, 8}), add(layer.dtype, {8, columns}),
                  add(layer.dtype, {layer.units, columns}), add(layer.dtype, bias)};
    Values states(layer.cell == "lstm" ? 2 : 1, add(layer.dtype, {layer.batch, layer.units}));
    Value mask;
    if (layer.masked) mask = add(DType::float32, {layer.batch, layer.length}) > 0.0;
    Value y =
        ops::recurrent(all[0], all[1], all[2], all[3], states, mask, {.cell = layer.cell}).outputs;
    graph.output(y, "y");
    for (const Value& gradient : gradients(ops::sum(y * y), all)) graph.output(gradient, "d");
    program = backend("cuda").compile(graph, options);
  }

  Value add(DType dtype, const Shape& shape) {
    Rng rng(inputs.size() + 1);
    Tensor numbers(DType::float32, shape);
    for (float& each : std::span(numbers.data_mut<float>(), size_t(numbers.elements())))
      each = float(rng.uniform(-0.2, 0.2));
    inputs.push_back(numbers.cast(dtype));
    return graph.input("x", inputs.back().spec());
  }

  std::vector<Tensor> run() {
    program->run(inputs);
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < graph.outputs().size(); ++i) outputs.push_back(program->output(i));
    return outputs;
  }

  int64_t count(const std::string& kernel) const {
    return std::ranges::count(program->kernels(), kernel, &KernelInfo::kernel);
  }
};

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::equal(static_cast<const char*>(a.raw()),
                    static_cast<const char*>(a.raw()) + a.bytes(),
                    static_cast<const char*>(b.raw()));
}

class GpuRecurrent : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_usable("cuda")) GTEST_SKIP() << "no GPU";
  }
};

TEST_F(GpuRecurrent, TakesOneKernelPerPassForSixteenBits) {
  if (RecurrentProgram({}).count("own:recurrent") == 0)
    GTEST_SKIP() << "this device has no clusters of blocks";
  for (std::string cell : {"lstm", "gru"})
    for (DType dtype : {DType::float16, DType::bfloat16})
      for (bool masked : {false, true})
        EXPECT_EQ(RecurrentProgram({.cell = cell, .dtype = dtype, .masked = masked})
                      .count("own:recurrent"),
                  2);
}

TEST_F(GpuRecurrent, TakesAnotherWayWhereItDoesNotFit) {
  EXPECT_EQ(RecurrentProgram({.dtype = DType::float32}).count("own:recurrent"), 0);
  RecurrentProgram wide({.units = 520});
  EXPECT_EQ(wide.count("own:recurrent"), 0);
  EXPECT_EQ(wide.count("cudnn:recurrent"), 2);
}

TEST_F(GpuRecurrent, MatchesTheReferenceForEveryNumberOfBlocks) {
  for (const auto& [op, cases] : large_recurrent_cases())
    for (const OpCase& each : cases.good)
      for (DType dtype : {DType::float16, DType::bfloat16})
        EXPECT_EQ(compare_with_reference(backend("cuda"), op, each, dtype, 1), "")
            << op << " " << each.name << ", " << name(dtype);
}

// Issued and captured, with one block, eight and sixteen, whose clusters have two tiles.
TEST_F(GpuRecurrent, GivesTheSameBitsInEveryRun) {
  for (std::string cell : {"lstm", "gru"})
    for (int64_t units : {32, 200, 512}) {
      SCOPED_TRACE(cell + " of " + std::to_string(units) + " units");
      Layer layer{.cell = cell, .batch = 60, .length = 20, .units = units, .masked = true};
      CompileOptions one_by_one;
      one_by_one.capture = false;
      RecurrentProgram captured(layer), issued(layer, one_by_one);
      std::vector<Tensor> first = captured.run();
      for (int run = 0; run < 3; ++run) {
        std::vector<Tensor> again = captured.run(), other = issued.run();
        for (size_t i = 0; i < first.size(); ++i) {
          EXPECT_TRUE(same_bits(first[i], again[i])) << "output " << i;
          EXPECT_TRUE(same_bits(first[i], other[i])) << "output " << i;
        }
      }
    }
}

}  // namespace

}  // namespace stoker::test
