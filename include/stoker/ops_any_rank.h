// Convolution and pooling under Keras's names, of sequences [B, T, C], images [B, H, W, C] and volumes
// [B, D, H, W, C] alike: the rank of x decides. ops.h, ops_nn.h and volume_ops.h have them by rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/value.h>

namespace stoker::ops {

// One number per axis, or one for all.
using Extents = std::vector<int64_t>;

struct AnyConv {
  Extents strides = {1};
  std::string padding = "valid";  // same
  Extents dilation_rate = {1};
};
// kernel: [k.., C / groups, filters]; there are as many groups as its channels go into those of x.
Value conv(const Value& x, const Value& kernel, const AnyConv& options = {});
// kernel: [k.., C, multiplier], of sequences and images. → [.., C * multiplier]
Value depthwise_conv(const Value& x, const Value& kernel, const AnyConv& options = {});
// The same, then a conv by a pointwise kernel, [1.., C * multiplier, filters].
Value separable_conv(const Value& x, const Value& depthwise_kernel, const Value& pointwise_kernel,
                     const AnyConv& options = {});

struct AnyConvTranspose {
  Extents strides = {1};
  std::string padding = "valid";               // same
  std::optional<Extents> output_padding = {};  // below the strides; unset: what Keras takes
  Extents dilation_rate = {1};
};
// kernel: [k.., filters, C]
Value conv_transpose(const Value& x, const Value& kernel, const AnyConvTranspose& options = {});

struct AnyPool {
  Extents strides = {};           // empty: pool_size
  std::string padding = "valid";  // same
};
Value max_pool(const Value& x, const Extents& pool_size, const AnyPool& options = {});
Value average_pool(const Value& x, const Extents& pool_size,
                   const AnyPool& options = {});  // padding is not counted
// As many windows along each axis as output_size says, of lengths that differ by one at most.
Value adaptive_average_pool(const Value& x, const Extents& output_size);
Value adaptive_max_pool(const Value& x, const Extents& output_size);

}  // namespace stoker::ops
