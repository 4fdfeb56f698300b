// A pooling's attributes as its kernels take them.
#pragma once

#include "engine/cuda/builder.h"
#include "engine/cuda/kernels/pooling.h"

namespace stoker::cuda {

// x: the large image's value, y: the small one's.
PoolCall pool_call(const Builder& b, const Node& node, int x, int y);

}  // namespace stoker::cuda
