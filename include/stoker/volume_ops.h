// Convolution and pooling of volumes, [B, D, H, W, C], as ops.h has them for images. They are made
// of the ops of images: the planes that a window covers stand beside each other as channels, and
// pooling goes over height and width, then over depth. Every engine runs them, gradients follow.
#pragma once

#include <array>

#include <stoker/value.h>

namespace stoker::ops {

// Voxels before and after, along depth, height and width.
using Padding3 = std::array<std::array<int64_t, 2>, 3>;
// Keras's "same" for a volume.
Padding3 same_padding3d(const Shape& input, std::array<int64_t, 3> window,
                        std::array<int64_t, 3> strides,
                        std::array<int64_t, 3> dilation = {1, 1, 1});

struct Conv3 {
  std::array<int64_t, 3> strides = {1, 1, 1};
  Padding3 padding = {};
  std::array<int64_t, 3> dilation = {1, 1, 1};
  int64_t groups = 1;
};
// x: [B, D, H, W, C], kernel: [kd, kh, kw, C / groups, filters] → [B, D', H', W', filters]
Value conv3d(const Value& x, const Value& kernel, const Conv3& options = {});

struct Conv3Transpose {
  std::array<int64_t, 3> strides = {1, 1, 1};
  Padding3 padding = {};                              // removed from the faces of the result
  std::array<int64_t, 3> output_padding = {0, 0, 0};  // added at its end, < strides
  std::array<int64_t, 3> dilation = {1, 1, 1};
};
// The way back of a conv3d, as conv2d_transpose is of a conv2d. kernel: [kd, kh, kw, filters, C]
Value conv3d_transpose(const Value& x, const Value& kernel, const Conv3Transpose& options = {});

struct Pool3 {
  std::array<int64_t, 3> window = {2, 2, 2};
  std::array<int64_t, 3> strides = {2, 2, 2};
  Padding3 padding = {};
};
Value max_pool3d(const Value& x, const Pool3& options = {});
Value average_pool3d(const Value& x, const Pool3& options = {});  // padding is not counted

}  // namespace stoker::ops
