// Max and average pooling over one, two or three axes, and their global forms.
#include <fmt/format.h>
#include <stoker/pooling_layers.h>
#include <stoker/volume_ops.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/spatial.h"

namespace stoker {

namespace {

enum class PoolKind : uint8_t { max, average };

constexpr const char* pool_kind(PoolKind pool, size_t axes) {
  constexpr const char* kMax[] = {"MaxPooling1D", "MaxPooling2D", "MaxPooling3D"};
  constexpr const char* kAverage[] = {"AveragePooling1D", "AveragePooling2D", "AveragePooling3D"};
  return (pool == PoolKind::max ? kMax : kAverage)[axes - 1];
}
constexpr const char* global_pool_kind(PoolKind pool, size_t axes) {
  constexpr const char* kMax[] = {"GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D"};
  constexpr const char* kAverage[] = {"GlobalAveragePooling1D", "GlobalAveragePooling2D",
                                      "GlobalAveragePooling3D"};
  return (pool == PoolKind::max ? kMax : kAverage)[axes - 1];
}

// The layer, for its checks of the input.
class PoolingBase : public SingleInputLayer {
 protected:
  using SingleInputLayer::SingleInputLayer;
  void expect(const Value& x, size_t axes) const {
    expect_float(x);
    if (axes == 1) return expect_sequence(x.shape());
    if (axes == 2) return expect_image(x.shape());
    if (x.shape().rank() != 5) fail_input("5-D input [B, D, H, W, C]", x.shape());
  }
};

// --- windows --------------------------------------------------------------------------------------

Value pool_windows(PoolKind pool, const Value& x, const SpatialWindow<2>& window) {
  ops::Pool how{.window = window.size, .strides = window.strides};
  if (window.same) how.padding = ops::same_padding(x.shape(), how.window, how.strides);
  return pool == PoolKind::max ? ops::max_pool2d(x, how) : ops::average_pool2d(x, how);
}

// On an image of one row, [B, 1, T, C].
Value pool_windows(PoolKind pool, const Value& x, const SpatialWindow<1>& window) {
  SpatialWindow<2> row{.size = {1, window.size[0]},
                       .strides = {1, window.strides[0]},
                       .dilation = {1, 1},
                       .same = window.same};
  return ops::squeeze(pool_windows(pool, ops::expand_dims(x, 1), row), 1);
}

Value pool_windows(PoolKind pool, const Value& x, const SpatialWindow<3>& window) {
  ops::Pool3 how{.window = window.size, .strides = window.strides};
  if (window.same) how.padding = ops::same_padding3d(x.shape(), how.window, how.strides);
  return pool == PoolKind::max ? ops::max_pool3d(x, how) : ops::average_pool3d(x, how);
}

template <PoolKind pool, class Options, class Size>
struct PoolingConfig : Options {
  Size pool_size = 2;
  static constexpr const char* kKind = pool_kind(pool, kSpatialRank<Size>);
  static Fields<PoolingConfig> fields() {
    using C = PoolingConfig;
    return {{"padding", &C::padding, one_of({"valid", "same"})},
            {"pool_size", &C::pool_size, at_least(1)},
            {"strides", &C::strides, at_least(1)}};
  }
  // Strides of 0 are the pool's size.
  PoolingConfig decided() && {
    if (this->strides == Size(0)) this->strides = pool_size;
    return *this;
  }
};

template <PoolKind pool, class Options, class Size>
class PoolingLayer : public Configured<PoolingBase, PoolingConfig<pool, Options, Size>> {
 public:
  explicit PoolingLayer(PoolingConfig<pool, Options, Size> config)
      : Configured<PoolingBase, PoolingConfig<pool, Options, Size>>(std::move(config).decided()) {}

 protected:
  Value forward(const Value& x, CallContext&) override {
    this->expect(x, kSpatialRank<Size>);
    return pool_windows(
        pool, x,
        SpatialWindow<kSpatialRank<Size>>{.size = extents(this->options().pool_size),
                                          .strides = extents(this->options().strides),
                                          .dilation = extents(Size(1)),
                                          .same = this->options().padding == "same"});
  }
};

// --- global ---------------------------------------------------------------------------------------

template <PoolKind pool, class Options, size_t axes>
struct GlobalPoolingConfig : Options {
  static constexpr const char* kKind = global_pool_kind(pool, axes);
  static Fields<GlobalPoolingConfig> fields() {
    return {{"keepdims", &GlobalPoolingConfig::keepdims}};
  }
};

template <PoolKind pool, class Options, size_t axes>
class GlobalPoolingLayer
    : public Configured<PoolingBase, GlobalPoolingConfig<pool, Options, axes>> {
 public:
  using Configured<PoolingBase, GlobalPoolingConfig<pool, Options, axes>>::Configured;
  // The mean over time takes the mask, which ends with the steps; Keras's maximum does not.
  static constexpr bool kTakesMask = axes == 1 && pool == PoolKind::average;
  bool supports_masking() const override { return kTakesMask; }
  Values compute_mask(const Values&, const Values&) const override { return {}; }

 protected:
  Value forward(const Value& x, CallContext& context) override {
    this->expect(x, axes);
    ops::Reduce over{.keepdims = this->options().keepdims};
    for (size_t axis = 1; axis <= axes; ++axis) over.axes.push_back(int64_t(axis));
    if (pool == PoolKind::max) return ops::max(x, over);
    Value mask;
    if (kTakesMask) mask = context.mask();
    if (!mask.defined()) return ops::mean(x, over);
    Value counts = ops::expand_dims(mask, -1);
    Value steps = ops::cast(ops::sum(counts, over), DType::float32);  // 16 bits count to 256
    Value mean = ops::sum(ops::where(counts, x, 0.0), over) / steps;
    return mean.dtype() == x.dtype() ? mean : ops::cast(mean, x.dtype());
  }
};

template <PoolKind pool>
using Pool1D = PoolingLayer<pool, Pooling1DOptions, int64_t>;
template <PoolKind pool>
using Pool2D = PoolingLayer<pool, Pooling2DOptions, Size2>;
template <PoolKind pool>
using Pool3D = PoolingLayer<pool, Pooling3DOptions, Size3>;
template <PoolKind pool>
using GlobalPool1D = GlobalPoolingLayer<pool, GlobalPooling1DOptions, 1>;
template <PoolKind pool>
using GlobalPool2D = GlobalPoolingLayer<pool, GlobalPooling2DOptions, 2>;
template <PoolKind pool>
using GlobalPool3D = GlobalPoolingLayer<pool, GlobalPooling3DOptions, 3>;

template <PoolKind pool>
void add_pools(LayerKinds& kinds) {
  add_layer<Pool1D<pool>>(kinds);
  add_layer<Pool2D<pool>>(kinds);
  add_layer<Pool3D<pool>>(kinds);
  add_layer<GlobalPool1D<pool>>(kinds);
  add_layer<GlobalPool2D<pool>>(kinds);
  add_layer<GlobalPool3D<pool>>(kinds);
}

constexpr PoolKind kMaximum = PoolKind::max, kAverage = PoolKind::average;

}  // namespace

MaxPooling1D::MaxPooling1D(int64_t pool_size, const Pooling1DOptions& options)
    : Layer(configured<Pool1D<kMaximum>>({options, pool_size})) {}
MaxPooling2D::MaxPooling2D(Size2 pool_size, const Pooling2DOptions& options)
    : Layer(configured<Pool2D<kMaximum>>({options, pool_size})) {}
MaxPooling3D::MaxPooling3D(Size3 pool_size, const Pooling3DOptions& options)
    : Layer(configured<Pool3D<kMaximum>>({options, pool_size})) {}
AveragePooling1D::AveragePooling1D(int64_t pool_size, const Pooling1DOptions& options)
    : Layer(configured<Pool1D<kAverage>>({options, pool_size})) {}
AveragePooling2D::AveragePooling2D(Size2 pool_size, const Pooling2DOptions& options)
    : Layer(configured<Pool2D<kAverage>>({options, pool_size})) {}
AveragePooling3D::AveragePooling3D(Size3 pool_size, const Pooling3DOptions& options)
    : Layer(configured<Pool3D<kAverage>>({options, pool_size})) {}

GlobalMaxPooling1D::GlobalMaxPooling1D(const GlobalPooling1DOptions& options)
    : Layer(configured<GlobalPool1D<kMaximum>>({options})) {}
GlobalMaxPooling2D::GlobalMaxPooling2D(const GlobalPooling2DOptions& options)
    : Layer(configured<GlobalPool2D<kMaximum>>({options})) {}
GlobalMaxPooling3D::GlobalMaxPooling3D(const GlobalPooling3DOptions& options)
    : Layer(configured<GlobalPool3D<kMaximum>>({options})) {}
GlobalAveragePooling1D::GlobalAveragePooling1D(const GlobalPooling1DOptions& options)
    : Layer(configured<GlobalPool1D<kAverage>>({options})) {}
GlobalAveragePooling2D::GlobalAveragePooling2D(const GlobalPooling2DOptions& options)
    : Layer(configured<GlobalPool2D<kAverage>>({options})) {}
GlobalAveragePooling3D::GlobalAveragePooling3D(const GlobalPooling3DOptions& options)
    : Layer(configured<GlobalPool3D<kAverage>>({options})) {}

void add_pooling_layers(LayerKinds& kinds) {
  add_pools<kMaximum>(kinds);
  add_pools<kAverage>(kinds);
}

}  // namespace stoker
