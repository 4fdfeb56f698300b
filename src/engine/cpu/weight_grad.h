// The weight gradient of a convolution on own kernels, where oneDNN 2.6 is weak with AVX-512 on
// NHWC: strides, and some small images with many filters. One core of an Ice Lake, GFLOP/s, own
// against oneDNN: 3×3×128 at 56×56 with stride 2 98 and 55; 3×3×256 at 28×28 with stride 2 75 and
// 54; 3×3 64→128 at 13×13 140 and 121.
#pragma once

#include "engine/cpu/builder.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

// Builds conv2d_weight_grad if it is such a one.
bool build_tiled_weight_grad(Builder& builder, const Node& node);

// Likewise with AVX2, on images in blocks of eight channels. Two cores of a Zen 3, GFLOP/s, own
// against oneDNN: 3×3×128 at 8×8 211 and 147; 3×3×64 at 16×16 205 and 148; 3×3×32 at 32×32 195 and
// 143; 3×3 64→128 at 13×13 184 and 128; 32→64 with stride 2 176 and 150.
bool build_blocked_weight_grad(Builder& builder, const Node& node);

// The output positions in [begin, end) whose tap, `offset` away, lies in the image.
Part taps_inside(int64_t begin, int64_t end, int64_t extent, int64_t stride, int64_t offset);

}  // namespace stoker::cpu
