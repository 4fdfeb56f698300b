// Matrix products, convolution and pooling.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/op.h"
#include "graph/placement.h"
#include "graph/sketch.h"

namespace stoker {

Value reshape_beside(const Value& x, const Value& kernel, const Shape& shape) {
  if (const Value::Traced* traced = x.traced())
    return emit::reshape(place(*traced->graph, kernel), shape);
  if (!x.sketched() || kernel.sketched()) return emit::reshape(kernel, shape);
  return sketch(OpRegistry::get().find("reshape"), {kernel}, {{"shape", emit::dims(shape)}})[0];
}

}  // namespace stoker

namespace stoker::ops {

namespace {

Ints list(const std::array<int64_t, 2>& pair) { return {pair[0], pair[1]}; }

Ints list(const Padding& padding) {
  return {padding.top, padding.bottom, padding.left, padding.right};
}

// What TensorFlow pads along one axis in all, for an output of ceil(extent / stride) positions.
int64_t same_total(int64_t extent, int64_t window, int64_t stride, int64_t dilation) {
  int64_t positions = (extent + stride - 1) / stride;
  int64_t reach = dilation * (window - 1) + 1;
  return std::max<int64_t>((positions - 1) * stride + reach - extent, 0);
}

Value pool(const char* op, const Value& x, const Pool& options) {
  return apply1(op, {x},
                {{"window", list(options.window)},
                 {"strides", list(options.strides)},
                 {"pads", list(options.padding)}});
}

}  // namespace

namespace {

// The dimensions in front of a matrix.
Shape batch_of(const Shape& shape) { return Shape(shape.dims().first(size_t(shape.rank()) - 2)); }

Value with_batch(const Value& x, const Shape& batch) {
  Ints dims(batch.begin(), batch.end());
  dims.insert(dims.end(), x.shape().end() - 2, x.shape().end());
  return emit::broadcast_to(x, Shape(std::span<const int64_t>(dims)));
}

}  // namespace

// A vector is a row on the left and a column on the right. Batches broadcast, unless the right side
// has none: that is one product.
Value matmul(const Value& a, const Value& b, const MatMul& options) {
  int left_rank = a.shape().rank(), right_rank = b.shape().rank();
  if (left_rank == 1 && right_rank >= 1)
    return squeeze(matmul(expand_dims(a, 0), b, {.transpose_b = options.transpose_b}),
                   right_rank == 1 ? 0 : -2);
  if (right_rank == 1 && left_rank >= 2)
    return squeeze(matmul(a, expand_dims(b, 1), {.transpose_a = options.transpose_a}), -1);
  if (left_rank >= 2 && right_rank >= 2 && right_rank != 2 &&
      !(batch_of(a.shape()) == batch_of(b.shape()))) {
    Shape batch = broadcast(batch_of(a.shape()), batch_of(b.shape()));
    return emit::matmul(with_batch(a, batch), with_batch(b, batch), options.transpose_a,
                        options.transpose_b);
  }
  return emit::matmul(a, b, options.transpose_a, options.transpose_b);
}

Padding same_padding(const Shape& input, std::array<int64_t, 2> window,
                     std::array<int64_t, 2> strides, std::array<int64_t, 2> dilation) {
  if (input.rank() != 4)
    throw ShapeError(
        fmt::format("same padding: expected 4-D input [B, H, W, C], got {}", to_string(input)));
  if (input[1] < 0 || input[2] < 0)
    throw ShapeError(fmt::format(
        "same padding depends on the image's size, which is unknown in {}; use a layer, "
        "or call it inside of one",
        to_string(input)));
  int64_t height = same_total(input[1], window[0], strides[0], dilation[0]);
  int64_t width = same_total(input[2], window[1], strides[1], dilation[1]);
  // An odd pixel goes to the bottom or the right.
  return {.top = height / 2,
          .bottom = height - height / 2,
          .left = width / 2,
          .right = width - width / 2};
}

Value conv2d(const Value& x, const Value& kernel, const Conv& options) {
  return apply1("conv2d", {x, kernel},
                {{"strides", list(options.strides)},
                 {"pads", list(options.padding)},
                 {"dilation", list(options.dilation)},
                 {"groups", options.groups},
                 {"activation", std::string()},
                 {"alpha", 0.0}});
}

// Filter c · multiplier + m of the grouped convolution sees channel c alone: [kh, kw, C,
// multiplier] is [kh, kw, 1, C · multiplier] in memory.
Value depthwise_conv2d(const Value& x, const Value& kernel, const Conv& options) {
  const Shape& shape = kernel.shape();
  if (shape.rank() != 4)
    throw ShapeError(
        fmt::format("depthwise_conv2d: expected a 4-D kernel [kh, kw, C, multiplier], got {}",
                    to_string(shape)));
  Conv grouped = options;
  grouped.groups = shape[2];
  return conv2d(x, reshape_beside(x, kernel, {shape[0], shape[1], 1, shape[2] * shape[3]}),
                grouped);
}

Value conv2d_transpose(const Value& x, const Value& kernel, const ConvTranspose& options) {
  return apply1("conv2d_transpose", {x, kernel},
                {{"strides", list(options.strides)},
                 {"pads", list(options.padding)},
                 {"output_padding", list(options.output_padding)},
                 {"dilation", list(options.dilation)},
                 {"groups", options.groups}});
}

Value max_pool2d(const Value& x, const Pool& options) { return pool("max_pool2d", x, options); }

Value average_pool2d(const Value& x, const Pool& options) { return pool("avg_pool2d", x, options); }

}  // namespace stoker::ops
