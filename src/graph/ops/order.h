// Ops that choose, order and accumulate elements along an axis: take, argsort, cumulate and
// segment_reduce. docs/reference/ops.md states each.
#pragma once

#include "graph/op.h"

namespace stoker {

void register_order_ops(OpRegistry& registry);

// A tensor as [outer, extent, inner] around one axis, and the indices that a take reads along it.
struct TakeShape {
  int64_t outer = 1, extent = 1, inner = 1;
  int64_t count = 1;    // indices per block of `outer`
  bool shared = false;  // the same ones for every block

  // x: of take, or the result of take_grad
  TakeShape(const Shape& x, const Shape& indices, int axis);
};

}  // namespace stoker
