// EinsumDense and SwiGLU.
#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/layers.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/einsum.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

struct EinsumDenseConfig : EinsumDenseOptions {
  std::string equation;
  Shape output_shape;
  static constexpr const char* kKind = "EinsumDense";
  static Fields<EinsumDenseConfig> fields() {
    using C = EinsumDenseConfig;
    return {{"equation", &C::equation, {.check = not_empty(), .required = true}},
            {"output_shape", &C::output_shape, {.required = true}},
            {"activation", &C::activation},
            {"bias_axes", &C::bias_axes},
            {"kernel_initializer", &C::kernel_initializer},
            {"bias_initializer", &C::bias_initializer},
            {"kernel_regularizer", &C::kernel_regularizer},
            {"bias_regularizer", &C::bias_regularizer},
            {"activity_regularizer", &C::activity_regularizer},
            {"kernel_constraint", &C::kernel_constraint, {.sparse = true}},
            {"bias_constraint", &C::bias_constraint, {.sparse = true}}};
  }
};

class EinsumDenseLayer : public Configured<SteadyLayer, EinsumDenseConfig> {
 public:
  explicit EinsumDenseLayer(EinsumDenseConfig config)
      : Configured(std::move(config)), equation_(parsed()) {}

 protected:
  void build_for(const Shape& input) override {
    EinsumEquation::Plan plan = planned(input);
    kernel_ = add_weight("kernel", plan.kernel_shape,
                         {.initializer = options().kernel_initializer,
                          .regularizer = options().kernel_regularizer,
                          .constraint = options().kernel_constraint,
                          .drawn_as = plan.drawn_as});
    if (options().bias_axes.empty()) return;
    bias_ = add_weight("bias", bias_shape(plan),
                       {.initializer = options().bias_initializer,
                        .regularizer = options().bias_regularizer,
                        .constraint = options().bias_constraint});
  }

  Value forward(const Value& x, CallContext& context) override {
    expect_float(x);
    EinsumEquation::Plan plan = planned(x.shape());
    if (plan.kernel_shape != kernel_.shape())
      fail_input(
          fmt::format("input for a kernel {}, which it was built with", to_string(kernel_.shape())),
          x.shape());
    Value bias = bias_.defined() ? Value(bias_) : Value();
    Value y = options().activation(einsum_product(plan, x, kernel_, bias));
    const Regularizer& activity = options().activity_regularizer;
    if (activity) context.add_loss(activity(y) / double(y.shape()[0]));
    return y;
  }

 private:
  EinsumEquation parsed() const {
    try {
      return EinsumEquation(options().equation);
    } catch (const ValueError& error) {
      fail_option(error.what());
    }
  }
  EinsumEquation::Plan planned(const Shape& input) const {
    try {
      return equation_.plan(input, options().output_shape);
    } catch (const ShapeError& error) {
      fail_input(error.what());
    }
  }
  Shape bias_shape(const EinsumEquation::Plan& plan) const {
    try {
      return equation_.bias_shape(plan, options().output_shape, options().bias_axes);
    } catch (const ValueError& error) {
      fail_option(error.what());
    }
  }

  EinsumEquation equation_;
  Variable kernel_, bias_;
};

struct SwiGLUConfig : SwiGLUOptions {
  int64_t hidden_dim = 0;
  static constexpr const char* kKind = "SwiGLU";
  static Fields<SwiGLUConfig> fields() {
    using C = SwiGLUConfig;
    return {{"hidden_dim", &C::hidden_dim, {.check = at_least(1), .required = true}},
            {"use_bias", &C::use_bias},
            {"kernel_initializer", &C::kernel_initializer},
            {"bias_initializer", &C::bias_initializer},
            {"kernel_regularizer", &C::kernel_regularizer}};
  }
};

class SwiGLULayer : public Configured<SteadyLayer, SwiGLUConfig> {
 public:
  using Configured::Configured;

 protected:
  void build_for(const Shape& input) override {
    gate_ = dense(options().hidden_dim, "gate");
    up_ = dense(options().hidden_dim, "up");
    if (input[-1] < 1) fail_input("a known number of features", input);
    down_ = dense(input[-1], "down");
    for (const Layer& child : {gate_, up_, down_}) adopt(child.shared());
  }

  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return down_(ops::swiglu(gate_(x), up_(x)));
  }

 private:
  Layer dense(int64_t units, const std::string& name) const {
    return Dense(units, {.use_bias = options().use_bias,
                         .kernel_initializer = options().kernel_initializer,
                         .bias_initializer = options().bias_initializer,
                         .kernel_regularizer = options().kernel_regularizer,
                         .name = name});
  }
  Layer gate_, up_, down_;
};

}  // namespace

Value ops::swiglu(const Value& gate, const Value& x) { return silu(gate) * x; }

EinsumDense::EinsumDense(const std::string& equation, const Shape& output_shape,
                         const EinsumDenseOptions& options)
    : Layer(configured<EinsumDenseLayer>({options, equation, output_shape})) {}

SwiGLU::SwiGLU(int64_t hidden_dim, const SwiGLUOptions& options)
    : Layer(configured<SwiGLULayer>({options, hidden_dim})) {}

void add_einsum_layers(LayerKinds& kinds) {
  add_layer<EinsumDenseLayer>(kinds);
  add_layer<SwiGLULayer>(kinds);
}

}  // namespace stoker
