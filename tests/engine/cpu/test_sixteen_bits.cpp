// 16-bit floats in the CPU engine: what is multiplied as bfloat16, what is widened, and that both give
// the reference's numbers and the same bits however they run.
#include <gtest/gtest.h>

#include <algorithm>

#include <stoker/stoker.h>

#include "engine/cpu/sixteen_bits.h"
#include "engine/cpu/team.h"
#include "engine/run_graph.h"
#include "graph/graph.h"
#include "support/cpu_bfloat16.h"
#include "support/op_checks.h"
#include "support/run_op.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

class Bfloat16Products : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { STOKER_SKIP_UNDER_TSAN(); }
};

TEST_P(Bfloat16Products, MatchTheReference) {
  STOKER_WITH_CPU_BFLOAT16();
  const OpDef& op = OpRegistry::get().find(GetParam());
  for (const OpCase& op_case : op_cases().at(op.name).good)
    EXPECT_EQ(
        compare_with_reference(backend("cpu"), op.name, op_case, DType::bfloat16, fresh_seed()), "")
        << op_case.name << ", again with STOKER_TEST_SEED=" << fresh_seed();
}

INSTANTIATE_TEST_SUITE_P(Ops, Bfloat16Products,
                         ::testing::Values("conv2d", "conv2d_input_grad", "conv2d_transpose",
                                           "conv2d_weight_grad", "matmul", "recurrent",
                                           "recurrent_grad", "attention", "attention_grad"));

// A block of a network with its gradients: convolution, norm, pooling, product.
struct MixedNetwork {
  Graph graph;
  std::vector<Tensor> inputs;

  explicit MixedNetwork(DType dtype, int64_t batch = 4) {
    graph.set_compute_dtype(dtype);
    graph.set_training(true);
    Graph::Scope scope(graph, "network");
    auto drawn = [&](const Shape& shape, uint64_t seed) {
      Tensor tensor(DType::float32, shape);
      Rng rng(seed);
      for (float& value : std::span(tensor.data_mut<float>(), size_t(tensor.elements())))
        value = 0.3F * rng.normal();
      return tensor;
    };
    inputs = {drawn({batch, 14, 14, 16}, 1)};
    Value x = graph.input("x", inputs[0].spec());
    Variable kernel("kernel", drawn({3, 3, 16, 32}, 2)), bias("bias", drawn({32}, 3)),
        weights("weights", drawn({32, 24}, 4));
    Value y = ops::relu(ops::conv2d(x, kernel) + Value(bias));
    Value features = ops::mean(y, {.axes = {1, 2}});
    Value result = ops::tanh(ops::matmul(features, weights));
    Value loss = ops::sum(ops::cast(result * result, DType::float32));
    graph.output(result, "result");
    for (const Value& slope : gradients(loss, {x, Value(kernel), Value(bias), Value(weights)}))
      graph.output(slope, "slope");
  }
};

TEST(SixteenBits, AreAsNearToTheExactResultAsTheReference) {
  STOKER_SKIP_UNDER_TSAN();
  STOKER_WITH_CPU_BFLOAT16();
  for (DType dtype : {DType::bfloat16, DType::float16}) {
    MixedNetwork wide(DType::float32), mixed(dtype);
    std::vector<Tensor> exact = run_graph(wide.graph, wide.inputs, backend("reference"));
    std::vector<Tensor> rounded = run_graph(mixed.graph, mixed.inputs, backend("reference"));
    std::vector<Tensor> got = run_graph(mixed.graph, mixed.inputs, backend("cpu"));
    for (size_t i = 0; i < exact.size(); ++i) {
      EXPECT_EQ(got[i].dtype(), rounded[i].dtype()) << i;
      EXPECT_LT(distance(got[i], exact[i]), 2 * distance(rounded[i], exact[i]) + 1e-3) << i;
      EXPECT_GT(distance(got[i], exact[i]), 1e-7) << i << ": nothing was rounded";
    }
  }
}

TEST(SixteenBits, AreMultipliedByKernelsOfBfloat16) {
  STOKER_SKIP_UNDER_TSAN();
  STOKER_WITH_CPU_BFLOAT16();
  MixedNetwork mixed(DType::bfloat16);
  auto program = backend("cpu").compile(mixed.graph, {});
  auto kernel_of = [&](const std::string& op) {
    for (const KernelInfo& kernel : program->kernels())
      if (kernel.op == op) return kernel.kernel;
    return std::string("none");
  };
  for (const char* op : {"conv2d", "conv2d_weight_grad"})
    EXPECT_NE(kernel_of(op).find("bf16"), std::string::npos) << op << ": " << kernel_of(op);
}

TEST(SixteenBits, GiveTheSameBitsOnOneThreadAndOnTheTeam) {
  STOKER_SKIP_UNDER_TSAN();
  STOKER_WITH_CPU_BFLOAT16();
  for (int threads : {1, 2, 3, 4})
    for (int64_t batch : {1, 3, 8}) {
      MixedNetwork mixed(DType::bfloat16, batch);
      std::vector<Tensor> first;
      for (bool alone : {false, true}) {
        CompileOptions options;
        options.threads = threads;
        auto program = backend("cpu").compile(mixed.graph, options);
        cpu::AloneScope scope(alone);
        program->run(mixed.inputs);
        for (size_t i = 0; i < mixed.graph.outputs().size(); ++i) {
          Tensor output = program->output(i);
          if (!alone)
            first.push_back(output);
          else
            EXPECT_TRUE(first[i] == output) << i << ", " << threads << " threads";
        }
      }
    }
}

// Without instructions for them products are of float32; what the graph says is still rounded.
TEST(SixteenBits, AreFloat32ProductsWhereTheCpuHasNoOthers) {
  STOKER_SKIP_UNDER_TSAN();
  CpuBfloat16 off("off");
  EXPECT_FALSE(backend("cpu").supports("conv2d", DType::bfloat16));
  EXPECT_FALSE(backend("cpu").supports("conv2d", DType::float16));
  MixedNetwork mixed(DType::bfloat16);
  std::vector<Tensor> expected = run_graph(mixed.graph, mixed.inputs, backend("reference"));
  std::vector<Tensor> got = run_graph(mixed.graph, mixed.inputs, backend("cpu"));
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].dtype(), expected[i].dtype()) << i;
    EXPECT_LT(distance(got[i], expected[i]), 0.04) << i;
  }
}

TEST(SixteenBits, ThatACastMadeAreRounded) {
  Graph graph;
  Graph::Scope scope(graph, "cast");
  Value x = graph.input("x", {DType::float32, {3}});
  graph.output(ops::cast(ops::cast(x, DType::bfloat16) * 1.0, DType::float32), "y");
  Tensor given = Tensor::from<float>({1.001F, -3.14159F, 1e30F}, {3});
  Tensor got = run_graph(graph, {given}, backend("cpu"))[0];
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(got.at(i), double(float(BFloat16(float(given.at(i))))));
}

}  // namespace

}  // namespace stoker::test
