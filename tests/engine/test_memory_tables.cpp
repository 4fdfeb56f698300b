// The memory tables of programs: the same graph is counted by the same rule on every engine.
#include <numeric>

#include <stoker/ops.h>

#include "engine/device_test.h"
#include "engine/graph_memory.h"
#include "graph/tracing.h"

namespace stoker {

using namespace test;

namespace {

size_t of(const MemoryReport& report, MemoryCategory category) {
  return report.bytes[size_t(category)];
}

constexpr Variable::Options kState{.trainable = false, .category = MemoryCategory::optimizer};

}  // namespace

TEST(GraphMemory, IsCountedByCategory) {
  Graph graph;
  Variable w = weight("w", {64, 32});
  Variable m("m", Tensor::zeros({64, 32}),
             {.trainable = false, .category = MemoryCategory::optimizer});
  Value y = ops::relu(ops::matmul(f32(graph, {16, 64}), w));
  Value gradient = gradients(ops::sum(y), {w})[0];
  Graph::Scope scope(graph, Phase::update);
  Values updated =
      apply("sgd_update", {Tensor(0.1F), graph.variable(w), gradient, graph.variable(m)},
            {{"momentum", 0.9}});
  graph.assign(w, updated[0]);
  graph.assign(m, updated[1]);
  MemoryReport report = plan_graph_memory(graph);
  EXPECT_EQ(of(report, MemoryCategory::weights), 64U * 32 * 4);
  EXPECT_EQ(of(report, MemoryCategory::optimizer), 64U * 32 * 4);
  EXPECT_EQ(of(report, MemoryCategory::inputs), 16U * 64 * 4);
  EXPECT_EQ(of(report, MemoryCategory::gradients), 64U * 32 * 4);
  EXPECT_EQ(std::accumulate(report.bytes.begin(), report.bytes.end(), size_t(0)), report.total);
}

TEST(GraphMemory, OfAnUpdateInPlaceIsNone) {
  Graph graph;
  Variable w = weight("w", {64});
  Value gradient = f32(graph, {64});
  graph.assign(
      w, apply1("sgd_update", {Tensor(0.1F), graph.variable(w), gradient}, {{"momentum", 0.0}}));
  EXPECT_EQ(plan_graph_memory(graph).arena, 0U);
  graph.assign(w, ops::exp(graph.value(graph.assignments()[0].value)));
  EXPECT_GT(plan_graph_memory(graph).arena, 0U);
}

TEST(GraphMemory, CountsAGradientUnderAnotherShapeAsAGradient) {
  Graph graph;
  Variable w = weight("w", {64, 32}), v = weight("v", {64 * 32});
  Value gradient = gradients(ops::sum(ops::exp(graph.variable(w))), {w})[0];
  Value flat = [&] {
    Graph::Scope scope(graph, Phase::backward);
    return ops::reshape(gradient, {-1});
  }();
  Graph::Scope scope(graph, Phase::update);
  graph.assign(v,
               apply1("sgd_update", {Tensor(0.1F), graph.variable(v), flat}, {{"momentum", 0.0}}));
  EXPECT_EQ(memory_categories(graph)[size_t(gradient.traced()->id)], MemoryCategory::gradients);
}

// --- every engine ---

// Sizes are multiples of what engines align to, and nothing is fused or kept apart.
class MemoryTable : public DeviceTest {
 protected:
  static constexpr int64_t kElements = 65536;
  static constexpr size_t kBytes = kElements * sizeof(float);

  MemoryReport table(const Graph& graph) {
    CompileOptions options;
    options.keep_order = true;
    options.capture = false;
    return device().compile(graph, options)->memory();
  }
  void expect_as_planned(const Graph& graph, std::initializer_list<MemoryCategory> categories) {
    MemoryReport planned = plan_graph_memory(graph), got = table(graph);
    for (MemoryCategory category : categories)
      EXPECT_EQ(of(got, category), of(planned, category)) << name(category);
    EXPECT_EQ(std::accumulate(got.bytes.begin(), got.bytes.end(), size_t(0)), got.total);
    // Room for inputs: none where a step reads the caller's, else for one or several batches.
    size_t batch = of(planned, MemoryCategory::inputs);
    EXPECT_TRUE(batch == 0 || of(got, MemoryCategory::inputs) % batch == 0);
  }
};

TEST_P(MemoryTable, CountsWeightsStateAndGradientsAlike) {
  Graph graph;
  Value x = f32(graph, {kElements});
  std::vector<Variable> weights, moments;
  Value loss;
  for (int i = 0; i < 6; ++i) {
    std::string name = std::to_string(i);
    weights.push_back(weight("w" + name, {kElements}));
    moments.emplace_back("m" + name, Tensor::zeros({kElements}), kState);
    Value term = ops::sum(graph.variable(weights.back()) * x);
    loss = loss.defined() ? loss + term : term;
  }
  graph.output(loss, "loss");
  Values found = gradients(loss, weights);
  Variable seen("seen", Tensor::zeros({}),
                {.trainable = false, .category = MemoryCategory::metrics});
  graph.assign(seen, graph.variable(seen) + loss);
  Graph::Scope scope(graph, Phase::update);
  Values operands = {graph.constant(Tensor(0.1F))};
  for (size_t i = 0; i < weights.size(); ++i)
    for (const Value& value : {graph.variable(weights[i]), found[i], graph.variable(moments[i])})
      operands.push_back(value);
  Values updated = apply("sgd_update", operands, {{"momentum", 0.9}});
  for (size_t i = 0; i < weights.size(); ++i) {
    graph.assign(weights[i], updated[2 * i]);
    graph.assign(moments[i], updated[2 * i + 1]);
  }
  expect_as_planned(graph, {MemoryCategory::weights, MemoryCategory::optimizer,
                            MemoryCategory::metrics, MemoryCategory::gradients});
  EXPECT_EQ(of(table(graph), MemoryCategory::gradients), 6 * kBytes);
}

TEST_P(MemoryTable, CountsWhatAnUpdateComputesAsWorkspace) {
  Graph graph;
  Variable w = weight("w", {kElements});
  Value x = f32(graph, {kElements});
  Graph::Scope scope(graph, Phase::update);
  graph.assign(w, graph.variable(w) * x);
  expect_as_planned(graph, {MemoryCategory::weights, MemoryCategory::activations});
  EXPECT_EQ(of(table(graph), MemoryCategory::activations), 0U);
  EXPECT_GE(of(table(graph), MemoryCategory::workspace), kBytes);
}

TEST_P(MemoryTable, CountsOutputsAsWhatTheyAreAndConstantsAsWorkspace) {
  Graph graph;
  Tensor constant = Tensor::full({2 * kElements}, 3.0);
  Value y = f32(graph, {2 * kElements}) * graph.constant(constant);
  graph.output(y, "y");
  expect_as_planned(graph, {MemoryCategory::weights, MemoryCategory::activations});
  EXPECT_EQ(of(table(graph), MemoryCategory::activations), 2 * kBytes);
  EXPECT_GE(of(table(graph), MemoryCategory::workspace), 2 * kBytes);
}

INSTANTIATE_TEST_SUITE_P(Devices, MemoryTable, ::testing::ValuesIn(device_names()), device_name);

}  // namespace stoker
