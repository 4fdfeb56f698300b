// Layers over one, two or three spatial axes as one piece of code: sizes and edges of any of them as
// lists, the options as fields, and the convolution over that many axes.
#pragma once

#include <array>
#include <optional>

#include <stoker/convolution_layers.h>
#include <stoker/ops.h>

#include "graph/functions/volume.h"
#include "nn/field_types.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

template <>
struct FieldType<Size3> : fields::PlainField {
  static constexpr const char* kName = "a depth, a height and a width";
  static void write(Attrs& attrs, std::string_view name, Size3 value) {
    attrs.set(name, Ints{value.depth, value.height, value.width});
  }
  static bool read(const Attrs& attrs, std::string_view name, Size3& value);
  static std::string text(Size3 value);  // {3, 5, 5}
  static std::vector<double> numbers(Size3 value) {
    return {double(value.depth), double(value.height), double(value.width)};
  }
};

template <>
struct FieldType<Edges3> : fields::PlainField {
  static constexpr const char* kName = "front, back, top, bottom, left and right";
  static void write(Attrs& attrs, std::string_view name, const Edges3& value) {
    attrs.set(name, Ints{value.depth[0], value.depth[1], value.height[0], value.height[1],
                         value.width[0], value.width[1]});
  }
  static bool read(const Attrs& attrs, std::string_view name, Edges3& value);
  static std::string text(const Edges3& value);  // {{1, 1}, {2, 2}, {0, 0}}
  static std::vector<double> numbers(const Edges3& value) {
    return {double(value.depth[0]),  double(value.depth[1]), double(value.height[0]),
            double(value.height[1]), double(value.width[0]), double(value.width[1])};
  }
};

// One extent per spatial axis.
inline std::array<int64_t, 1> extents(int64_t size) { return {size}; }
inline std::array<int64_t, 2> extents(Size2 size) { return {size.height, size.width}; }
inline std::array<int64_t, 3> extents(Size3 size) { return {size.depth, size.height, size.width}; }
template <class Size>
inline constexpr size_t kSpatialRank = std::tuple_size_v<decltype(extents(Size(1)))>;

// Before and after, per spatial axis.
using Spans = std::vector<std::array<int64_t, 2>>;
inline Spans spans(const Edges1& edges) { return {{edges.left, edges.right}}; }
inline Spans spans(const Edges2& edges) {
  return {{edges.top, edges.bottom}, {edges.left, edges.right}};
}
inline Spans spans(const Edges3& edges) { return {edges.depth, edges.height, edges.width}; }

// "[B, T, C]", "[B, H, W, C]", "[B, D, H, W, C]"
const char* input_dims(size_t axes);

// [k…, a, b]
Shape kernel_shape(std::span<const int64_t> size, int64_t a, int64_t b);

// How a window moves, per spatial axis; padding is Keras's word.
template <size_t N>
struct SpatialWindow {
  std::array<int64_t, N> size, strides, dilation;
  bool same = false;
  int64_t groups = 1;
};

// x: [B, …, C], kernel: [k…, C / groups, filters]
Value convolve(const Value& x, const Value& kernel, const SpatialWindow<1>& window);
Value convolve(const Value& x, const Value& kernel, const SpatialWindow<2>& window);
Value convolve(const Value& x, const Value& kernel, const SpatialWindow<3>& window);

using ops::transposed_edge;
using ops::TransposedEdge;

}  // namespace stoker
