// What a graph knows of variables that are updated, and of constants.
#include <stoker/ops.h>

#include "graph/tracing.h"

namespace stoker {

using namespace test;

TEST(Versions, AReadIsOfItsPlaceInTheProgram) {
  Graph graph;
  Graph::Scope scope(graph, "body");
  Variable w = weight("w", {2});
  Value x = f32(graph, {2}), before = w;
  graph.assign(w, x);
  Value after = w;
  EXPECT_TRUE(same(graph.read(w, 0), graph.variable(w)));
  EXPECT_FALSE(same(graph.read(w), graph.variable(w)));
  Value sum = before + after;
  const Node& add = *graph.producer(sum.traced()->id);
  EXPECT_EQ(add.inputs[0], graph.variable(w).traced()->id);
  EXPECT_EQ(add.inputs[1], graph.read(w).traced()->id);
  EXPECT_EQ(graph.reads_of(w).size(), 2U);
}

TEST(Versions, AnUpdateThatNothingReadsAddsNoNode) {
  Graph graph;
  Variable w = weight("w", {2});
  graph.assign(w, ops::exp(f32(graph, {2})));
  EXPECT_EQ(ops_of(graph), "unary");
}

TEST(Versions, OnlyTheLastUpdateIsAssigned) {
  Graph graph;
  Graph::Scope scope(graph, "body");
  Variable w = weight("w", {2});
  graph.assign(w, ops::exp(f32(graph, {2})));
  graph.assign(w, Value(w) * 2.0);
  ASSERT_EQ(graph.assignments().size(), 1U);
  EXPECT_EQ(ops_of(graph), "unary, identity, binary");
  EXPECT_EQ(graph.producer(graph.assignments()[0].value)->op->name, "binary");
}

TEST(Versions, AValueMadeInAnotherGraphReadsTheCurrentContents) {
  Variable w = weight("w", {2});
  Value kept;
  {
    Graph graph;
    Graph::Scope scope(graph, "first");
    kept = w;
  }
  Graph graph;
  Graph::Scope scope(graph, "second");
  graph.assign(w, f32(graph, {2}));
  Value y = kept + 1.0;
  EXPECT_EQ(graph.producer(y.traced()->id)->inputs[0], graph.read(w).traced()->id);
}

TEST(Constants, OfOneTensorAreOneValue) {
  Graph graph;
  Tensor t = Tensor::zeros({2}), equal = Tensor::zeros({2}), scalar(2.0F);
  EXPECT_TRUE(same(graph.constant(t), graph.constant(t)));
  EXPECT_FALSE(same(graph.constant(t), graph.constant(equal)));
  EXPECT_FALSE(same(graph.constant(scalar), graph.number(Tensor(2.0F))));
  EXPECT_TRUE(same(graph.number(Tensor(2.0F)), graph.number(Tensor(2.0F))));
}

}  // namespace stoker
