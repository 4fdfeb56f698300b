// MaxPooling2D, AveragePooling2D and their global forms. Images are [B, H, W, C].
#include "nn/config.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

enum class PoolKind : uint8_t { max, average };

class Pooling2DLayer : public SingleInputLayer {
 public:
  Pooling2DLayer(PoolKind pool, Size2 size, const Pooling2DOptions& options)
      : SingleInputLayer(options.name),
        pool_(pool),
        size_(size),
        strides_(options.strides == Size2(0) ? size : options.strides),
        padding_(options.padding) {
    expect_padding(padding_);
    expect_positive("pool_size", size_);
    expect_positive("strides", strides_);
  }

  std::string kind() const override {
    return pool_ == PoolKind::max ? "MaxPooling2D" : "AveragePooling2D";
  }

  Attrs config() const override {
    Attrs attrs = {{"padding", padding_}};
    config::put(attrs, "pool_size", size_);
    config::put(attrs, "strides", strides_);
    return attrs;
  }

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    expect_image(x.shape());
    ops::Pool pool{.window = {size_.height, size_.width},
                   .strides = {strides_.height, strides_.width}};
    if (padding_ == "same") pool.padding = ops::same_padding(x.shape(), pool.window, pool.strides);
    return pool_ == PoolKind::max ? ops::max_pool2d(x, pool) : ops::average_pool2d(x, pool);
  }

 private:
  PoolKind pool_;
  Size2 size_, strides_;
  std::string padding_;
};

class GlobalPooling2DLayer : public SingleInputLayer {
 public:
  GlobalPooling2DLayer(PoolKind pool, const GlobalPooling2DOptions& options)
      : SingleInputLayer(options.name), pool_(pool), keepdims_(options.keepdims) {}

  std::string kind() const override {
    return pool_ == PoolKind::max ? "GlobalMaxPooling2D" : "GlobalAveragePooling2D";
  }
  Attrs config() const override { return {{"keepdims", keepdims_}}; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    expect_image(x.shape());
    ops::Reduce over{.axes = {1, 2}, .keepdims = keepdims_};
    return pool_ == PoolKind::max ? ops::max(x, over) : ops::mean(x, over);
  }

 private:
  PoolKind pool_;
  bool keepdims_;
};

template <class Pooling>
Layer pooling_from(const Attrs& attrs) {
  Pooling2DOptions options;
  options.strides = config::size(attrs, "strides", options.strides);
  options.padding = config::text(attrs, "padding", options.padding);
  return Pooling(config::size(attrs, "pool_size", 2), options);
}

template <class Pooling>
Layer global_pooling_from(const Attrs& attrs) {
  return Pooling({.keepdims = attrs.get_or("keepdims", false)});
}

}  // namespace

MaxPooling2D::MaxPooling2D(Size2 pool_size, const Pooling2DOptions& options)
    : Layer(std::make_shared<Pooling2DLayer>(PoolKind::max, pool_size, options), options.dtype) {}

AveragePooling2D::AveragePooling2D(Size2 pool_size, const Pooling2DOptions& options)
    : Layer(std::make_shared<Pooling2DLayer>(PoolKind::average, pool_size, options),
            options.dtype) {}

GlobalAveragePooling2D::GlobalAveragePooling2D(const GlobalPooling2DOptions& options)
    : Layer(std::make_shared<GlobalPooling2DLayer>(PoolKind::average, options), options.dtype) {}

GlobalMaxPooling2D::GlobalMaxPooling2D(const GlobalPooling2DOptions& options)
    : Layer(std::make_shared<GlobalPooling2DLayer>(PoolKind::max, options), options.dtype) {}

void add_pooling_layers(LayerFactories& factories) {
  factories["MaxPooling2D"] = pooling_from<MaxPooling2D>;
  factories["AveragePooling2D"] = pooling_from<AveragePooling2D>;
  factories["GlobalAveragePooling2D"] = global_pooling_from<GlobalAveragePooling2D>;
  factories["GlobalMaxPooling2D"] = global_pooling_from<GlobalMaxPooling2D>;
}

}  // namespace stoker
