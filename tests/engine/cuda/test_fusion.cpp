// What the GPU engine fuses around batch norms, by structure: no GPU is needed.
#include "engine/cuda/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/residual_tower.h"
#include "graph/passes/passes.h"

namespace stoker::test {

namespace {

using cuda::Fusion;

// A tower with the passes that every engine runs first.
struct Fused {
  ResidualTower tower;
  Fusion fusion;

  explicit Fused(const TowerOptions& options = {}) : tower(options, 1) {
    passes::merge_duplicates(tower.graph);
    passes::fuse(tower.graph);
    fusion = cuda::find_fusion(tower.graph);
  }
  const Node& node(size_t index) const { return tower.graph.nodes()[index]; }

  std::vector<Fusion::NormTail> tails(const char* op) const {
    std::vector<Fusion::NormTail> found;
    for (size_t i = 0; i < fusion.tails.size(); ++i)
      if (fusion.tails[i] && node(i).op->name == op) found.push_back(*fusion.tails[i]);
    return found;
  }
  std::vector<Fusion::Join> joins() const {
    std::vector<Fusion::Join> found;
    for (const auto& join : fusion.joins)
      if (join) found.push_back(*join);
    return found;
  }
};

TEST(CudaFusion, GivesEverySumOfABlockToItsBatchNorm) {
  Fused fused;
  std::vector<Fusion::NormTail> tails = fused.tails("unary");
  ASSERT_EQ(tails.size(), 2U);
  for (const Fusion::NormTail& tail : tails) {
    EXPECT_EQ(fused.node(size_t(tail.norm)).op->name, "batch_norm");
    EXPECT_TRUE(tail.relu);
  }
}

TEST(CudaFusion, TakesAProjectedShortcutsBatchNormIntoTheSamePass) {
  Fused fused;
  std::vector<Fusion::NormTail> tails = fused.tails("unary");
  ASSERT_EQ(tails.size(), 2U);
  ASSERT_GE(tails[0].residual_norm, 0);
  EXPECT_EQ(fused.node(size_t(tails[0].residual_norm)).outputs[0], tails[0].residual);
  EXPECT_EQ(tails[1].residual_norm, -1) << "the second block's shortcut is plain";
}

TEST(CudaFusion, LeavesAnImageAloneThatIsAlsoAnOutput) {
  ResidualTower tower({}, 1);
  for (const Node& node : tower.graph.nodes())
    if (node.op->name == "max_pool2d") {
      tower.graph.output(tower.graph.value(node.inputs[0]), "large");
      break;
    }
  passes::fuse(tower.graph);
  Fusion fusion = cuda::find_fusion(tower.graph);
  for (const auto& [node, special] : fusion.special)
    EXPECT_FALSE(tower.graph.nodes()[size_t(node)].is("max_pool2d"));
}

TEST(CudaFusion, MakesTheGradientOfAProjectedBlockForBothBatchNormsAtOnce) {
  Fused fused;
  int shared = 0;
  for (const Fusion::Join& join : fused.joins()) {
    if (join.other < 0) continue;
    ++shared;
    EXPECT_EQ(fused.node(size_t(join.other)).op->name, "batch_norm_grad");
    EXPECT_TRUE(fused.fusion.is_inlined(join.other));
    EXPECT_GE(join.second, 0);
    EXPECT_GE(join.y, 0);
  }
  EXPECT_EQ(shared, 1);
}

// loss + norm · factor over the gradients of some weights, as the guard.
struct Guarded {
  Graph graph;
  std::vector<Variable> weights;
  Value norm;

  explicit Guarded(int count, double factor = 0) {
    Value loss = graph.input("x", {DType::float32, {}});
    for (int i = 0; i < count; ++i) {
      weights.emplace_back("w", Tensor(float(i)));
      loss = loss * Value(weights.back());
    }
    graph.output(loss, "loss");
    norm = apply("clip_scales", gradients(loss, weights),
                 {{"mode", std::string("global")}, {"max_norm", 1e30}})[1];
    graph.guard(loss + norm * factor);
  }
  bool is_made_by_norms() const {
    const Node *sum = graph.producer(graph.guard()), *norms = graph.producer(norm.traced()->id);
    int into = cuda::find_fusion(graph).into[size_t(sum - graph.nodes().data())];
    return into == int(norms - graph.nodes().data());
  }
};

TEST(CudaFusion, LetsTheNormOfFewGradientsMakeTheGuard) {
  EXPECT_TRUE(Guarded(1).is_made_by_norms());
  EXPECT_TRUE(Guarded(16).is_made_by_norms());
}

TEST(CudaFusion, LeavesAGuardAloneThatIsMoreThanThat) {
  EXPECT_FALSE(Guarded(17).is_made_by_norms());
  EXPECT_FALSE(Guarded(2, 1).is_made_by_norms());
  Guarded gated(2);
  gated.graph.gate(gated.norm);
  EXPECT_FALSE(gated.is_made_by_norms());
  Guarded read(2);
  read.graph.output(read.graph.value(read.graph.guard()), "guard");
  EXPECT_FALSE(read.is_made_by_norms());
}

// Cross-entropy of 16-bit logits as training steps have it: widened first.
void wide_loss(Graph& graph, bool reads_more) {
  Value logits = graph.input("logits", {DType::bfloat16, {4, 2000}});
  Value labels = graph.input("labels", {DType::int32, {4}});
  Value wide = ops::cast(logits, DType::float32);
  if (reads_more) graph.output(ops::max(wide), "metric");
  Value loss = ops::mean(ops::sparse_softmax_cross_entropy(wide, labels));
  graph.output(gradients(loss, {logits})[0], "dlogits");
}

int count_casts(const Graph& graph) {
  return int(
      std::ranges::count_if(graph.nodes(), [](const Node& node) { return node.is("cast"); }));
}

TEST(CudaFusion, TakesTheLogitsOfALossAsTheyAre) {
  Graph graph;
  wide_loss(graph, false);
  EXPECT_GT(count_casts(graph), 0);
  cuda::skip_logit_casts(graph);
  EXPECT_EQ(count_casts(graph), 0);
  EXPECT_EQ(graph.spec(graph.outputs()[0].value).dtype, DType::bfloat16);
}

TEST(CudaFusion, WidensLogitsForWhatElseReadsThem) {
  Graph graph;
  wide_loss(graph, true);
  cuda::skip_logit_casts(graph);
  EXPECT_EQ(count_casts(graph), 1);
}

TEST(CudaFusion, HasNothingToDoWhereNodesKeepTheirOrder) {
  ResidualTower tower({}, 1);
  Fusion fusion = cuda::no_fusion(tower.graph);
  EXPECT_TRUE(std::ranges::none_of(fusion.tails, [](const auto& tail) { return bool(tail); }));
  EXPECT_TRUE(std::ranges::none_of(fusion.joins, [](const auto& join) { return bool(join); }));
}

}  // namespace

}  // namespace stoker::test
