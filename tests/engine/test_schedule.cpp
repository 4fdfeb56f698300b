// The order in which engines run a graph, and what a run leaves behind.
#include <gtest/gtest.h>

#include "engine/guarded_step.h"
#include "engine/schedule.h"

namespace stoker::test {

namespace {

std::vector<std::string> ops_in_order(const Graph& graph, const Schedule& schedule) {
  std::vector<std::string> names;
  for (int node : schedule.order) names.push_back(graph.nodes()[size_t(node)].op->name);
  return names;
}

// w <- w - 0.5 * g, then y = g * 2: the update stands first in the graph.
struct EarlyUpdate {
  Graph graph;
  Variable w{"w", vector(1, 2, 3)};
  Value gradient = graph.input("g", kVector);
  Value updated = apply1("sgd_update", {graph.constant(Tensor(0.5F)), graph.variable(w), gradient},
                         plain_sgd());
  Value doubled = gradient * 2.0;

  EarlyUpdate() {
    graph.assign(w, updated);
    graph.output(doubled, "y");
  }
};

TEST(Schedule, RunsUpdatesLast) {
  EarlyUpdate step;
  Schedule schedule(step.graph);
  EXPECT_EQ(ops_in_order(step.graph, schedule), (std::vector<std::string>{"binary", "sgd_update"}));
  EXPECT_EQ(schedule.first_update, 1U);
}

TEST(Schedule, LeavesAnUpdateWhereItStandsIfItsResultIsRead) {
  EarlyUpdate step;
  step.graph.output(step.updated, "the new value");
  Schedule schedule(step.graph);
  EXPECT_EQ(ops_in_order(step.graph, schedule), (std::vector<std::string>{"sgd_update", "binary"}));
  EXPECT_EQ(schedule.first_update, 2U);
}

TEST(Schedule, KnowsWhatOutlivesARun) {
  GuardedStep step;
  Value gate = ops::sum(step.graph.variable(step.w)), unused = gate * 3.0;
  step.graph.gate(gate);
  Schedule schedule(step.graph);
  auto last_use = [&](int value) { return schedule.last_use[size_t(value)]; };
  EXPECT_EQ(last_use(step.graph.outputs()[0].value), Schedule::kForEver);
  EXPECT_EQ(last_use(step.graph.guard()), Schedule::kForEver);
  EXPECT_EQ(last_use(step.graph.gate()), Schedule::kForEver);
  for (const Assignment& assignment : step.graph.assignments()) {
    EXPECT_EQ(last_use(assignment.value), Schedule::kForEver);
    EXPECT_EQ(schedule.assigned_to[size_t(assignment.value)], assignment.variable);
  }
  int dead = unused.traced()->id;
  EXPECT_EQ(last_use(dead), -1);
  EXPECT_EQ(schedule.assigned_to[size_t(dead)], -1);
}

TEST(Schedule, KeepsTheLatestUse) {
  EarlyUpdate step;
  Schedule schedule(step.graph);
  int gradient = step.graph.inputs()[0].value, output = step.graph.outputs()[0].value;
  schedule.use(gradient, 1);
  schedule.use(gradient, 0);
  EXPECT_EQ(schedule.last_use[size_t(gradient)], 1);
  schedule.use(output, 1);
  EXPECT_EQ(schedule.last_use[size_t(output)], Schedule::kForEver);
}

}  // namespace

}  // namespace stoker::test
