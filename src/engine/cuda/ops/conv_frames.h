// A convolution as cuDNN is asked for it: even padding and, in sixteen bits, channels in multiples
// of eight. What is not so is copied into shape first.
#pragma once

#include <memory>

#include "engine/cuda/builder.h"
#include "engine/cuda/kernels/shape.h"

namespace stoker::cuda {

ConvShape conv_shape_of(const Node& node, const Shape& x, const Shape& w, const Shape& y);
// The same convolution as cuDNN is asked for it.
ConvShape shape_for_cudnn(const ConvShape& shape, DType dtype);

size_t image_bytes(const ConvShape& shape, DType dtype);

// Copies between an image and the same image in a larger frame.
bool is_framed(const ConvShape& own, const ConvShape& framed);
StridedCopy frame_copy(const ConvShape& own, const ConvShape& framed, DType dtype, bool into);
// The buffer of x as cuDNN is to see it.
int framed_image(Builder& b, int x, const ConvShape& own, const ConvShape& framed, DType dtype);

std::shared_ptr<const ConvPlan> find_conv_plan(Builder& b, ConvKey key);
// Few channels: cuDNN would pad them to eight and read mostly zeros. Not for the image's gradient.
bool prefers_direct_conv(const ConvShape& shape, DType dtype);

}  // namespace stoker::cuda
