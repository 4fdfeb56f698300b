// What the kernels of a program cost. Every node's work is counted once, at the kernel that does
// it, so that the FLOPs of all kernels are those of the graph, however nodes were joined.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace stoker {

struct KernelWork {
  int node = -1;                  // that it was built for; -1: for none
  bool is_node = false;           // it stands for that node; else it is an op of the engine's own
  std::vector<int> results = {};  // values that it makes
  double bytes = 0;               // of its buffers, each once
};

// By kernel. `into`: by node, the node whose kernel does its work, or -1. A node's work is done by
// the first kernel that stands for it; else by that of `into`; else by the one that makes one of
// its results; else by the last that was built for it. A kernel that does one node's work moves
// what the node does; one that does several, or none, what lies in its buffers.
std::vector<Cost> costs_of(const Graph& graph, std::span<const int> into,
                           std::span<const KernelWork> kernels);

}  // namespace stoker
