// A window that slides over an image: what convolution and pooling share.
#pragma once

#include <array>

#include "graph/ops/shape_rules.h"

namespace stoker::rules {

struct Window {
  std::array<int64_t, 2> size = {1, 1};
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 4> pads = {0, 0, 0, 0};  // top, bottom, left, right
  std::array<int64_t, 2> dilation = {1, 1};
};

std::array<int64_t, 2> read_pair(const Attrs& attrs,
                                 std::string_view name);  // a list of two, both above zero
// "strides" and "pads" from the attributes, checked.
Window read_window(const Attrs& attrs, std::array<int64_t, 2> size);

// Height and width of the output for an image [B, H, W, C]; ShapeError when the window is larger.
std::array<int64_t, 2> output_extent(const Shape& image, const Window& window);

}  // namespace stoker::rules
