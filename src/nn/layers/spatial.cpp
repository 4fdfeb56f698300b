#include "nn/layers/spatial.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/volume_ops.h>

namespace stoker {

bool FieldType<Size3>::read(const Attrs& attrs, std::string_view name, Size3& value) {
  Ints values;
  if (!fields::read_ints(fields::entry(attrs, name), values)) return false;
  if (values.size() == 1) value = values[0];
  if (values.size() == 3) value = {values[0], values[1], values[2]};
  return values.size() == 1 || values.size() == 3;
}

std::string FieldType<Size3>::text(Size3 value) {
  return fmt::format("{{{}, {}, {}}}", value.depth, value.height, value.width);
}

bool FieldType<Edges3>::read(const Attrs& attrs, std::string_view name, Edges3& value) {
  Ints values;
  if (!fields::read_ints(fields::entry(attrs, name), values) || values.size() != 6) return false;
  value = {{values[0], values[1]}, {values[2], values[3]}, {values[4], values[5]}};
  return true;
}

std::string FieldType<Edges3>::text(const Edges3& value) {
  return fmt::format("{{{{{}, {}}}, {{{}, {}}}, {{{}, {}}}}}", value.depth[0], value.depth[1],
                     value.height[0], value.height[1], value.width[0], value.width[1]);
}

const char* input_dims(size_t axes) {
  constexpr std::array<const char*, 3> kDims = {"[B, T, C]", "[B, H, W, C]", "[B, D, H, W, C]"};
  return kDims[axes - 1];
}

Shape kernel_shape(std::span<const int64_t> size, int64_t a, int64_t b) {
  std::vector<int64_t> dims(size.begin(), size.end());
  dims.push_back(a);
  dims.push_back(b);
  return Shape(std::span<const int64_t>(dims));
}

// A sequence is an image of one row.
Value convolve(const Value& x, const Value& kernel, const SpatialWindow<1>& window) {
  SpatialWindow<2> row{.size = {1, window.size[0]},
                       .strides = {1, window.strides[0]},
                       .dilation = {1, window.dilation[0]},
                       .same = window.same,
                       .groups = window.groups};
  return ops::squeeze(convolve(ops::expand_dims(x, 1), ops::expand_dims(kernel, 0), row), 1);
}

Value convolve(const Value& x, const Value& kernel, const SpatialWindow<2>& window) {
  ops::Conv how{.strides = window.strides, .dilation = window.dilation, .groups = window.groups};
  if (window.same)
    how.padding = ops::same_padding(x.shape(), window.size, window.strides, window.dilation);
  return ops::conv2d(x, kernel, how);
}

Value convolve(const Value& x, const Value& kernel, const SpatialWindow<3>& window) {
  ops::Conv3 how{.strides = window.strides, .dilation = window.dilation, .groups = window.groups};
  if (window.same)
    how.padding = ops::same_padding3d(x.shape(), window.size, window.strides, window.dilation);
  return ops::conv3d(x, kernel, how);
}

}  // namespace stoker
