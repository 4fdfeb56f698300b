#include "engine/cpu/layout.h"

namespace stoker::cpu {

namespace {

using dnnl::memory;
constexpr auto kFloat = memory::data_type::f32;

Desc strided(const memory::dims& dims, const memory::dims& strides) {
  return {dims, kFloat, strides};
}

}  // namespace

bool same_bytes(const Desc& a, const Desc& b) {
  if (a == b) return true;
  Blocks left = blocks_of(a), right = blocks_of(b);
  if (left.dims != right.dims || left.type != right.type || !left.blocked || !right.blocked ||
      !left.inner_sizes.empty() || !right.inner_sizes.empty())
    return false;
  for (size_t axis = 0; axis < left.dims.size(); ++axis)
    if (left.dims[axis] > 1 && left.strides[axis] != right.strides[axis]) return false;
  return true;
}

Layout::Layout(const Desc& row_major, const Desc& desc)
    : plain_(same_bytes(row_major, desc)), row_major_(row_major), desc_(desc) {}

bool Layout::is_padded() const {
  if (plain_) return false;
  Blocks blocks = blocks_of(desc_);
  return blocks.dims != blocks.padded;
}

size_t Layout::bytes(const TensorSpec& spec) const {
  return plain_ ? size_t(spec.shape.elements()) * size_of(spec.dtype) : desc_.get_size();
}

int64_t Layout::stored_elements(const TensorSpec& spec) const {
  return int64_t(bytes(spec) / size_of(spec.dtype));
}

bool operator==(const Layout& a, const Layout& b) {
  if (a.plain_ || b.plain_) return a.plain_ && b.plain_;
  return a.row_major_ == b.row_major_ && a.desc_ == b.desc_;
}

Desc image_desc(const Shape& s) {
  int64_t h = s[1], w = s[2], c = s[3];
  return strided({s[0], c, h, w}, {h * w * c, 1, w * c, c});
}

Desc kernel_desc(const Shape& s, int64_t groups) {
  int64_t h = s[0], w = s[1], i = s[2], o = s[3];
  if (groups == 1) return strided({o, i, h, w}, {1, o, w * i * o, i * o});
  int64_t each = o / groups;
  return strided({groups, each, i, h, w}, {each, 1, o, w * i * o, i * o});
}

Desc dense_desc(const Shape& image, int64_t units) {
  int64_t h = image[1], w = image[2], c = image[3];
  // Row k of the matrix is pixel (y, x) and channel c of the image: k = (y · W + x) · C + c.
  return strided({units, c, h, w}, {1, units, w * c * units, c * units});
}

Desc matrix_desc(const Shape& shape, bool transposed) {
  memory::dims dims(shape.begin(), shape.end()), strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  if (transposed) {
    size_t last = dims.size() - 1;
    std::swap(dims[last], dims[last - 1]);
    std::swap(strides[last], strides[last - 1]);
  }
  return strided(dims, strides);
}

Desc vector_desc(int64_t elements) { return strided({elements}, {1}); }

Desc any_desc(const Desc& desc) {
  return {dims_of(desc), blocks_of(desc).type, memory::format_tag::any};
}

Desc with_dtype(const Desc& plain, DType dtype) {
  if (dtype == DType::float32) return plain;
  Blocks blocks = blocks_of(plain);
  return {blocks.dims, dtype == DType::bfloat16 ? memory::data_type::bf16 : memory::data_type::f16,
          blocks.strides};
}

bool view_image(const TensorSpec& spec, const Layout& layout, ImageView& view) {
  const Shape& s = spec.shape;
  if (s.rank() != 4) return false;
  view = {s[0], s[1], s[2], s[3], 1, s[3], s[1] * s[2] * s[3], 0, s[3]};
  if (layout.is_plain()) return true;
  Blocks blocks = blocks_of(layout.desc());
  if (layout.row_major() != image_desc(s) || !blocks.blocked || blocks.offset != 0 ||
      blocks.inner_axes != Dims{1})
    return false;
  int64_t inner = blocks.inner_sizes[0];
  const Dims& strides = blocks.strides;
  if (strides[3] != inner || strides[2] != inner * s[2] || strides[1] != inner * s[2] * s[1])
    return false;
  view.inner = view.pixel_stride = inner;
  view.blocks = blocks.padded[1] / inner;
  view.block_stride = strides[1];
  view.image_stride = strides[0];
  return true;
}

Layout blocked_like(const TensorSpec& spec, const Layout& layout, const Shape& other) {
  ImageView view;
  if (layout.is_plain() || !view_image(spec, layout, view)) return {};
  auto tag = view.inner == 16 ? memory::format_tag::nChw16c : memory::format_tag::nChw8c;
  if (view.inner != 16 && view.inner != 8) return {};
  return {image_desc(other), Desc({other[0], other[3], other[1], other[2]}, kFloat, tag)};
}

}  // namespace stoker::cpu
