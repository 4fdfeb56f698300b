// Activation, ReLU, LeakyReLU, PReLU, ELU, Softmax.
#include <fmt/format.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

struct ActivationConfig : LayerOptions {
  ActivationFunction activation = {};
  static constexpr const char* kKind = "Activation";
  static Fields<ActivationConfig> fields() {
    return {{"activation", &ActivationConfig::activation}};
  }
};

class ActivationLayer : public Configured<SteadyLayer, ActivationConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return options().activation(x);
  }
};

struct ReLUConfig : ReLUOptions {
  static constexpr const char* kKind = "ReLU";
  static Fields<ReLUConfig> fields() {
    return {{"negative_slope", &ReLUConfig::negative_slope, at_least(0).or_infinite()},
            {"threshold", &ReLUConfig::threshold, at_least(0).or_infinite()},
            {"max_value", &ReLUConfig::max_value, at_least(0).or_infinite()}};
  }
};

class ReLULayer : public Configured<SteadyLayer, ReLUConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    const std::optional<double>& max_value = options().max_value;
    double slope = options().negative_slope, threshold = options().threshold;
    if (threshold == 0 && !max_value) return slope == 0 ? ops::relu(x) : ops::leaky_relu(x, slope);
    if (threshold == 0 && slope == 0 && *max_value == 6) return ops::activation(x, "relu6");
    Value above = max_value ? ops::minimum(x, *max_value) : x;
    return ops::where(ops::greater_equal(x, threshold), above, (x - threshold) * slope);
  }
};

struct LeakyReLUConfig : LayerOptions {
  double negative_slope = 0.3;
  static constexpr const char* kKind = "LeakyReLU";
  static Fields<LeakyReLUConfig> fields() {
    return {{"negative_slope", &LeakyReLUConfig::negative_slope, at_least(0).or_infinite()}};
  }
};

class LeakyReLULayer : public Configured<SteadyLayer, LeakyReLUConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return ops::leaky_relu(x, options().negative_slope);
  }
};

struct ELUConfig : LayerOptions {
  double alpha = 1.0;
  static constexpr const char* kKind = "ELU";
  static Fields<ELUConfig> fields() {
    return {{"alpha", &ELUConfig::alpha, at_least(0).or_infinite()}};
  }
};

class ELULayer : public Configured<SteadyLayer, ELUConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return ops::elu(x, options().alpha);
  }
};

struct PReLUConfig : PReLUOptions {
  static constexpr const char* kKind = "PReLU";
  static Fields<PReLUConfig> fields() {
    return {{"shared_axes", &PReLUConfig::shared_axes},
            {"alpha_initializer", &PReLUConfig::alpha_initializer},
            {"alpha_regularizer", &PReLUConfig::alpha_regularizer},
            {"alpha_constraint", &PReLUConfig::alpha_constraint}};
  }
};

class PReLULayer : public Configured<SteadyLayer, PReLUConfig> {
 public:
  using Configured::Configured;

 protected:
  void build_for(const Shape& input) override {
    Shape shape = input;
    for (int64_t axis : options().shared_axes) shape.set(resolve_axis(axis, input), 1);
    alpha_ = add_weight("alpha", shape.drop_front(),
                        {.initializer = options().alpha_initializer,
                         .regularizer = options().alpha_regularizer,
                         .constraint = options().alpha_constraint});
  }

  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return ops::relu(x) - Value(alpha_) * ops::relu(-x);
  }

 private:
  Variable alpha_;
};

struct SoftmaxConfig : LayerOptions {
  int axis = -1;
  static constexpr const char* kKind = "Softmax";
  static Fields<SoftmaxConfig> fields() { return {{"axis", &SoftmaxConfig::axis}}; }
};

class SoftmaxLayer : public Configured<SteadyLayer, SoftmaxConfig> {
 public:
  using Configured::Configured;

 protected:
  // A mask of the input's rank leaves elements out, as between queries and keys. One per step,
  // [B, T], passes on.
  Value forward(const Value& x, CallContext& context) override {
    expect_float(x);
    int axis = resolve_axis(options().axis, x.shape());
    Value mask = context.mask();
    if (!mask.defined() || mask.shape().rank() != x.shape().rank()) return ops::softmax(x, axis);
    double lowest = x.dtype() == DType::float16 ? -3e4 : -1e9;
    return ops::where(mask, ops::softmax(ops::where(mask, x, lowest), axis), 0.0);
  }
};

}  // namespace

Activation::Activation(const ActivationFunction& activation, const LayerOptions& options)
    : Layer(configured<ActivationLayer>({options, activation})) {}

ReLU::ReLU(const ReLUOptions& options) : Layer(configured<ReLULayer>({options})) {}

LeakyReLU::LeakyReLU(double negative_slope, const LayerOptions& options)
    : Layer(configured<LeakyReLULayer>({options, negative_slope})) {}

PReLU::PReLU(const PReLUOptions& options) : Layer(configured<PReLULayer>({options})) {}

ELU::ELU(double alpha, const LayerOptions& options)
    : Layer(configured<ELULayer>({options, alpha})) {}

Softmax::Softmax(int axis, const LayerOptions& options)
    : Layer(configured<SoftmaxLayer>({options, axis})) {}

void add_activation_layers(LayerKinds& kinds) {
  add_layer<ActivationLayer>(kinds);
  add_layer<ReLULayer>(kinds);
  add_layer<LeakyReLULayer>(kinds);
  add_layer<PReLULayer>(kinds);
  add_layer<ELULayer>(kinds);
  add_layer<SoftmaxLayer>(kinds);
}

}  // namespace stoker
