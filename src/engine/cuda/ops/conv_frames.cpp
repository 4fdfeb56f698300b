#include "engine/cuda/ops/conv_frames.h"

#include "engine/cuda/kernels/depthwise.h"
#include "engine/cuda/kernels/rgb_stem.h"
#include "engine/cuda/kernels/tall_product.h"
#include "engine/cuda/kernels/tile_conv.h"

namespace stoker::cuda {

ConvShape conv_shape_of(const Node& node, const Shape& x, const Shape& w, const Shape& y) {
  const auto &strides = node.attrs.get<Ints>("strides"), &pads = node.attrs.get<Ints>("pads");
  auto dilation = node.attrs.get_or<Ints>("dilation", {1, 1});
  ConvShape s;
  s.batch = int(x[0]);
  s.height = int(x[1]);
  s.width = int(x[2]);
  s.channels = int(x[3]);
  s.out_height = int(y[1]);
  s.out_width = int(y[2]);
  s.filters = int(y[3]);
  s.kernel_y = int(w[0]);
  s.kernel_x = int(w[1]);
  s.stride_y = int(strides[0]);
  s.stride_x = int(strides[1]);
  s.top = int(pads[0]);
  s.bottom = int(pads[1]);
  s.left = int(pads[2]);
  s.right = int(pads[3]);
  s.dilation_y = int(dilation[0]);
  s.dilation_x = int(dilation[1]);
  s.groups = int(node.attrs.get_or<int64_t>("groups", 1));
  return s;
}

bool takes_kernel_as_it_is(const Graph& graph, const Node& conv) {
  const Shape &in = graph.spec(conv.inputs[0]).shape, &w = graph.spec(conv.inputs[1]).shape,
              &out = graph.spec(conv.outputs[0]).shape;
  bool forward = conv.is("conv2d");
  ConvShape s = conv_shape_of(conv, forward ? in : out, w, forward ? out : in);
  DType dtype = graph.spec(conv.inputs[0]).dtype;
  bool tall =
      is_tall_conv(s, dtype) && is_tall_product(dtype, tall_shape(s).rows, s.channels, s.filters);
  bool tiles = forward ? is_tile_conv(s, dtype) : is_tile_conv_input_grad(s, dtype);
  return is_depthwise(s) || is_patch_conv(s, dtype) || is_small_product(s) || tall || tiles;
}

bool is_tall_conv(const ConvShape& s, DType dtype) {
  return s.groups == 1 && is_pixel_product(s) && !is_tile_conv(s, dtype);
}

TallShape tall_shape(const ConvShape& s) {
  return {int64_t(s.batch) * s.height * s.width, s.channels, s.filters};
}

ConvShape shape_for_cudnn(const ConvShape& shape, DType dtype) {
  ConvShape s = shape;
  s.channels = int(conv_padding(dtype, shape.channels, shape.groups));
  if (s.top != s.bottom || s.left != s.right) {
    s.height += s.top + s.bottom;
    s.width += s.left + s.right;
    s.top = s.bottom = s.left = s.right = 0;
  }
  return s;
}

FrameCopy frame_copy(const ConvShape& own, const ConvShape& framed, DType dtype, Frame way) {
  // Padding that became a part of the image.
  bool padded = framed.height != own.height || framed.width != own.width;
  int top = padded ? own.top : 0, left = padded ? own.left : 0;
  const ConvShape &from = way == Frame::put ? own : framed, &to = way == Frame::put ? framed : own;
  FrameCopy copy;
  copy.element = int(size_of(dtype));
  copy.images = own.batch;
  copy.rows = from.height, copy.columns = from.width, copy.channels = from.channels;
  copy.to_rows = to.height, copy.to_columns = to.width, copy.to_channels = to.channels;
  copy.top = way == Frame::put ? top : -top;
  copy.left = way == Frame::put ? left : -left;
  return copy;
}

void emit_frame_copy(Builder& b, const FrameCopy& copy, const char* op, int from, int to) {
  b.emit({"own:frame", {from}, {to}, op}, [copy](const Launch& at) {
    FrameCopy bound = copy;
    bound.from = at.get(0);
    bound.to = at.get(1);
    run_frame_copy(bound, at.stream);
  });
}

size_t image_bytes(const ConvShape& s, DType dtype) {
  return size_t(s.batch) * size_t(s.height) * size_t(s.width) * size_t(s.channels) * size_of(dtype);
}

bool is_framed(const ConvShape& own, const ConvShape& framed) {
  return own.height != framed.height || own.width != framed.width ||
         own.channels != framed.channels;
}

int framed_image(Builder& b, int x, const ConvShape& own, const ConvShape& framed, DType dtype) {
  if (!is_framed(own, framed)) return x;
  int to = b.scratch(image_bytes(framed, dtype));
  emit_frame_copy(b, frame_copy(own, framed, dtype, Frame::put), "pad", x, to);
  return to;
}

std::shared_ptr<const ConvPlan> find_conv_plan(Builder& b, ConvKey key) {
  key.tf32 = b.options().tf32 && key.dtype == DType::float32;
  key.deterministic = b.options().deterministic;
  return b.shared().conv_plans.find(key, b.shared().pool);
}

bool prefers_direct_conv(const ConvShape& s, DType dtype) {
  bool grey = s.groups == 1 && s.channels == 1 && s.kernel_y * s.kernel_x <= 25;
  return grey || is_rgb_stem(s, dtype) || is_depthwise(s) || is_tile_conv(s, dtype);
}

bool prefers_direct_input_grad(const ConvShape& s, DType dtype) {
  return is_depthwise(s) || is_tile_conv_input_grad(s, dtype);
}

}  // namespace stoker::cuda
