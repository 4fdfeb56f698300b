// Numbers as the bits of others.
#pragma once

#include "graph/op.h"

namespace stoker {

void register_bitcast_op(OpRegistry& registry);

}  // namespace stoker
