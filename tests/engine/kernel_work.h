// What a graph has to do, and what a program says that its kernels do.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/backend.h"
#include "graph/passes/passes.h"

namespace stoker::test {

// FLOPs of the graph as an engine compiles it.
inline double flops_of(const Graph& graph, const Backend& engine) {
  std::unique_ptr<Graph> copy = graph.clone();
  if (engine.name() != "reference") {
    passes::merge_duplicates(*copy);
    passes::fold_padding(*copy);
    passes::fuse(*copy);
  }
  double sum = 0;
  for (const Node& node : copy->nodes()) sum += copy->cost(node).flops;
  return sum;
}

inline double flops_of(const Program& program) {
  double sum = 0;
  for (const KernelInfo& kernel : program.kernels()) sum += kernel.cost.flops;
  return sum;
}

// All of the graph's work is that of some kernel, and of one only.
inline void expect_all_work(const Graph& graph, Backend& engine, const std::string& what = "") {
  EXPECT_DOUBLE_EQ(flops_of(*engine.compile(graph, {})), flops_of(graph, engine)) << what;
}

}  // namespace stoker::test
