// conv3d whose planes still stand in the batch, so that a bias and an activation can follow in the
// form that engines join to a product.
#pragma once

#include <stoker/volume_ops.h>

namespace stoker::ops {

struct Planes {
  Value y;        // [B · depth, H', W', filters]
  int64_t depth;  // of the result
};
// What windows of `size` planes cover, beside each other as channels: [B · depth, H, W, size · C],
// within every group of channels. Of the options those along the depth count; `fill` is the padding.
Planes window_planes(const Value& x, int64_t size, const Conv3& options, double fill = 0);
Planes conv3d_planes(const Value& x, const Value& kernel, const Conv3& options);
// [B · depth, H, W, C] → [B, depth, H, W, C]
Value as_volume(const Value& planes, int64_t depth);

}  // namespace stoker::ops
