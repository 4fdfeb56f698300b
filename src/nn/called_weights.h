// A note of a graph (Graph::notes): the weights of the layers that were called in it, or in bodies of its
// loops. Identities only: a graph that a model keeps must not keep the model.
#pragma once

#include <set>

#include <stoker/layer.h>

#include "graph/graph.h"

namespace stoker {

struct CalledWeights {
  std::set<const void*> ids;  // Variable::id()
};

inline CalledWeights& called_weights(Graph& graph) {
  Graph* step = &graph;
  while (step->outer() != nullptr) step = step->outer();
  return step->notes<CalledWeights>();
}

inline void note_weights(Graph& graph, const LayerBase& layer) {
  for (const Variable& weight : layer.weights()) called_weights(graph).ids.insert(weight.id());
}

}  // namespace stoker
