// The CPU engine's attention: the same bits on any team, memory that grows with the length.
#include <gtest/gtest.h>

#include <stoker/attention.h>
#include <stoker/ops.h>

#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/team.h"
#include "support/draw.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

struct AttentionStep {
  Graph graph;
  std::vector<Tensor> inputs;

  AttentionStep(int64_t batch, int64_t length, const ops::DotProductAttention& options) {
    Rng rng = named_rng(1, "attention");
    Values x;
    for (int64_t heads : {4, 2, 2}) {
      TensorSpec spec{DType::float32, {batch, length, heads, 24}};
      x.push_back(graph.input("x", spec));
      inputs.push_back(draw(spec, {}, rng));
    }
    Value y = ops::dot_product_attention(x[0], x[1], x[2], options);
    graph.output(y, "y");
    for (const Value& gradient : gradients(ops::sum(y * y), x)) graph.output(gradient, "gradient");
  }

  std::vector<Tensor> run(int threads, bool alone = false) {
    CompileOptions options;
    options.threads = threads;
    auto program = cpu_backend().compile(graph, options);
    cpu::AloneScope scope(alone);
    program->run(inputs);
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < graph.outputs().size(); ++i) outputs.push_back(program->output(i));
    return outputs;
  }
};

TEST(CpuAttention, HasTheSameBitsAtAnyThreadCount) {
  STOKER_SKIP_UNDER_TSAN();
  Tensor state = Tensor::from<int64_t>({5, 1}, {2});
  for (const ops::DotProductAttention& options :
       {ops::DotProductAttention{}, ops::DotProductAttention{.is_causal = true},
        ops::DotProductAttention{.is_causal = true, .dropout = 0.3, .state = state}}) {
    AttentionStep step(3, 150, options);
    std::vector<Tensor> one = step.run(1);
    for (int threads : {2, 3, 5}) {
      EXPECT_TRUE(step.run(threads) == one) << threads;
      EXPECT_TRUE(step.run(threads, /*alone=*/true) == one) << threads;
    }
  }
}

TEST(CpuAttention, NeedsMemoryThatGrowsWithTheLength) {
  auto bytes = [](int64_t length) {
    AttentionStep step(1, length, {.is_causal = true});
    CompileOptions options;
    options.threads = 2;
    return double(cpu_backend().compile(step.graph, options)->memory().total);
  };
  EXPECT_LT(bytes(4096), 2.2 * bytes(2048));
}

}  // namespace

}  // namespace stoker::test
