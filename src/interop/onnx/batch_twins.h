// One model traced at two batch sizes, and at two sizes of what else is unknown: what differs between
// the graphs is what follows these.
#pragma once

#include "graph/graph.h"

namespace stoker {

// ValueError that names layer and op unless both hold the same nodes, which may differ only in
// shapes and in the attributes that state a shape.
void check_twins(const Graph& graph, const Graph& other);

}  // namespace stoker
