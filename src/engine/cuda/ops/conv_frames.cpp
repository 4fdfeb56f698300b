#include "engine/cuda/ops/conv_frames.h"

#include "engine/cuda/kernels/depthwise.h"
#include "engine/cuda/kernels/rgb_stem.h"
#include "engine/cuda/kernels/tall_product.h"

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
      is_pixel_product(s) && is_tall_product(dtype, tall_shape(s).rows, s.channels, s.filters);
  return is_depthwise(s) || is_patch_conv(s, dtype) || tall;
}

bool is_pixel_product(const ConvShape& s) {
  return s.groups == 1 && s.kernel_y * s.kernel_x == 1 && s.stride_y == 1 && s.stride_x == 1 &&
         s.top + s.bottom + s.left + s.right == 0;
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

StridedCopy frame_copy(const ConvShape& own, const ConvShape& framed, DType dtype, bool into) {
  StridedCopy copy;
  copy.element = int(size_of(dtype));
  copy.rank = 4;
  int64_t dims[4] = {own.batch, own.height, own.width, own.channels};
  int64_t small[4] = {int64_t(own.height) * own.width * own.channels,
                      int64_t(own.width) * own.channels, own.channels, 1};
  int64_t large[4] = {int64_t(framed.height) * framed.width * framed.channels,
                      int64_t(framed.width) * framed.channels, framed.channels, 1};
  int64_t offset = framed.height == own.height && framed.width == own.width
                       ? 0
                       : own.top * large[1] + own.left * large[2];
  for (int axis = 0; axis < 4; ++axis) {
    copy.dims[axis] = dims[axis];
    copy.from_strides[axis] = (into ? small : large)[axis];
    copy.to_strides[axis] = (into ? large : small)[axis];
  }
  (into ? copy.to_offset : copy.from_offset) = offset;
  copy.elements = dims[0] * dims[1] * dims[2] * dims[3];
  return copy;
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
  if (own.height == framed.height && own.width == framed.width) {
    int64_t pixels = int64_t(own.batch) * own.height * own.width;
    b.emit({"own:pad", {x}, {to}, "pad"}, [=](const Launch& at) {
      run_pad_channels(dtype, at.get(0), at.get(1), pixels, own.channels, framed.channels,
                       at.stream);
    });
    return to;
  }
  StridedCopy copy = frame_copy(own, framed, dtype, true);
  b.emit({"own:pad", {x}, {to}, "pad"},
         [copy, bytes = image_bytes(framed, dtype)](const Launch& at) {
           check(cudaMemsetAsync(at.get(1), 0, bytes, at.stream), "zeroing a frame");
           StridedCopy bound = copy;
           bound.from = at.get(0);
           bound.to = at.get(1);
           run_strided_copy(bound, at.stream);
         });
  return to;
}

std::shared_ptr<const ConvPlan> find_conv_plan(Builder& b, ConvKey key) {
  key.tf32 = b.options().tf32 && key.dtype == DType::float32;
  key.deterministic = b.options().deterministic;
  return b.shared().conv_plans.find(key, b.shared().pool);
}

bool prefers_direct_conv(const ConvShape& s, DType dtype) {
  bool grey = s.groups == 1 && s.channels == 1 && s.kernel_y * s.kernel_x <= 25;
  return grey || is_rgb_stem(s, dtype) || is_depthwise(s);
}

}  // namespace stoker::cuda
