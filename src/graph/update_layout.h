// Where an optimiser's update has its operands: what all parameters share (learning rate, counter,
// scales of the gradients), then p, gradient and moments of each; its outputs are p and moments of
// each.
#pragma once

#include "graph/graph.h"

namespace stoker {

struct UpdateLayout {
  bool iterations = false;  // a counter follows the learning rate
  bool scaled = false;      // scales are the last of the shared operands
  size_t moments = 0;       // of a parameter
  size_t count = 0;         // parameters; what is left over is for the shape rule to refuse

  size_t first() const {
    return 1 + size_t(iterations) + size_t(scaled);
  }  // operand of a parameter
  size_t inputs() const { return 2 + moments; }
  size_t outputs() const { return 1 + moments; }
  size_t parameter(size_t which) const { return first() + which * inputs(); }
  size_t gradient(size_t which) const { return parameter(which) + 1; }
};

bool is_optimizer_update(const Node& node);
// Of sgd_update, adam_update and rmsprop_update; docs/reference/ops.md, "Updates".
UpdateLayout update_layout(std::string_view op, const Attrs& attrs, size_t operands);
inline UpdateLayout update_layout(const Node& node) {
  return update_layout(node.op->name, node.attrs, node.inputs.size());
}

}  // namespace stoker
