// Convolution and pooling over time and by windows, by way of those of images.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/ops_any_rank.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_nn.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/op.h"

namespace stoker::ops {

namespace {

void expect_sequence(const char* what, const Value& x) {
  if (x.shape().rank() != 3)
    throw ShapeError(fmt::format("{}: expected [B, T, C], got {}", what, to_string(x.shape())));
}

// [B, T, C] ↔ [B, 1, T, C]
Value as_image(const Value& x) { return expand_dims(x, 1); }
Value as_sequence(const Value& x) { return squeeze(x, 1); }
Value as_kernel(const Value& x, const Value& kernel) {
  return reshape_beside(x, kernel, kernel.shape().prepend(1));
}

Padding padding_of(const char* what, const std::string& padding, const Value& image, int64_t window,
                   int64_t stride, int64_t dilation, bool may_be_causal) {
  if (padding == "valid") return {};
  if (padding == "same")
    return same_padding(image.shape(), {1, window}, {1, stride}, {1, dilation});
  if (padding == "causal" && may_be_causal) return {.left = dilation * (window - 1)};
  throw ValueError(fmt::format("{}: padding must be valid{} or same, got \"{}\"", what,
                               may_be_causal ? ", causal" : "", padding));
}

Value pooled(const char* what, const Value& x, const Pool1dOptions& options,
             Value (*pool)(const Value&, const Pool&)) {
  expect_sequence(what, x);
  int64_t stride = options.strides == 0 ? options.pool_size : options.strides;
  Value image = as_image(x);
  Padding padding = padding_of(what, options.padding, image, options.pool_size, stride, 1, false);
  return as_sequence(
      pool(image, {.window = {1, options.pool_size}, .strides = {1, stride}, .padding = padding}));
}

// For every window, where its pixels stand in the image, row by row.
std::vector<int32_t> window_pixels(int64_t height, int64_t width, const Windows& options) {
  int64_t reach = options.dilation * (options.kernel - 1) + 1;
  if (options.kernel < 1 || options.stride < 1 || options.dilation < 1 || reach > height ||
      reach > width)
    throw ShapeError(fmt::format("windows of {} pixels, {} apart, do not fit an image of {} x {}",
                                 reach, options.stride, height, width));
  std::vector<int32_t> places;
  for (int64_t top = 0; top + reach <= height; top += options.stride)
    for (int64_t left = 0; left + reach <= width; left += options.stride)
      for (int64_t row = 0; row < options.kernel; ++row)
        for (int64_t column = 0; column < options.kernel; ++column)
          places.push_back(
              int32_t((top + row * options.dilation) * width + left + column * options.dilation));
  return places;
}

}  // namespace

Value conv1d(const Value& x, const Value& kernel, const Conv1dOptions& options) {
  expect_sequence("conv1d", x);
  if (kernel.shape().rank() != 3)
    throw ShapeError(fmt::format("conv1d: expected a kernel [k, C / groups, filters], got {}",
                                 to_string(kernel.shape())));
  Value image = as_image(x);
  Padding padding = padding_of("conv1d", options.padding, image, kernel.shape()[0], options.strides,
                               options.dilation, true);
  return as_sequence(conv2d(image, as_kernel(x, kernel),
                            {.strides = {1, options.strides},
                             .padding = padding,
                             .dilation = {1, options.dilation},
                             .groups = options.groups}));
}

Value conv1d_transpose(const Value& x, const Value& kernel, const Conv1dOptions& options) {
  expect_sequence("conv1d_transpose", x);
  if (kernel.shape().rank() != 3)
    throw ShapeError(fmt::format("conv1d_transpose: expected a kernel [k, filters, C], got {}",
                                 to_string(kernel.shape())));
  int64_t reach = options.dilation * (kernel.shape()[0] - 1) + 1;
  ConvTranspose there{
      .strides = {1, options.strides}, .dilation = {1, options.dilation}, .groups = options.groups};
  int64_t over = reach - options.strides;  // beyond T · strides
  if (options.padding == "same" && over > 0) {
    there.padding = {.left = over / 2, .right = over - over / 2};
  } else if (over < 0) {
    there.output_padding = {0, -over};
  } else if (options.padding != "valid" && options.padding != "same") {
    throw ValueError(fmt::format("conv1d_transpose: padding must be valid or same, got \"{}\"",
                                 options.padding));
  }
  return as_sequence(conv2d_transpose(as_image(x), as_kernel(x, kernel), there));
}

Value separable_conv2d(const Value& x, const Value& depthwise_kernel, const Value& pointwise_kernel,
                       const Conv& options) {
  return conv2d(depthwise_conv2d(x, depthwise_kernel, options), pointwise_kernel);
}

Value max_pool1d(const Value& x, const Pool1dOptions& options) {
  return pooled("max_pool1d", x, options, max_pool2d);
}
Value average_pool1d(const Value& x, const Pool1dOptions& options) {
  return pooled("average_pool1d", x, options, average_pool2d);
}

Value adaptive_average_pool2d(const Value& x, int64_t height, int64_t width) {
  return adaptive_average_pool(x, {height, width});
}
Value adaptive_max_pool2d(const Value& x, int64_t height, int64_t width) {
  return adaptive_max_pool(x, {height, width});
}

Value unfold(const Value& x, const Windows& options) {
  const Shape& shape = x.shape();
  if (shape.rank() != 4)
    throw ShapeError(fmt::format("unfold: expected [B, H, W, C], got {}", to_string(shape)));
  std::vector<int32_t> places = window_pixels(shape[1], shape[2], options);
  int64_t pixels = options.kernel * options.kernel, count = int64_t(places.size());
  Value flat = emit::reshape(x, {shape[0], shape[1] * shape[2], shape[3]});
  return emit::reshape(take(flat, Tensor::from(places, {count}), 1),
                       {shape[0], count / pixels, pixels * shape[3]});
}

// The way back of unfold is its gradient: what stands at one place is added up.
Value fold(const Value& columns, int64_t height, int64_t width, const Windows& options) {
  const Shape& shape = columns.shape();
  std::vector<int32_t> places = window_pixels(height, width, options);
  int64_t pixels = options.kernel * options.kernel, count = int64_t(places.size());
  if (shape.rank() != 3 || shape[1] != count / pixels || shape[2] % pixels != 0)
    throw ShapeError(fmt::format("fold: expected [B, {}, {} · C], got {}", count / pixels, pixels,
                                 to_string(shape)));
  int64_t channels = shape[2] / pixels;
  Value flat = emit::reshape(columns, {shape[0], count, channels});
  Value sums = apply1("take_grad", {Tensor::from(places, {count}), flat},
                      {{"axis", int64_t(1)}, {"extent", height * width}});
  return emit::reshape(sums, {shape[0], height, width, channels});
}

}  // namespace stoker::ops
