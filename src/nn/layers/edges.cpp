// ZeroPadding1D–3D, Cropping1D–3D, UpSampling1D–3D: what happens along each spatial axis, whatever
// their number.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/shape_layers.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/resampled.h"
#include "nn/layers/spatial.h"

namespace stoker {

namespace {

enum class EdgeKind : uint8_t { padding, cropping };

template <class Edges>
inline constexpr size_t kEdgeAxes = std::is_same_v<Edges, Edges1>   ? 1
                                    : std::is_same_v<Edges, Edges2> ? 2
                                                                    : 3;

constexpr const char* edge_kind(EdgeKind kind, size_t axes) {
  constexpr const char* kPadding[] = {"ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D"};
  constexpr const char* kCropping[] = {"Cropping1D", "Cropping2D", "Cropping3D"};
  return (kind == EdgeKind::padding ? kPadding : kCropping)[axes - 1];
}

class EdgeLayer : public SingleInputLayer {
 protected:
  using SingleInputLayer::SingleInputLayer;
  void expect_axes(const Shape& input, size_t axes) const {
    if (axes == 1) return expect_sequence(input);
    if (axes == 2) return expect_image(input);
    if (input.rank() != 5) fail_input("5-D input [B, D, H, W, C]", input);
  }

  Value padded(const Value& x, const Spans& by) const {
    Ints before(size_t(x.shape().rank()), 0), after = before;
    for (size_t axis = 0; axis < by.size(); ++axis) {
      before[axis + 1] = by[axis][0];
      after[axis + 1] = by[axis][1];
    }
    return ops::pad(x, before, after);
  }

  Value cropped(const Value& x, const Spans& by) const {
    const Shape& shape = x.shape();
    Ints begin(size_t(shape.rank()), 0), size(shape.begin(), shape.end());
    bool empty = false;
    for (size_t axis = 0; axis < by.size(); ++axis) {
      begin[axis + 1] = by[axis][0];
      size[axis + 1] -= by[axis][0] + by[axis][1];
      empty |= size[axis + 1] < 1;
    }
    if (empty) fail_input(what_is_cropped(by), shape);
    return ops::slice(x, begin, size);
  }

 private:
  static std::string what_is_cropped(const Spans& by) {
    std::vector<int64_t> sums;
    for (const auto& [before, after] : by) sums.push_back(before + after);
    if (sums.size() == 1)
      return fmt::format("a sequence longer than the {} steps that are cropped", sums[0]);
    if (sums.size() == 2)
      return fmt::format("an image larger than the {} rows and {} columns that are cropped",
                         sums[0], sums[1]);
    return fmt::format("a volume larger than the {} voxels that are cropped", fmt::join(sums, "×"));
  }
};

template <EdgeKind kind, class Edges>
struct EdgeConfig : LayerOptions {
  Edges edges = kind == EdgeKind::cropping && kEdgeAxes<Edges> == 2 ? 0 : 1;  // as Keras
  static constexpr const char* kKind = edge_kind(kind, kEdgeAxes<Edges>);
  static Fields<EdgeConfig> fields() {
    return {{kind == EdgeKind::padding ? "padding" : "cropping", &EdgeConfig::edges, at_least(0)}};
  }
};

template <EdgeKind kind, class Edges>
class EdgesLayer : public Configured<EdgeLayer, EdgeConfig<kind, Edges>> {
 public:
  using Configured<EdgeLayer, EdgeConfig<kind, Edges>>::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    this->expect_axes(x.shape(), kEdgeAxes<Edges>);
    Spans by = spans(this->options().edges);
    return kind == EdgeKind::padding ? this->padded(x, by) : this->cropped(x, by);
  }
};

template <class Edges>
using PaddingLayer = EdgesLayer<EdgeKind::padding, Edges>;
template <class Edges>
using CroppingLayer = EdgesLayer<EdgeKind::cropping, Edges>;

// --- enlarging ------------------------------------------------------------------------------------

// Every element `size` times, per axis: [B, H, 1, W, 1, C] → [B, H, size, W, size, C].
Value repeated(const Value& x, std::span<const int64_t> size) {
  const Shape& shape = x.shape();
  Ints apart = {shape[0]}, wide = {shape[0]}, result = {shape[0]};
  for (size_t axis = 0; axis < size.size(); ++axis) {
    int64_t extent = shape[int(axis) + 1];
    apart.insert(apart.end(), {extent, 1});
    wide.insert(wide.end(), {extent, size[axis]});
    result.push_back(extent * size[axis]);
  }
  for (Ints* dims : {&apart, &wide, &result}) dims->push_back(shape[-1]);
  auto as_shape = [](const Ints& dims) { return Shape(std::span<const int64_t>(dims)); };
  return ops::reshape(ops::broadcast_to(ops::reshape(x, as_shape(apart)), as_shape(wide)),
                      as_shape(result));
}

template <class Size>
struct UpSamplingConfig : LayerOptions {
  Size size = 2;
  static constexpr const char* kKind = kSpatialRank<Size> == 1 ? "UpSampling1D" : "UpSampling3D";
  static Fields<UpSamplingConfig> fields() {
    return {{"size", &UpSamplingConfig::size, at_least(1)}};
  }
};

template <class Size>
class UpSamplingLayer : public Configured<EdgeLayer, UpSamplingConfig<Size>> {
 public:
  using Configured<EdgeLayer, UpSamplingConfig<Size>>::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    this->expect_axes(x.shape(), kSpatialRank<Size>);
    return repeated(x, extents(this->options().size));
  }
};

struct UpSampling2DConfig : UpSampling2DOptions {
  Size2 size = 2;
  static constexpr const char* kKind = "UpSampling2D";
  static Fields<UpSampling2DConfig> fields() {
    return {{"interpolation", &UpSampling2DConfig::interpolation,
             one_of({"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"})},
            {"size", &UpSampling2DConfig::size, at_least(1)}};
  }
};

class UpSampling2DLayer : public Configured<EdgeLayer, UpSampling2DConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_axes(x.shape(), 2);
    std::array<int64_t, 2> by = extents(options().size);
    if (options().interpolation == "nearest") return repeated(x, by);
    expect_float(x);
    return resampled(x, {x.shape()[1] * by[0], x.shape()[2] * by[1]},
                     {.interpolation = options().interpolation});
  }
};

}  // namespace

ZeroPadding1D::ZeroPadding1D(Edges1 padding, const LayerOptions& options)
    : Layer(configured<PaddingLayer<Edges1>>({options, padding})) {}
ZeroPadding2D::ZeroPadding2D(Edges2 padding, const LayerOptions& options)
    : Layer(configured<PaddingLayer<Edges2>>({options, padding})) {}
ZeroPadding3D::ZeroPadding3D(Edges3 padding, const LayerOptions& options)
    : Layer(configured<PaddingLayer<Edges3>>({options, padding})) {}
Cropping1D::Cropping1D(Edges1 cropping, const LayerOptions& options)
    : Layer(configured<CroppingLayer<Edges1>>({options, cropping})) {}
Cropping2D::Cropping2D(Edges2 cropping, const LayerOptions& options)
    : Layer(configured<CroppingLayer<Edges2>>({options, cropping})) {}
Cropping3D::Cropping3D(Edges3 cropping, const LayerOptions& options)
    : Layer(configured<CroppingLayer<Edges3>>({options, cropping})) {}
UpSampling1D::UpSampling1D(int64_t size, const LayerOptions& options)
    : Layer(configured<UpSamplingLayer<int64_t>>({options, size})) {}
UpSampling2D::UpSampling2D(Size2 size, const UpSampling2DOptions& options)
    : Layer(configured<UpSampling2DLayer>({options, size})) {}
UpSampling3D::UpSampling3D(Size3 size, const LayerOptions& options)
    : Layer(configured<UpSamplingLayer<Size3>>({options, size})) {}

void add_edge_layers(LayerKinds& kinds) {
  add_layer<PaddingLayer<Edges1>>(kinds);
  add_layer<PaddingLayer<Edges2>>(kinds);
  add_layer<PaddingLayer<Edges3>>(kinds);
  add_layer<CroppingLayer<Edges1>>(kinds);
  add_layer<CroppingLayer<Edges2>>(kinds);
  add_layer<CroppingLayer<Edges3>>(kinds);
  add_layer<UpSamplingLayer<int64_t>>(kinds);
  add_layer<UpSampling2DLayer>(kinds);
  add_layer<UpSamplingLayer<Size3>>(kinds);
}

}  // namespace stoker
