// Libraries compute relu as max(x, 0), which makes 0 of NaN. Engines leave it to them only where
// the graph's guard reports that NaN all the same.
#pragma once

#include "graph/graph.h"

namespace stoker {

// Whether a NaN in the input of a conv2d or matmul reaches the guard although its output hides it:
// the gradient of the weights reads the same input, and 0 · NaN is NaN.
bool guard_sees(const Graph& graph, const Node& product);

}  // namespace stoker
