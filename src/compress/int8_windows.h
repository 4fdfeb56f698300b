// Sequences and volumes for layers that slide windows over images: a sequence [B, T, C] is an image
// of one row, [B, 1, T, C], and poolings of volumes take two axes at a time.
#pragma once

#include "compress/quant_plan.h"

namespace stoker::compress {

// Spatial axes of a convolution or pooling: of "Conv1D" one.
int axes_of(const std::string& kind);

// What the int8 layer of a convolution reads. x holds codes; `zero_point` is the code of the number
// 0, which pads a causal one.
Value window_input(const Step& step, const Value& x, int64_t zero_point);
// Its result as the step returns it.
Value window_result(const Step& step, const Value& y);
// Its options kernel_size, strides, dilation_rate and padding.
void set_window(const Step& step, Attrs& config);

// A pooling as one or two of images, each with options of its own.
struct PoolStage {
  Shape before;   // the shape of its image, the batch aside; empty: as it comes
  Attrs options;  // pool_size, strides, padding; or global, keepdims
};
std::vector<PoolStage> pool_stages(const Step& step, const Shape& x);

}  // namespace stoker::compress
