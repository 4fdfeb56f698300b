// A convolution as cuDNN is asked for it: even padding and, in 16-bit floats, channels in multiples
// of eight. What is not so is copied into shape first.
#pragma once

#include <memory>

#include "engine/cuda/builder.h"
#include "engine/cuda/kernels/shape.h"
#include "engine/cuda/ops/products.h"

namespace stoker::cuda {

ConvShape conv_shape_of(const Node& node, const Shape& x, const Shape& w, const Shape& y);
// Whether own kernels or products take the kernel as the graph has it, by the shapes of `conv`,
// which is a conv2d or a conv2d_input_grad.
bool takes_kernel_as_it_is(const Graph& graph, const Node& conv);
// A 1×1 convolution of all pixels that kernels/tall_product.h may take, and what it multiplies.
bool is_tall_conv(const ConvShape& shape, DType dtype);
TallShape tall_shape(const ConvShape& shape);
// The same convolution as cuDNN is asked for it.
ConvShape shape_for_cudnn(const ConvShape& shape, DType dtype);

size_t image_bytes(const ConvShape& shape, DType dtype);

// Copies between an image and the same image in a larger frame.
bool is_framed(const ConvShape& own, const ConvShape& framed);
enum class Frame : uint8_t { put, taken_off };
FrameCopy frame_copy(const ConvShape& own, const ConvShape& framed, DType dtype, Frame way);
void emit_frame_copy(Builder& b, const FrameCopy& copy, const char* op, int from, int to);
// The buffer of x as cuDNN is to see it.
int framed_image(Builder& b, int x, const ConvShape& own, const ConvShape& framed, DType dtype);

std::shared_ptr<const ConvPlan> find_conv_plan(Builder& b, ConvKey key);
// Few channels: cuDNN would pad them to eight and read mostly zeros. Or depthwise: it reaches a
// hundredth of the bandwidth. Or groups and odd channel counts (kernels/tile_conv.h).
bool prefers_direct_conv(const ConvShape& shape, DType dtype);
bool prefers_direct_input_grad(const ConvShape& shape, DType dtype);

}  // namespace stoker::cuda
