// StochasticDepth, LayerScale, CustomScaleLayer.
#include <stoker/residual_layers.h>

#include <fmt/format.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

struct StochasticDepthConfig : LayerOptions {
  double drop_path_rate = 0;
  static constexpr const char* kKind = "StochasticDepth";
  static Fields<StochasticDepthConfig> fields() {
    Check share =
        in_half_open(0, 1).saying("at least 0 and below 1, the share of samples left out");
    return {{"drop_path_rate",
             &StochasticDepthConfig::drop_path_rate,
             {.check = share, .required = true}}};
  }
};

class StochasticDepthLayer : public Configured<SteadyLayer, StochasticDepthConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext& context) override {
    double rate = options().drop_path_rate;
    if (!context.training() || rate == 0) return x;
    expect_float(x);
    Shape samples = x.shape();  // [B, 1, …]
    for (int axis = 1; axis < samples.rank(); ++axis) samples.set(axis, 1);
    Value kept =
        ops::dropout(Tensor::full(samples, 1), context.random_state(), rate, context.next_stream());
    return x * ops::cast(kept, x.dtype());
  }
};

struct LayerScaleConfig : LayerScaleOptions {
  static constexpr const char* kKind = "LayerScale";
  static Fields<LayerScaleConfig> fields() {
    return {{"initializer", &LayerScaleConfig::initializer}};
  }
};

class LayerScaleLayer : public Configured<SteadyLayer, LayerScaleConfig> {
 public:
  using Configured::Configured;

 protected:
  void build_for(const Shape& input) override {
    // Keras gives the weight no name of its own.
    scale_ = add_weight("variable", {input[-1]}, {.initializer = options().initializer});
  }
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return x * ops::cast(scale_, x.dtype());
  }

 private:
  Variable scale_;
};

struct CustomScaleConfig : LayerOptions {
  double scale = 1;
  static constexpr const char* kKind = "CustomScaleLayer";
  static Fields<CustomScaleConfig> fields() { return {{"scale", &CustomScaleConfig::scale}}; }
};

class TwoInputLayer : public LayerBase {
 protected:
  explicit TwoInputLayer(const LayerOptions& options) { LayerBase::set_name(options.name); }
};

class CustomScaleLayerBase : public Configured<TwoInputLayer, CustomScaleConfig> {
 public:
  using Configured::Configured;

  Values call(const Values& inputs, CallContext&) override {
    if (inputs.size() != 2 || inputs[0].shape() != inputs[1].shape())
      fail_input(fmt::format("expected two inputs of one shape, got {}", inputs.size()));
    return {inputs[0] + inputs[1] * options().scale};
  }
};

}  // namespace

StochasticDepth::StochasticDepth(double drop_path_rate, const LayerOptions& options)
    : Layer(configured<StochasticDepthLayer>({options, drop_path_rate})) {}

LayerScale::LayerScale(const LayerScaleOptions& options)
    : Layer(configured<LayerScaleLayer>({options})) {}

CustomScaleLayer::CustomScaleLayer(double scale, const LayerOptions& options)
    : Layer(configured<CustomScaleLayerBase>({options, scale})) {}

void add_residual_layers(LayerKinds& kinds) {
  add_layer<StochasticDepthLayer>(kinds);
  add_layer<LayerScaleLayer>(kinds);
  add_layer<CustomScaleLayerBase>(kinds);
}

}  // namespace stoker
