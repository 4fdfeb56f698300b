// Attention as a composition of other ops.
#include <stoker/attention.h>

#include "graph/passes/passes.h"
#include "graph/rewriting.h"
#include "graph/tracing.h"

namespace stoker {

using namespace test;

namespace {

bool none(const Node&) { return false; }

// Two attentions, one behind the other, and their gradients; something reads both ends.
void two_attentions(Graph& graph, const ops::DotProductAttention& options) {
  Variable q = noisy("q", {2, 3, 4, 5}), k = noisy("k", {2, 6, 2, 5}), v = noisy("v", {2, 6, 2, 5});
  graph.output(graph.input("unused", {DType::float32, {1}}), "unused");
  Value first = ops::dot_product_attention(graph.variable(q), k, v, options);
  Value second = ops::dot_product_attention(first * 0.5, k, v, options);
  graph.output(first, "first");
  differentiate(graph, ops::sum(second * second) + ops::sum(first), {q, k, v});
}

}  // namespace

TEST(ComposeAttention, ComputesTheSame) {
  Tensor mask = Tensor::from(std::vector<bool>{1, 0, 1, 1, 0, 1}, {6});
  Tensor bias = noise({DType::float32, {4, 1, 6}}, 3), state = Tensor::from<int64_t>({5, 1}, {2});
  for (const ops::DotProductAttention& options :
       {ops::DotProductAttention{}, ops::DotProductAttention{.is_causal = true},
        ops::DotProductAttention{.mask = mask, .scale = 0.3},
        ops::DotProductAttention{.bias = bias, .mask = mask, .is_causal = true},
        ops::DotProductAttention{.dropout = 0.3, .state = state, .stream = 2}}) {
    Graph graph;
    two_attentions(graph, options);
    std::vector<Tensor> before = run(graph);
    EXPECT_EQ(passes::compose_attention(graph, none), 4);
    EXPECT_EQ(count(graph, "attention") + count(graph, "attention_grad"), 0);
    EXPECT_TRUE(can_run(graph)) << graph.dump();
    expect_close(run(graph), before);
  }
}

TEST(ComposeAttention, LeavesWhatAnEngineRuns) {
  Graph graph;
  two_attentions(graph, {});
  std::vector<Tensor> before = run(graph);
  EXPECT_EQ(passes::compose_attention(graph, [](const Node& node) { return node.is("attention"); }),
            2);
  EXPECT_EQ(count(graph, "attention"), 2);
  EXPECT_EQ(count(graph, "attention_grad"), 0);
  EXPECT_TRUE(can_run(graph)) << graph.dump();
  expect_close(run(graph), before);
  EXPECT_EQ(passes::compose_attention(graph, [](const Node&) { return true; }), 0);
}

}  // namespace stoker
