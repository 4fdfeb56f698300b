// From nodes of a graph to a region.
#pragma once

#include <functional>

#include "engine/cuda/fuser/region.h"
#include "graph/graph.h"

namespace stoker::fuser {

// Whether a region can hold this node: elementwise ops, index maps and reductions of one result.
bool is_fusible(const Graph& graph, const Node& node);

struct LowerOptions {
  // Whether a value is computed inside the region; else it is loaded.
  std::function<bool(int value)> is_inside;
  // Whether a value inside must have the bits that memory would have given it.
  std::function<bool(int value)> is_rounded;
};

// The region that makes the result of `root`. A reduction among its nodes is the root, or what the
// root computes from it element by element.
Region lower(const Graph& graph, const Node& root, const LowerOptions& options);

}  // namespace stoker::fuser
