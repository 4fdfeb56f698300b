// MaxPooling1D, AveragePooling1D and their global forms. Sequences are [B, T, C].
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

enum class SequencePool : uint8_t { max, average };

template <SequencePool pool>
struct Pooling1DConfig : Pooling1DOptions {
  int64_t pool_size = 2;
  static constexpr const char* kKind =
      pool == SequencePool::max ? "MaxPooling1D" : "AveragePooling1D";
  static Fields<Pooling1DConfig> fields() {
    using C = Pooling1DConfig;
    return {{"padding", &C::padding, one_of({"valid", "same"})},
            {"pool_size", &C::pool_size, at_least(1)},
            {"strides", &C::strides, at_least(1)}};
  }
  // Strides of 0 are the pool's size.
  Pooling1DConfig decided() && {
    if (strides == 0) strides = pool_size;
    return *this;
  }
};

// On an image of one row, [B, 1, T, C].
template <SequencePool pool>
class Pooling1DLayer : public Configured<SingleInputLayer, Pooling1DConfig<pool>> {
 public:
  explicit Pooling1DLayer(Pooling1DConfig<pool> config)
      : Configured<SingleInputLayer, Pooling1DConfig<pool>>(std::move(config).decided()) {}

 protected:
  Value forward(const Value& x, CallContext&) override {
    this->expect_float(x);
    this->expect_sequence(x.shape());
    Value row = ops::expand_dims(x, 1);
    ops::Pool how{.window = {1, this->options().pool_size},
                  .strides = {1, this->options().strides}};
    if (this->options().padding == "same")
      how.padding = ops::same_padding(row.shape(), how.window, how.strides);
    Value pooled =
        pool == SequencePool::max ? ops::max_pool2d(row, how) : ops::average_pool2d(row, how);
    return ops::squeeze(pooled, 1);
  }
};

template <SequencePool pool>
struct GlobalPooling1DConfig : GlobalPooling1DOptions {
  static constexpr const char* kKind =
      pool == SequencePool::max ? "GlobalMaxPooling1D" : "GlobalAveragePooling1D";
  static Fields<GlobalPooling1DConfig> fields() {
    return {{"keepdims", &GlobalPooling1DConfig::keepdims}};
  }
};

template <SequencePool pool>
class GlobalPooling1DLayer : public Configured<SingleInputLayer, GlobalPooling1DConfig<pool>> {
 public:
  using Configured<SingleInputLayer, GlobalPooling1DConfig<pool>>::Configured;
  // The mean takes the mask, which ends with the steps; Keras's maximum does not.
  bool supports_masking() const override { return pool == SequencePool::average; }
  Values compute_mask(const Values&, const Values&) const override { return {}; }

 protected:
  Value forward(const Value& x, CallContext& context) override {
    this->expect_float(x);
    this->expect_sequence(x.shape());
    ops::Reduce over{.axes = {1}, .keepdims = this->options().keepdims};
    if (pool == SequencePool::max) return ops::max(x, over);
    Value mask = context.mask();
    if (!mask.defined()) return ops::mean(x, over);
    Value counts = ops::expand_dims(mask, -1);
    Value steps = ops::cast(ops::sum(counts, over), DType::float32);  // 16 bits count to 256
    Value mean = ops::sum(ops::where(counts, x, 0.0), over) / steps;
    return mean.dtype() == x.dtype() ? mean : ops::cast(mean, x.dtype());
  }
};

using MaxPooling1DLayer = Pooling1DLayer<SequencePool::max>;
using AveragePooling1DLayer = Pooling1DLayer<SequencePool::average>;
using GlobalMax1DLayer = GlobalPooling1DLayer<SequencePool::max>;
using GlobalAverage1DLayer = GlobalPooling1DLayer<SequencePool::average>;

}  // namespace

MaxPooling1D::MaxPooling1D(int64_t pool_size, const Pooling1DOptions& options)
    : Layer(configured<MaxPooling1DLayer>({options, pool_size})) {}

AveragePooling1D::AveragePooling1D(int64_t pool_size, const Pooling1DOptions& options)
    : Layer(configured<AveragePooling1DLayer>({options, pool_size})) {}

GlobalAveragePooling1D::GlobalAveragePooling1D(const GlobalPooling1DOptions& options)
    : Layer(configured<GlobalAverage1DLayer>({options})) {}

GlobalMaxPooling1D::GlobalMaxPooling1D(const GlobalPooling1DOptions& options)
    : Layer(configured<GlobalMax1DLayer>({options})) {}

void add_pooling1d_layers(LayerKinds& kinds) {
  add_layer<MaxPooling1DLayer>(kinds);
  add_layer<AveragePooling1DLayer>(kinds);
  add_layer<GlobalMax1DLayer>(kinds);
  add_layer<GlobalAverage1DLayer>(kinds);
}

}  // namespace stoker
