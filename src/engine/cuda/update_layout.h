// Where an optimiser's node has its operands: what all parameters share (learning rate, counter,
// scales of the gradients), then p, gradient and moments of each; its outputs are p and moments of
// each.
#pragma once

#include "graph/graph.h"

namespace stoker::cuda {

struct UpdateLayout {
  bool scaled = false;
  size_t first = 0;    // operands that are shared
  size_t moments = 0;  // of a parameter
  size_t count = 0;    // parameters

  size_t inputs() const { return 2 + moments; }
  size_t outputs() const { return 1 + moments; }
  size_t parameter(size_t which) const { return first + which * inputs(); }
  size_t gradient(size_t which) const { return parameter(which) + 1; }
};

bool is_optimizer_update(const Node& node);
UpdateLayout update_layout(const Node& node);

}  // namespace stoker::cuda
