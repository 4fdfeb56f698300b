// The geometry of a convolution in oneDNN's terms, shared by the forward and the two gradient
// builders.
#pragma once

#include "engine/cpu/builder.h"

namespace stoker::cpu {

// Which layout convolutions want their images in. With AVX-512, oneDNN 2.6 is best on plain NHWC
// (one core of an Ice Lake, 64→128 filters at 13×13: forward 157 GFLOP/s against 88 in blocks of
// channels, weight gradient 121 against 79). With AVX2 blocks win by up to 10 %, and the choice is
// left to it.
bool convolves_channels_last();

struct Convolution {
  dnnl::memory::dims strides, dilation, before, after;
  int64_t groups;
  Desc x, w, y;  // plain tensors in oneDNN's order of dimensions

  Convolution(const Attrs& attrs, const TensorSpec& x_spec, const TensorSpec& w_spec,
              const TensorSpec& y_spec);

  // x or y as a primitive is asked for it.
  Desc image(const Desc& plain) const {
    return convolves_channels_last() ? plain : any_desc(plain);
  }
  Desc bias() const { return vector_desc(dims_of(y)[1]); }
  dnnl::convolution_forward::primitive_desc forward(bool with_bias,
                                                    const dnnl::primitive_attr& attr) const;
  // The forward primitive that a gradient takes as a hint: all operands in the gradient's dtype.
  dnnl::convolution_forward::primitive_desc hint(bool with_bias) const;
};

}  // namespace stoker::cpu
