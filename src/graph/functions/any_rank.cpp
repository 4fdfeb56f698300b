// Functions of sequences, images and volumes by the rank of what they are given. A sequence is an image
// of one row.
#include <stoker/ops_any_rank.h>

#include <algorithm>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/functions/volume.h"

namespace stoker::ops {

namespace {

// How many axes x has between the batch and the channels.
size_t axes_of(const char* what, const Value& x, size_t most = 3) {
  int rank = x.shape().rank();
  if (rank < 3 || rank > int(most) + 2)
    throw ShapeError(fmt::format("{}: expected [B, T, C], [B, H, W, C]{}, got {}", what,
                                 most == 3 ? " or [B, D, H, W, C]" : "", to_string(x.shape())));
  return size_t(rank) - 2;
}

Extents per_axis(const char* what, const char* option, const Extents& given, size_t axes,
                 int64_t least = 1) {
  Extents all = given.size() == 1 ? Extents(axes, given[0]) : given;
  if (all.size() != axes || *std::min_element(all.begin(), all.end()) < least)
    throw ValueError(
        fmt::format("{}: {} is {{{}}}, expected one number of at least {} or {} of them", what,
                    option, fmt::join(given, ", "), least, axes));
  return all;
}

bool is_same(const char* what, const std::string& padding) {
  if (padding == "same") return true;
  if (padding == "valid") return false;
  throw ValueError(fmt::format("{}: padding must be valid or same, got \"{}\"", what, padding));
}

void expect_rank_of_kernel(const char* what, const Value& kernel, size_t axes) {
  if (kernel.shape().rank() != int(axes) + 2)
    throw ShapeError(fmt::format("{}: expected a kernel of rank {}, got {}", what, axes + 2,
                                 to_string(kernel.shape())));
}

template <size_t n>
std::array<int64_t, n> last_of(const Extents& values, int64_t first = 1) {
  std::array<int64_t, n> all;
  all.fill(first);
  std::copy_backward(values.begin(), values.end(), all.end());
  return all;
}

Extents window_of_kernel(const Value& kernel, size_t axes) {
  return {kernel.shape().begin(), kernel.shape().begin() + ptrdiff_t(axes)};
}

// Windows of every axis, with what is checked of them.
struct Sliding {
  Extents window, strides, dilation;
  bool same;
};

Sliding sliding(const char* what, const Value& kernel, size_t axes, const AnyConv& options) {
  expect_rank_of_kernel(what, kernel, axes);
  return {.window = window_of_kernel(kernel, axes),
          .strides = per_axis(what, "strides", options.strides, axes),
          .dilation = per_axis(what, "dilation_rate", options.dilation_rate, axes),
          .same = is_same(what, options.padding)};
}

Sliding sliding(const char* what, const Extents& pool_size, size_t axes, const AnyPool& options) {
  Extents window = per_axis(what, "pool_size", pool_size, axes);
  return {.window = window,
          .strides =
              options.strides.empty() ? window : per_axis(what, "strides", options.strides, axes),
          .dilation = Extents(axes, 1),
          .same = is_same(what, options.padding)};
}

Value image_of(const Value& x) { return x.shape().rank() == 3 ? expand_dims(x, 1) : x; }
Value kernel_of_image(const Value& x, const Value& kernel) {
  return x.shape().rank() == 3 ? reshape_beside(x, kernel, kernel.shape().prepend(1)) : kernel;
}
Value from_image(const Value& x, const Value& y) {
  return x.shape().rank() == 3 ? squeeze(y, 1) : y;
}

// Of [B, H, W, C].
Padding edges_of(const Sliding& how, const Value& image) {
  if (!how.same) return {};
  return same_padding(image.shape(), last_of<2>(how.window), last_of<2>(how.strides),
                      last_of<2>(how.dilation));
}
Padding3 faces(const Sliding& how, const Value& x) {
  if (!how.same) return {};
  return same_padding3d(x.shape(), last_of<3>(how.window), last_of<3>(how.strides),
                        last_of<3>(how.dilation));
}

Conv of_images(const Sliding& how, const Value& image, int64_t groups = 1) {
  return {.strides = last_of<2>(how.strides),
          .padding = edges_of(how, image),
          .dilation = last_of<2>(how.dilation),
          .groups = groups};
}

using Pool2 = Value (*)(const Value&, const Pool&);
using PoolVolume = Value (*)(const Value&, const Pool3&);
using Reduction = Value (*)(const Value&, const Reduce&);

Value pool_by_rank(const char* what, const Value& x, const Extents& pool_size,
                   const AnyPool& options, Pool2 of_image, PoolVolume of_volume) {
  size_t axes = axes_of(what, x);
  Sliding how = sliding(what, pool_size, axes, options);
  if (axes == 3)
    return of_volume(x, {.window = last_of<3>(how.window),
                         .strides = last_of<3>(how.strides),
                         .padding = faces(how, x)});
  Value image = image_of(x);
  return from_image(x, of_image(image, {.window = last_of<2>(how.window),
                                        .strides = last_of<2>(how.strides),
                                        .padding = edges_of(how, image)}));
}

// Window i of n along an axis is [i · length / n, (i + 1) · length / n), rounded outwards.
Value adaptive_axis(const Value& x, int axis, int64_t count, Reduction reduce) {
  int64_t length = x.shape()[axis];
  Values parts;
  for (int64_t i = 0; i < count; ++i) {
    int64_t first = i * length / count, end = ((i + 1) * length + count - 1) / count;
    Ints begin(size_t(x.shape().rank()), 0), size(begin.size(), -1);
    begin[size_t(axis)] = first;
    size[size_t(axis)] = end - first;
    parts.push_back(reduce(slice(x, begin, size), {.axes = {axis}, .keepdims = true}));
  }
  return concatenate(parts, axis);
}

// One axis after the other: the mean of a box is a mean of means.
Value adaptive_pool(const char* what, const Value& x, const Extents& output_size,
                    Reduction reduce) {
  size_t axes = axes_of(what, x);
  Extents size = per_axis(what, "output_size", output_size, axes);
  Value y = x;
  for (size_t axis = 0; axis < axes; ++axis)
    y = adaptive_axis(y, int(axis) + 1, size[axis], reduce);
  return y;
}

}  // namespace

TransposedEdge transposed_edge(int64_t size, int64_t stride, int64_t dilation, bool same,
                               const std::optional<int64_t>& output_padding) {
  int64_t reach = dilation * (size - 1) + 1;
  // Of the (T - 1) · s + reach steps that the kernel touches; may be below 0.
  int64_t cropped = 0;
  if (same)
    cropped = output_padding ? reach - reach % 2 - *output_padding : reach - stride;
  else
    cropped = output_padding ? -*output_padding : std::min<int64_t>(reach - stride, 0);
  // An odd step is cropped at the end, as "same" padding pads it there.
  int64_t before = same ? std::clamp<int64_t>(cropped / 2, 0, reach - 1) : 0;
  return {.before = before,
          .after = std::max<int64_t>(cropped - before, 0),
          .more = std::max<int64_t>(before - cropped, 0)};
}

Value conv(const Value& x, const Value& kernel, const AnyConv& options) {
  size_t axes = axes_of("conv", x);
  Sliding how = sliding("conv", kernel, axes, options);
  int64_t channels = x.shape()[-1], of_group = kernel.shape()[-2];
  if (of_group < 1 || channels % of_group != 0)
    throw ShapeError(fmt::format("conv: a kernel {} does not fit the {} channels of {}",
                                 to_string(kernel.shape()), channels, to_string(x.shape())));
  int64_t groups = channels / of_group;
  if (axes == 3)
    return conv3d(x, kernel,
                  {.strides = last_of<3>(how.strides),
                   .padding = faces(how, x),
                   .dilation = last_of<3>(how.dilation),
                   .groups = groups});
  Value image = image_of(x);
  return from_image(x, conv2d(image, kernel_of_image(x, kernel), of_images(how, image, groups)));
}

Value depthwise_conv(const Value& x, const Value& kernel, const AnyConv& options) {
  size_t axes = axes_of("depthwise_conv", x, 2);
  Sliding how = sliding("depthwise_conv", kernel, axes, options);
  Value image = image_of(x);
  return from_image(x, depthwise_conv2d(image, kernel_of_image(x, kernel), of_images(how, image)));
}

Value separable_conv(const Value& x, const Value& depthwise_kernel, const Value& pointwise_kernel,
                     const AnyConv& options) {
  return conv(depthwise_conv(x, depthwise_kernel, options), pointwise_kernel);
}

Value conv_transpose(const Value& x, const Value& kernel, const AnyConvTranspose& options) {
  const char* what = "conv_transpose";
  size_t axes = axes_of(what, x);
  Sliding how = sliding(what, kernel, axes,
                        {.strides = options.strides,
                         .padding = options.padding,
                         .dilation_rate = options.dilation_rate});
  std::optional<Extents> more;
  if (options.output_padding)
    more = per_axis(what, "output_padding", *options.output_padding, axes, 0);
  std::vector<TransposedEdge> ends(3 - axes, TransposedEdge{0, 0, 0});
  for (size_t axis = 0; axis < axes; ++axis)
    ends.push_back(transposed_edge(how.window[axis], how.strides[axis], how.dilation[axis],
                                   how.same, more ? std::optional((*more)[axis]) : std::nullopt));
  if (axes == 3)
    return conv3d_transpose(x, kernel,
                            {.strides = last_of<3>(how.strides),
                             .padding = {{{ends[0].before, ends[0].after},
                                          {ends[1].before, ends[1].after},
                                          {ends[2].before, ends[2].after}}},
                             .output_padding = {ends[0].more, ends[1].more, ends[2].more},
                             .dilation = last_of<3>(how.dilation)});
  return from_image(
      x,
      conv2d_transpose(image_of(x), kernel_of_image(x, kernel),
                       {.strides = last_of<2>(how.strides),
                        .padding = {ends[1].before, ends[1].after, ends[2].before, ends[2].after},
                        .output_padding = {ends[1].more, ends[2].more},
                        .dilation = last_of<2>(how.dilation)}));
}

Value max_pool(const Value& x, const Extents& pool_size, const AnyPool& options) {
  return pool_by_rank("max_pool", x, pool_size, options, max_pool2d, max_pool3d);
}
Value average_pool(const Value& x, const Extents& pool_size, const AnyPool& options) {
  return pool_by_rank("average_pool", x, pool_size, options, average_pool2d, average_pool3d);
}

Value adaptive_average_pool(const Value& x, const Extents& output_size) {
  return adaptive_pool("adaptive_average_pool", x, output_size, mean);
}
Value adaptive_max_pool(const Value& x, const Extents& output_size) {
  return adaptive_pool("adaptive_max_pool", x, output_size, max);
}

}  // namespace stoker::ops
