// A note of a graph (Graph::notes): the layers that were called in it, or in bodies of its loops.
#pragma once

#include <memory>
#include <set>

#include <stoker/layer.h>

#include "graph/graph.h"

namespace stoker {

struct CalledLayers {
  std::set<std::shared_ptr<LayerBase>> layers;
};

inline CalledLayers& called_layers(Graph& graph) {
  Graph* step = &graph;
  while (step->outer() != nullptr) step = step->outer();
  return step->notes<CalledLayers>();
}

}  // namespace stoker
