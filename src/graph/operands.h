// Which dtypes the operands of an op take before they become a node: C++ numbers, weights and
// integers adapt to what they meet. docs/guide/precision.md states the rules for users.
#pragma once

#include <string_view>

#include "graph/op.h"

namespace stoker {

class Graph;

// Appends the op to the graph, with variables, constants and numbers placed in it and all operands
// in the dtypes that they take together.
Values append(Graph& graph, const OpDef& op, const Values& inputs, Attrs attrs);

// The same for a sketch, whose dtypes are those of the policy float32.
Values append_sketch(const OpDef& op, const Values& inputs, Attrs attrs);

}  // namespace stoker
