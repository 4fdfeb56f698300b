// Why a gradient does not exist, for people.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace stoker {

// Throws an Error that names what the loss does not depend on. `missing`: per value that was asked
// for, the values that stand for it.
[[noreturn]] void fail_unconnected(const Graph& graph, int loss,
                                   const std::vector<std::vector<int>>& missing);

}  // namespace stoker
