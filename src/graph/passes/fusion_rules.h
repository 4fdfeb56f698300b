// The rules of fuse(), one function each. A rule rewrites every place it applies to and returns how
// many; what it leaves behind is dead. A rule fuses only where nothing else reads the value that
// disappears.
#pragma once

#include "graph/graph.h"

namespace stoker::passes {

// conv2d or matmul, then + b with b: [last dimension] → its bias operand.
int fuse_bias(Graph& graph);

// conv2d or matmul, then a function whose gradient comes from its output → `activation`; batch
// norms, then relu. The backward nodes read the function's output, which is what remains.
int fuse_activation(Graph& graph);

// unary_grad{relu}(y, max_pool2d_grad(y, …)) → max_pool2d_grad{activation: relu}.
int fuse_pool_gradient(Graph& graph);

// batch_norm_grad(unary_grad{relu}(y, dy), …) of a batch_norm that gives y with its relu fused →
// batch_norm_grad{activation: relu}(dy, …, y).
int fuse_norm_gradient(Graph& graph);

// sum(dy) over batch, height and width next to conv2d_weight_grad(x, dy) → its second output. Nodes
// may have to be reordered afterwards.
int fuse_bias_gradient(Graph& graph);

}  // namespace stoker::passes
