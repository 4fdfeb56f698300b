// Where the elements of a tensor lie in memory. Most tensors are plain: row-major in the graph's
// order of dimensions. Convolutions prefer channels in blocks of a vector's width (nChw16c,
// nChw8c), and their kernels in tiles; such a layout is a oneDNN descriptor, whose order of
// dimensions is oneDNN's (N, C, H, W) and not ours.
#pragma once

#include <stoker/tensor.h>

#include "engine/cpu/onednn.h"

namespace stoker::cpu {

// Whether two descriptors put every element at the same place (the stride of a dimension of one
// does not matter).
bool same_bytes(const Desc& a, const Desc& b);

class Layout {
 public:
  Layout() = default;  // plain
  // `desc` as chosen by a primitive; `row_major` describes the plain tensor in the same order of
  // dimensions.
  Layout(const Desc& row_major, const Desc& desc);

  bool is_plain() const { return plain_; }
  // Channels rounded up to a whole block: the bytes behind the last channel are zero, and must stay
  // so.
  bool is_padded() const;
  const Desc& desc() const { return desc_; }            // of a layout that is not plain
  const Desc& row_major() const { return row_major_; }  // likewise
  size_t bytes(const TensorSpec& spec) const;
  // Elements as stored, padding included.
  int64_t stored_elements(const TensorSpec& spec) const;
  friend bool operator==(const Layout& a, const Layout& b);

 private:
  bool plain_ = true;
  Desc row_major_, desc_;
};

// A plain float32 tensor as oneDNN sees it, one function per use.
Desc image_desc(const Shape& shape);                   // [B, H, W, C] as N, C, H, W
Desc kernel_desc(const Shape& shape, int64_t groups);  // [kh, kw, C / g, F] as (g,) O, I, H, W
Desc dense_desc(const Shape& image, int64_t units);    // [H·W·C, units] as O, I, H, W
Desc matrix_desc(const Shape& shape,
                 bool transposed);  // [.., M, N]; transposed: seen as [.., N, M]
Desc vector_desc(int64_t elements);
Desc any_desc(const Desc& desc);  // the same dimensions and dtype, layout left to oneDNN
// The same strides, counted in elements, for another floating dtype.
Desc with_dtype(const Desc& plain, DType dtype);

// An image in blocks of channels, [B][blocks][H·W][inner]; plain NHWC is one block of all channels.
// Blocks lie `block_stride` elements apart and pixels `pixel_stride`, so that kernels need not know
// which it is.
struct ImageView {
  int64_t batch, height, width, channels;
  int64_t blocks, inner;  // channels per block; the last block may be padded
  int64_t image_stride, block_stride, pixel_stride;
};
// False when the layout is neither plain NHWC nor channel-blocked.
bool view_image(const TensorSpec& spec, const Layout& layout, ImageView& view);

// The layout of another image with the same channels: blocked as `layout` is, or plain.
Layout blocked_like(const TensorSpec& spec, const Layout& layout, const Shape& other);

}  // namespace stoker::cpu
