// What of a graph is known before it runs: constants, weights, and everything computed from them
// alone.
#pragma once

#include <map>
#include <set>
#include <string>

#include "graph/graph.h"

namespace stoker {

struct KnownValue {
  Tensor tensor;
  std::string name;  // of the weight or layer that it comes from
};

struct KnownValues {
  std::set<const Node*> nodes;       // whose results are known
  std::map<int, KnownValue> values;  // by id: those that an output or another node reads
};

// other: the same graph at another batch size, or the graph itself.
KnownValues known_values(const Graph& graph, const Graph& other);

}  // namespace stoker
