// MaxPooling2D, AveragePooling2D and their global forms. Images are [B, H, W, C].
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

enum class PoolKind : uint8_t { max, average };

template <PoolKind pool>
struct Pooling2DConfig : Pooling2DOptions {
  Size2 pool_size = 2;
  static constexpr const char* kKind = pool == PoolKind::max ? "MaxPooling2D" : "AveragePooling2D";
  static Fields<Pooling2DConfig> fields() {
    using C = Pooling2DConfig;
    return {{"padding", &C::padding, one_of({"valid", "same"})},
            {"pool_size", &C::pool_size, at_least(1)},
            {"strides", &C::strides, at_least(1)}};
  }
  // Strides of 0 are the pool's size.
  Pooling2DConfig decided() && {
    if (strides == Size2(0)) strides = pool_size;
    return *this;
  }
};

template <PoolKind pool>
class Pooling2DLayer : public Configured<SingleInputLayer, Pooling2DConfig<pool>> {
 public:
  explicit Pooling2DLayer(Pooling2DConfig<pool> config)
      : Configured<SingleInputLayer, Pooling2DConfig<pool>>(std::move(config).decided()) {}

 protected:
  Value forward(const Value& x, CallContext&) override {
    this->expect_float(x);
    this->expect_image(x.shape());
    const auto& [size, strides] = std::pair(this->options().pool_size, this->options().strides);
    ops::Pool how{.window = {size.height, size.width}, .strides = {strides.height, strides.width}};
    if (this->options().padding == "same")
      how.padding = ops::same_padding(x.shape(), how.window, how.strides);
    return pool == PoolKind::max ? ops::max_pool2d(x, how) : ops::average_pool2d(x, how);
  }
};

template <PoolKind pool>
struct GlobalPooling2DConfig : GlobalPooling2DOptions {
  static constexpr const char* kKind =
      pool == PoolKind::max ? "GlobalMaxPooling2D" : "GlobalAveragePooling2D";
  static Fields<GlobalPooling2DConfig> fields() {
    return {{"keepdims", &GlobalPooling2DConfig::keepdims}};
  }
};

template <PoolKind pool>
class GlobalPooling2DLayer : public Configured<SingleInputLayer, GlobalPooling2DConfig<pool>> {
 public:
  using Configured<SingleInputLayer, GlobalPooling2DConfig<pool>>::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    this->expect_float(x);
    this->expect_image(x.shape());
    ops::Reduce over{.axes = {1, 2}, .keepdims = this->options().keepdims};
    return pool == PoolKind::max ? ops::max(x, over) : ops::mean(x, over);
  }
};

using MaxPoolingLayer = Pooling2DLayer<PoolKind::max>;
using AveragePoolingLayer = Pooling2DLayer<PoolKind::average>;
using GlobalMaxLayer = GlobalPooling2DLayer<PoolKind::max>;
using GlobalAverageLayer = GlobalPooling2DLayer<PoolKind::average>;

}  // namespace

MaxPooling2D::MaxPooling2D(Size2 pool_size, const Pooling2DOptions& options)
    : Layer(configured<MaxPoolingLayer>({options, pool_size})) {}

AveragePooling2D::AveragePooling2D(Size2 pool_size, const Pooling2DOptions& options)
    : Layer(configured<AveragePoolingLayer>({options, pool_size})) {}

GlobalAveragePooling2D::GlobalAveragePooling2D(const GlobalPooling2DOptions& options)
    : Layer(configured<GlobalAverageLayer>({options})) {}

GlobalMaxPooling2D::GlobalMaxPooling2D(const GlobalPooling2DOptions& options)
    : Layer(configured<GlobalMaxLayer>({options})) {}

void add_pooling_layers(LayerKinds& kinds) {
  add_layer<MaxPoolingLayer>(kinds);
  add_layer<AveragePoolingLayer>(kinds);
  add_layer<GlobalMaxLayer>(kinds);
  add_layer<GlobalAverageLayer>(kinds);
}

}  // namespace stoker
