// What layers and functions of several ranks share: where transposed convolutions end, and conv3d whose planes still stand in the batch, so that a bias and an activation can follow in the
// form that engines join to a product.
#pragma once

#include <optional>

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

// Where a transposed convolution begins and ends along one axis: Keras's lengths, "valid" T · s +
// max(reach - s, 0), "same" T · s; with output_padding (T - 1) · s + reach (or, "same", reach % 2) +
// output_padding.
struct TransposedEdge {
  int64_t before, after, more;
};
TransposedEdge transposed_edge(int64_t size, int64_t stride, int64_t dilation, bool same,
                               const std::optional<int64_t>& output_padding);

}  // namespace stoker::ops
