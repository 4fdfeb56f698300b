// Blocks of networks that users train, at the sizes they train them, with their gradients: what the
// fuser should be good at.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace stoker::test {

struct TypicalBlock {
  const char* name;
  void (*build)(Graph& graph, DType dtype);  // outputs: the result and gradients
};

std::vector<TypicalBlock> typical_blocks();

}  // namespace stoker::test
