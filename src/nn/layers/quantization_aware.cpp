// FakeQuantize and QuantizationAware: layers that compute in float with the rounding of int8, for
// training. Gradients pass straight through the rounding, and not through clipped activations.
#include <fmt/format.h>
#include <stoker/ops_math.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/wrapped_kernel.h"

namespace stoker {

namespace {

// `rounded`, with the gradient of x.
Value straight_through(const Value& x, const Value& rounded) {
  return x + ops::stop_gradient(rounded - x);
}

struct FakeQuantizeConfig : LayerOptions {
  double momentum = 0.99;
  static constexpr const char* kKind = "FakeQuantize";
  static Fields<FakeQuantizeConfig> fields() {
    return {{"momentum", &FakeQuantizeConfig::momentum, in_half_open(0, 1)}};
  }
};

// Activations in 256 steps over a range that follows the batches of the training.
class FakeQuantizeLayer : public Configured<SteadyLayer, FakeQuantizeConfig> {
 public:
  using Configured::Configured;

 protected:
  void build_for(const Shape&) override {
    auto add = [&](const char* name) {
      return add_weight(name, {}, {.initializer = "zeros", .trainable = false});
    };
    low_ = add("low");
    high_ = add("high");
    seen_ = add("seen");  // 1 once there was a batch
  }

  Value forward(const Value& given, CallContext& context) override {
    expect_float(given);
    Value x = as_float32(given);
    if (context.training() && trainable()) follow(x, context);
    Value low = context.current(low_), high = context.current(high_);
    Value extent = high - low;
    Value scale = ops::where(ops::greater(extent, 0.0), extent / 255.0, 1.0);
    Value zero = ops::round(-low / scale);
    Value first = -zero * scale, last = (255.0 - zero) * scale;
    Value inside = ops::minimum(ops::maximum(x, first), last);
    Value y = straight_through(inside, ops::round(inside / scale) * scale);
    return ops::where(ops::greater(context.current(seen_), 0.0), y, x);
  }

 private:
  void follow(const Value& x, CallContext& context) {
    Value free = ops::stop_gradient(x);
    move(low_, ops::minimum(ops::min(free), 0.0), context);
    move(high_, ops::maximum(ops::max(free), 0.0), context);
    context.update(seen_, context.current(seen_) * 0.0 + 1.0);
  }
  // The first batch sets the range.
  void move(const Variable& end, const Value& batch, CallContext& context) {
    Value old = context.current(end);
    Value moved = old * options().momentum + batch * (1 - options().momentum);
    context.update(end, ops::where(ops::greater(context.current(seen_), 0.0), moved, batch));
  }

  Variable low_, high_, seen_;
};

// The options beside those of the layer inside.
struct AwareLayerConfig : LayerOptions {
  int64_t weight_bits = 8;
  bool batch_norm = false;  // the layer's sums are normalised
  double epsilon = 1e-3, momentum = 0.99;
  bool gamma = true, beta = true;  // whether they train; else they are 1 and 0
  static constexpr const char* kKind = "QuantizationAware";
  static Fields<AwareLayerConfig> fields() {
    using C = AwareLayerConfig;
    return {{"weight_bits", &C::weight_bits, between(7, 8)},
            {"batch_norm", &C::batch_norm},
            {"epsilon", &C::epsilon, at_least(0)},
            {"momentum", &C::momentum, in_half_open(0, 1)},
            {"gamma", &C::gamma},
            {"beta", &C::beta}};
  }
};

// A Dense or convolution whose kernel is rounded as int8 would have it, with a batch normalisation
// folded in: the kernel that is rounded is kernel · gamma / √(variance + ε). In training the
// statistics are the batch's, from a product with the kernel as it is.
class QuantizationAwareLayer : public KernelWrapper {
 public:
  QuantizationAwareLayer(const Layer& layer, AwareLayerConfig config)
      : KernelWrapper(
            layer, config.name, AwareLayerConfig::kKind,
            {"Dense", "Conv1D", "Conv2D", "Conv3D", "DepthwiseConv1D", "DepthwiseConv2D"}),
        config_(std::move(config)) {
    fields_of<AwareLayerConfig>().check(title(), config_);
  }
  std::string kind() const override { return AwareLayerConfig::kKind; }
  Attrs config() const override {
    Attrs attrs = KernelWrapper::config(), own = fields_of<AwareLayerConfig>().write(config_);
    for (const auto& [name, value] : own.entries()) attrs.set(name, value);
    return attrs;
  }

  Values call(const Values& inputs, CallContext& context) override {
    if (!config_.batch_norm) return KernelWrapper::call(inputs, context);
    if (inputs.size() != 1) fail_input(fmt::format("expected 1 input, got {}", inputs.size()));
    return {inner().finished(normalized(inputs[0], context), context)};
  }

 protected:
  void build_own() override {
    if (!config_.batch_norm) return;
    auto add = [&](const char* name, const char* fill, bool trains) {
      return add_weight(name, {filters()}, {.initializer = fill, .trainable = trains});
    };
    gamma_ = add("gamma", "ones", config_.gamma);
    beta_ = add("beta", "zeros", config_.beta);
    mean_ = add("moving_mean", "zeros", false);
    variance_ = add("moving_variance", "ones", false);
  }
  Value kernel_for(CallContext&) override { return rounded(kernel()); }

 private:
  bool depthwise() { return inner().kind().starts_with("Depthwise"); }
  // The axes of the kernel that run along filters: the last, or the last two of a depthwise one.
  Shape filter_axes() {
    const Shape& shape = kernel().shape();
    return depthwise() ? Shape{shape[-2], shape[-1]} : Shape{shape[-1]};
  }
  int64_t filters() { return filter_axes().elements(); }

  Value rounded(const Value& weights) {
    ops::Reduce others{.keepdims = true};
    for (int axis = 0; axis < weights.shape().rank() - filter_axes().rank(); ++axis)
      others.axes.push_back(axis);
    Value largest = ops::max(ops::abs(ops::stop_gradient(weights)), others);
    double most = config_.weight_bits == 7 ? 63 : 127;
    Value scale = ops::where(ops::greater(largest, 0.0), largest / most, 1.0);
    return straight_through(weights, ops::round(weights / scale) * scale);
  }

  Value normalized(const Value& x, CallContext& context) {
    bool train = context.training() && trainable();
    Value mean = mean_, variance = variance_;
    if (inner().bias().defined()) mean = mean - inner().bias();  // of sums without it
    if (train) {
      Value sums = as_float32(inner().product_with(kernel(), x));
      ops::Reduce others;
      for (int axis = 0; axis + 1 < sums.shape().rank(); ++axis) others.axes.push_back(axis);
      mean = ops::mean(sums, others);
      variance = ops::mean(ops::square(sums - mean), others);
      Value seen = inner().bias().defined() ? mean + inner().bias() : mean;
      move(mean_, seen, context);
      move(variance_, variance, context);
    }
    Value factor = gamma_ * ops::rsqrt(variance + config_.epsilon);
    Value folded = kernel() * ops::reshape(factor, filter_axes());
    return inner().product_with(rounded(folded), x) + (beta_ - mean * factor);
  }

  void move(const Variable& average, const Value& batch, CallContext& context) {
    context.update(average, context.current(average) * config_.momentum +
                                ops::stop_gradient(batch) * (1 - config_.momentum));
  }

  AwareLayerConfig config_;
  Variable gamma_, beta_, mean_, variance_;
};

Layer make_aware(const Attrs& attrs, const LayerFactories& custom) {
  Attrs own;
  for (const auto& [name, value] : attrs.entries())
    if (!name.starts_with("layer")) own.set(name, value);
  return Layer(std::make_shared<QuantizationAwareLayer>(wrapped_layer(attrs, custom),
                                                        layer_config<AwareLayerConfig>(own)));
}

}  // namespace

void add_quantization_aware_layers(LayerKinds& kinds) {
  add_layer<FakeQuantizeLayer>(kinds);
  kinds[AwareLayerConfig::kKind] = {
      .make = [](const Attrs& attrs) { return make_aware(attrs, {}); },
      .wrap = make_aware,
      .is = is_exactly<QuantizationAwareLayer>,
      .fields = [] { return fields_of<AwareLayerConfig>().text(); }};
}

}  // namespace stoker
