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

// Likewise a depthwise convolution with AVX-512 on NHWC, for most of which oneDNN 2.6 takes a kernel
// that is not made for it.
bool build_depthwise_weight_grad(Builder& builder, const Node& node);

// x: [B, H, W, C], dy: [B, H', W', filters]
struct WeightGradShape {
  int64_t batch, height, width, channels;
  int64_t out_height, out_width, filters;
  int64_t kernel_h, kernel_w, stride_h, stride_w, top, left, dilation_h, dilation_w;

  WeightGradShape(const Attrs& attrs, const Shape& x, const Shape& dy);

  int64_t taps() const { return kernel_h * kernel_w; }
  int64_t work() const { return batch * out_height * out_width * filters * taps() * channels / 16; }
  // How many rows of dy are worked on at a time: `most` or fewer, in bands of about one size.
  int64_t band_of(int64_t most) const;
};

// What a tap of the kernel meets in rows [begin, end) of dy: the rows and columns of dy for which it lies in the image,
// and the place in x of the first, in pixels.
struct TapPart {
  Part rows, columns;
  int64_t first;

  TapPart(const WeightGradShape& g, int64_t tap, int64_t begin, int64_t end);
  bool is_empty() const { return rows.begin >= rows.end || columns.begin >= columns.end; }
};

// The output positions in [begin, end) whose tap, `offset` away, lies in the image.
Part taps_inside(int64_t begin, int64_t end, int64_t extent, int64_t stride, int64_t offset);

}  // namespace stoker::cpu
