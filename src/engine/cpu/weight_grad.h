// The weight gradient of a convolution on own kernels, where oneDNN 2.6 is weak with AVX-512 on
// NHWC: strides, and some small images with many filters. One core of an Ice Lake, GFLOP/s, own
// against oneDNN: 3×3×128 at 56×56 with stride 2 98 and 55; 3×3×256 at 28×28 with stride 2 75 and
// 54; 3×3 64→128 at 13×13 140 and 121.
#pragma once

#include "engine/cpu/builder.h"

namespace stoker::cpu {

// Builds conv2d_weight_grad if it is such a one.
bool build_tiled_weight_grad(Builder& builder, const Node& node);

}  // namespace stoker::cpu
