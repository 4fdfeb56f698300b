// Fused forms: one node in place of several, where an engine has a kernel for it.
#include <stoker/ops.h>

#include "graph/passes/passes.h"
#include "graph/rewriting.h"
#include "graph/tracing.h"

namespace stoker {
namespace {

using namespace test;

bool every_kernel(std::string_view, DType) { return true; }
bool no_kernel(std::string_view, DType) { return false; }

const OpDef& sgd_update() { return OpRegistry::get().find("sgd_update"); }
Attrs sgd_attrs(double momentum = 0) { return {{"momentum", momentum}, {"nesterov", true}}; }

// p ← p − rate · g, offered as an update.
Value descend(Graph& graph, const Value& rate, const Variable& p, const Value& g) {
  Value before = graph.read(p), next = before - rate * g;
  graph.offer_fused(sgd_update(), {rate, before, g}, sgd_attrs(), {next});
  graph.assign(p, next);
  return next;
}

// All outputs of one run; the variables are as before it.
std::vector<Tensor> run_once(const Graph& graph) {
  std::vector<Tensor> before;
  for (const GraphVariable& each : graph.variables()) before.push_back(each.variable.read());
  std::vector<Tensor> outputs = run(graph);
  for (size_t i = 0; i < before.size(); ++i)
    Variable(graph.variables()[i].variable).write(before[i]);
  return outputs;
}

TEST(FusedForms, TakeThePlaceOfTheNodesTheyStandFor) {
  Graph graph;
  Value rate = f32(graph, {}), g = f32(graph, {3});
  graph.output(descend(graph, rate, noisy("p", {3}), g) * 2.0, "twice");
  std::vector<Tensor> before = run_once(graph);
  EXPECT_EQ(ops_of(graph), "binary, binary, binary");
  EXPECT_EQ(passes::use_fused_forms(graph, every_kernel), 1);
  EXPECT_EQ(ops_of(graph), "sgd_update, binary");
  EXPECT_TRUE(can_run(graph)) << graph.dump();
  EXPECT_EQ(graph.assignments()[0].value, graph.nodes()[0].outputs[0]);
  EXPECT_TRUE(graph.fused_forms().empty());
  expect_close(run_once(graph), before);
}

TEST(FusedForms, LeaveTheNodesAloneWhereThereIsNoKernel) {
  Graph graph;
  Value rate = f32(graph, {}), g = f32(graph, {3});
  descend(graph, rate, noisy("p", {3}), g);
  EXPECT_EQ(passes::use_fused_forms(graph, no_kernel), 0);
  EXPECT_EQ(ops_of(graph), "binary, binary");
}

TEST(FusedForms, KeepNodesThatAreReadElsewhere) {
  Graph graph;
  Variable p = noisy("p", {3});
  Value rate = f32(graph, {}), g = f32(graph, {3}), step = rate * g;
  Value before = graph.variable(p), next = before - step;
  graph.offer_fused(sgd_update(), {rate, before, g}, sgd_attrs(), {next});
  graph.assign(p, next);
  graph.output(step, "step");
  graph.output(next, "next");
  std::vector<Tensor> expected = run_once(graph);
  passes::use_fused_forms(graph, every_kernel);
  EXPECT_EQ(ops_of(graph), "binary, sgd_update");
  EXPECT_TRUE(can_run(graph)) << graph.dump();
  expect_close(run_once(graph), expected);
}

TEST(FusedForms, StandForNodesThatReadEachOther) {
  Graph graph;
  Variable p = noisy("p", {3}), m = noisy("m", {3});
  Value rate = f32(graph, {}), g = f32(graph, {3}), from = graph.variable(p);
  Value step = -(rate * g), moved = graph.variable(m) * 0.9 + step,
        next = from + moved * 0.9 + step;
  graph.offer_fused(sgd_update(), {rate, from, g, graph.variable(m)}, sgd_attrs(0.9),
                    {next, moved});
  graph.output(next, "p");
  graph.output(moved, "m");
  std::vector<Tensor> expected = run_once(graph);
  EXPECT_EQ(passes::use_fused_forms(graph, every_kernel), 1);
  EXPECT_EQ(ops_of(graph), "sgd_update");
  EXPECT_TRUE(can_run(graph)) << graph.dump();
  expect_close(run_once(graph), expected);
}

TEST(FusedForms, MayReadEachOthersResults) {
  Graph graph;
  Variable p = noisy("p", {3}), q = noisy("q", {3});
  Value rate = f32(graph, {}), g = f32(graph, {3});
  Value first = descend(graph, rate, p, g);
  graph.output(descend(graph, rate, p, first), "p");
  graph.output(descend(graph, rate, q, first), "q");
  std::vector<Tensor> expected = run_once(graph);
  EXPECT_EQ(passes::use_fused_forms(graph, every_kernel), 3);
  EXPECT_EQ(count(graph, "sgd_update"), 3);
  EXPECT_EQ(count(graph, "binary"), 0);
  EXPECT_TRUE(can_run(graph)) << graph.dump();
  expect_close(run_once(graph), expected);
}

TEST(FusedForms, AreClonedWithTheirGraph) {
  Graph graph;
  Value rate = f32(graph, {}), g = f32(graph, {3});
  descend(graph, rate, noisy("p", {3}), g);
  std::unique_ptr<Graph> copy = graph.clone();
  EXPECT_EQ(passes::use_fused_forms(*copy, every_kernel), 1);
  EXPECT_EQ(graph.fused_forms().size(), 1U);
}

TEST(FusedForms, MustGiveWhatTheirNodesGive) {
  Graph graph;
  Value rate = f32(graph, {}), g = f32(graph, {3}), p = f32(graph, {3}), next = p - rate * g;
  Value narrow = ops::cast(next, DType::float16);
  auto offer = [&](const Values& outputs) {
    graph.offer_fused(sgd_update(), {rate, p, g}, sgd_attrs(), outputs);
  };
  EXPECT_THAT(error_of<Error>([&] { offer({p}); }), testing::HasSubstr("output 0"));
  EXPECT_THAT(error_of<Error>([&] { offer({next, next}); }), testing::HasSubstr("output 1"));
  EXPECT_THAT(error_of<ShapeError>([&] { offer({narrow}); }), testing::HasSubstr("other specs"));
  EXPECT_TRUE(graph.fused_forms().empty());
}

TEST(Graph, KeepsOneNotePerType) {
  struct Count {
    int number = 0;
  };
  Graph graph;
  graph.notes<Count>().number = 3;
  EXPECT_EQ(graph.notes<Count>().number, 3);
  EXPECT_EQ(graph.clone()->notes<Count>().number, 0);
}

}  // namespace
}  // namespace stoker
