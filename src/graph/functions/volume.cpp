#include "graph/functions/volume.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/ops.h>

namespace stoker::ops {

namespace {

void expect_volume(const char* op, const Value& x) {
  if (x.shape().rank() != 5)
    throw ShapeError(
        fmt::format("{}: expected 5-D input [B, D, H, W, C], got {}", op, to_string(x.shape())));
}

void expect_kernel(const char* op, const Value& kernel, const char* dims) {
  if (kernel.shape().rank() != 5)
    throw ShapeError(
        fmt::format("{}: expected a 5-D kernel {}, got {}", op, dims, to_string(kernel.shape())));
}

std::array<int64_t, 2> plane(const std::array<int64_t, 3>& all) { return {all[1], all[2]}; }
Padding plane(const Padding3& all) { return {all[1][0], all[1][1], all[2][0], all[2][1]}; }

// [B, D, H, W, C] → [B · D, H, W, C]
Value as_planes(const Value& x) {
  const Shape& shape = x.shape();
  return reshape(x, {-1, shape[2], shape[3], shape[4]});
}

// How a window moves along the depth.
struct Depth {
  int64_t size, stride, dilation, before, after;
  int64_t extent(int64_t input) const {
    int64_t padded = input + before + after, reach = dilation * (size - 1) + 1;
    if (padded < reach)
      throw ShapeError(
          fmt::format("expected a volume of at least {} planes with its padding, got {}; use "
                      "padding \"same\" or a smaller window",
                      reach, padded));
    return (padded - reach) / stride + 1;
  }
};

Depth depth_of(int64_t size, const Conv3& how) {
  return {size, how.strides[0], how.dilation[0], how.padding[0][0], how.padding[0][1]};
}

// Plane `tap` of every window: [B, D', H, W, C]. `padded` begins with the window's padding and is
// long enough for whole strides.
Value planes_at(const Value& padded, const Depth& depth, int64_t outputs, int64_t tap) {
  const Shape& shape = padded.shape();
  Value part =
      slice(padded, {0, tap * depth.dilation, 0, 0, 0}, {-1, outputs * depth.stride, -1, -1, -1});
  if (depth.stride == 1) return part;
  Value apart = reshape(part, {-1, outputs, depth.stride, shape[2], shape[3] * shape[4]});
  Value firsts = slice(apart, {0, 0, 0, 0, 0}, {-1, -1, 1, -1, -1});
  return reshape(firsts, {-1, outputs, shape[2], shape[3], shape[4]});
}

// The planes that a window covers beside each other as channels: [B, D', H, W, kd · C], within every
// group of channels.
Value stacked(const Value& x, const Depth& depth, int64_t outputs, int64_t groups, double fill) {
  int64_t needed = (depth.size - 1) * depth.dilation + outputs * depth.stride;
  int64_t after = std::max<int64_t>(0, needed - depth.before - x.shape()[1]);
  Value padded =
      depth.before + after == 0 ? x : pad(x, {0, depth.before, 0, 0, 0}, {0, after, 0, 0, 0}, fill);
  Values taps;
  for (int64_t tap = 0; tap < depth.size; ++tap)
    taps.push_back(planes_at(padded, depth, outputs, tap));
  Value beside = taps.size() == 1 ? taps[0] : concatenate(taps, -1);
  if (groups == 1 || taps.size() == 1) return beside;
  const Shape& shape = x.shape();
  int64_t rows = outputs * shape[2], columns = shape[3], each = shape[4] / groups;
  Value apart = reshape(beside, {-1, rows * columns, depth.size, groups, each});
  return reshape(transpose(apart, {0, 1, 3, 2, 4}),
                 {-1, outputs, shape[2], columns, shape[4] * depth.size});
}

// [kd, kh, kw, a, b] → [kh, kw, kd · a, b]
Value flat_kernel(const Value& kernel) {
  const Shape& shape = kernel.shape();
  Value turned = shape[0] == 1 ? kernel : transpose(kernel, {1, 2, 0, 3, 4});
  return reshape(turned, {shape[1], shape[2], shape[0] * shape[3], shape[4]});
}

// Over height and width, then over depth: a row of the second image is a plane.
Value pooled(const char* op, Value (*pool)(const Value&, const Pool&), const Value& x,
             const Pool3& how) {
  expect_volume(op, x);
  Value flat = pool(
      as_planes(x),
      {.window = plane(how.window), .strides = plane(how.strides), .padding = plane(how.padding)});
  const Shape& shape = flat.shape();
  if (how.window[0] == 1 && how.strides[0] == 1) return as_volume(flat, x.shape()[1]);
  Value rows = reshape(flat, {-1, x.shape()[1], shape[1] * shape[2], shape[3]});
  Value thin = pool(rows, {.window = {how.window[0], 1},
                           .strides = {how.strides[0], 1},
                           .padding = {how.padding[0][0], how.padding[0][1], 0, 0}});
  return reshape(thin, {-1, thin.shape()[1], shape[1], shape[2], shape[3]});
}

}  // namespace

Padding3 same_padding3d(const Shape& input, std::array<int64_t, 3> window,
                        std::array<int64_t, 3> strides, std::array<int64_t, 3> dilation) {
  if (input.rank() != 5)
    throw ShapeError(
        fmt::format("same padding: expected 5-D input [B, D, H, W, C], got {}", to_string(input)));
  // One axis at a time, as the height of an image.
  Padding3 padding = {};
  for (size_t axis = 0; axis < 3; ++axis) {
    Padding edge = same_padding({input[0], input[int(axis) + 1], 1, 1}, {window[axis], 1},
                                {strides[axis], 1}, {dilation[axis], 1});
    padding[axis] = {edge.top, edge.bottom};
  }
  return padding;
}

Value as_volume(const Value& planes, int64_t depth) {
  const Shape& shape = planes.shape();
  return reshape(planes, {-1, depth, shape[1], shape[2], shape[3]});
}

Planes window_planes(const Value& x, int64_t size, const Conv3& options, double fill) {
  Depth depth = depth_of(size, options);
  int64_t outputs = depth.extent(x.shape()[1]);
  return {as_planes(stacked(x, depth, outputs, options.groups, fill)), outputs};
}

Planes conv3d_planes(const Value& x, const Value& kernel, const Conv3& options) {
  expect_volume("conv3d", x);
  expect_kernel("conv3d", kernel, "[kd, kh, kw, C / groups, filters]");
  Planes windows = window_planes(x, kernel.shape()[0], options);
  Value y = conv2d(windows.y, flat_kernel(kernel),
                   {.strides = plane(options.strides),
                    .padding = plane(options.padding),
                    .dilation = plane(options.dilation),
                    .groups = options.groups});
  return {y, windows.depth};
}

Value conv3d(const Value& x, const Value& kernel, const Conv3& options) {
  Planes made = conv3d_planes(x, kernel, options);
  return as_volume(made.y, made.depth);
}

// Every plane gives kd planes, as channels; each goes to its place in a longer volume, and what
// meets there adds up.
Value conv3d_transpose(const Value& x, const Value& kernel, const Conv3Transpose& options) {
  expect_volume("conv3d_transpose", x);
  expect_kernel("conv3d_transpose", kernel, "[kd, kh, kw, filters, C]");
  int64_t size = kernel.shape()[0], filters = kernel.shape()[3], depth = x.shape()[1];
  int64_t stride = options.strides[0], dilation = options.dilation[0];
  auto [front, back] = options.padding[0];
  Value flat = conv2d_transpose(as_planes(x), flat_kernel(kernel),
                                {.strides = plane(options.strides),
                                 .padding = plane(options.padding),
                                 .output_padding = plane(options.output_padding),
                                 .dilation = plane(options.dilation)});
  Value made = as_volume(flat, depth);  // [B, D, H', W', kd · filters]
  int64_t rows = made.shape()[2], columns = made.shape()[3];
  int64_t reach = dilation * (size - 1),
          outputs = (depth - 1) * stride + reach + 1 - front - back + options.output_padding[0];
  if (outputs < 1)
    throw ShapeError(fmt::format("conv3d_transpose: the padding removes all of the result of {}",
                                 to_string(x.shape())));
  int64_t whole = std::max(depth * stride + reach, front + outputs);
  Value sum;
  for (int64_t tap = 0; tap < size; ++tap) {
    Value part = slice(made, {0, 0, 0, 0, tap * filters}, {-1, -1, -1, -1, filters});
    if (stride > 1) {
      Value apart = reshape(part, {-1, depth, 1, rows, columns * filters});
      Value spread = pad(apart, {0, 0, 0, 0, 0}, {0, 0, stride - 1, 0, 0});
      part = reshape(spread, {-1, depth * stride, rows, columns, filters});
    }
    int64_t before = tap * dilation, after = whole - depth * stride - before;
    if (before + after > 0) part = pad(part, {0, before, 0, 0, 0}, {0, after, 0, 0, 0});
    sum = sum.defined() ? sum + part : part;
  }
  if (front == 0 && outputs == whole) return sum;
  return slice(sum, {0, front, 0, 0, 0}, {-1, outputs, -1, -1, -1});
}

Value max_pool3d(const Value& x, const Pool3& options) {
  return pooled("max_pool3d", max_pool2d, x, options);
}

Value average_pool3d(const Value& x, const Pool3& options) {
  return pooled("average_pool3d", average_pool2d, x, options);
}

}  // namespace stoker::ops
