// How a window slides over an image: shared by convolution and pooling. Positions in padding do not
// exist; loops over a window simply leave them out.
#pragma once

#include <vector>

#include <stoker/attrs.h>

namespace stoker::reference {

struct Window {
  int64_t height = 1, width = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t dilation_y = 1, dilation_x = 1;
  int64_t top = 0, left = 0;

  // Attributes strides, pads [top, bottom, left, right] and, for convolutions, dilation.
  Window(const Attrs& attrs, int64_t window_height, int64_t window_width)
      : height(window_height), width(window_width) {
    const auto& strides = attrs.get<Ints>("strides");
    stride_y = strides[0];
    stride_x = strides[1];
    const auto& pads = attrs.get<Ints>("pads");
    top = pads[0];
    left = pads[2];
    auto dilation = attrs.get_or<Ints>("dilation", {1, 1});
    dilation_y = dilation[0];
    dilation_x = dilation[1];
  }

  // body(row, column, ky, kx) for every pixel of an image under the window at (out_row,
  // out_column), in row-major order.
  template <class Body>
  void for_each(int64_t out_row, int64_t out_column, int64_t image_height, int64_t image_width,
                Body body) const {
    for (int64_t ky = 0; ky < height; ++ky) {
      int64_t row = out_row * stride_y - top + ky * dilation_y;
      if (row < 0 || row >= image_height) continue;
      for (int64_t kx = 0; kx < width; ++kx) {
        int64_t column = out_column * stride_x - left + kx * dilation_x;
        if (column >= 0 && column < image_width) body(row, column, ky, kx);
      }
    }
  }
};

// body(b, row, column) for every pixel of a batch of images [B, H, W, C].
template <class Body>
void for_each_pixel(const Shape& images, Body body) {
  for (int64_t b = 0; b < images[0]; ++b)
    for (int64_t row = 0; row < images[1]; ++row)
      for (int64_t column = 0; column < images[2]; ++column) body(b, row, column);
}

// The position of channel 0 of a pixel.
inline int64_t pixel(const Shape& images, int64_t b, int64_t row, int64_t column) {
  return ((b * images[1] + row) * images[2] + column) * images[3];
}

// body(position in y, positions in x of the window's elements, in row-major order) for a pooling of
// x into y. Its attribute "window" is the window's height and width.
template <class Body>
void for_each_pool(const Attrs& attrs, const Shape& x, const Shape& y, Body body) {
  const auto& size = attrs.get<Ints>("window");
  Window window(attrs, size[0], size[1]);
  std::vector<int64_t> elements;
  for_each_pixel(y, [&](int64_t b, int64_t out_row, int64_t out_column) {
    elements.clear();
    window.for_each(out_row, out_column, x[1], x[2],
                    [&](int64_t row, int64_t column, int64_t, int64_t) {
                      elements.push_back(pixel(x, b, row, column));
                    });
    for (int64_t channel = 0; channel < x[3]; ++channel) {
      body(pixel(y, b, out_row, out_column) + channel, elements);
      for (int64_t& element : elements) ++element;
    }
  });
}

}  // namespace stoker::reference
