// Activation, ReLU, LeakyReLU, PReLU, ELU, Softmax, Dropout.
#include <fmt/format.h>

#include "nn/config.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

class ActivationLayer : public SingleInputLayer {
 public:
  ActivationLayer(ActivationFunction function, const LayerOptions& options)
      : SingleInputLayer(options.name), function_(std::move(function)) {}

  std::string kind() const override { return "Activation"; }
  Attrs config() const override { return {{"activation", function_.name()}}; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return function_(x);
  }

 private:
  ActivationFunction function_;
};

class ReLULayer : public SingleInputLayer {
 public:
  explicit ReLULayer(const ReLUOptions& options)
      : SingleInputLayer(options.name), options_(options) {
    if (options.max_value && *options.max_value < 0)
      fail_option(fmt::format("max_value is at least 0, got {}", *options.max_value));
    if (options.negative_slope < 0)
      fail_option(fmt::format("negative_slope is at least 0, got {}", options.negative_slope));
    if (options.threshold < 0)
      fail_option(fmt::format("threshold is at least 0, got {}", options.threshold));
  }

  std::string kind() const override { return "ReLU"; }
  Attrs config() const override {
    Attrs attrs = {{"negative_slope", options_.negative_slope}, {"threshold", options_.threshold}};
    if (options_.max_value) attrs.set("max_value", *options_.max_value);
    return attrs;
  }

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    const std::optional<double>& max_value = options_.max_value;
    double slope = options_.negative_slope, threshold = options_.threshold;
    if (threshold == 0 && !max_value) return slope == 0 ? ops::relu(x) : ops::leaky_relu(x, slope);
    if (threshold == 0 && slope == 0 && *max_value == 6) return ops::activation(x, "relu6");
    Value above = max_value ? ops::minimum(x, *max_value) : x;
    return ops::where(ops::greater_equal(x, threshold), above, (x - threshold) * slope);
  }

 private:
  ReLUOptions options_;
};

class LeakyReLULayer : public SingleInputLayer {
 public:
  LeakyReLULayer(double slope, const LayerOptions& options)
      : SingleInputLayer(options.name), slope_(slope) {
    if (!(slope >= 0)) fail_option(fmt::format("negative_slope is at least 0, got {}", slope));
  }
  std::string kind() const override { return "LeakyReLU"; }
  Attrs config() const override { return {{"negative_slope", slope_}}; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return ops::leaky_relu(x, slope_);
  }

 private:
  double slope_;
};

class ELULayer : public SingleInputLayer {
 public:
  ELULayer(double alpha, const LayerOptions& options)
      : SingleInputLayer(options.name), alpha_(alpha) {
    if (!(alpha >= 0)) fail_option(fmt::format("alpha is at least 0, got {}", alpha));
  }
  std::string kind() const override { return "ELU"; }
  Attrs config() const override { return {{"alpha", alpha_}}; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return ops::elu(x, alpha_);
  }

 private:
  double alpha_;
};

class PReLULayer : public SingleInputLayer {
 public:
  explicit PReLULayer(const PReLUOptions& options)
      : SingleInputLayer(options.name), options_(options) {}

  std::string kind() const override { return "PReLU"; }
  Attrs config() const override {
    Attrs attrs = {{"shared_axes", options_.shared_axes}};
    config::put(attrs, "alpha_initializer", options_.alpha_initializer);
    config::put(attrs, "alpha_regularizer", options_.alpha_regularizer);
    return attrs;
  }

 protected:
  void build_for(const Shape& input) override {
    Shape shape = input;
    for (int64_t axis : options_.shared_axes) shape.set(resolve_axis(axis, input), 1);
    alpha_ = add_weight(
        "alpha", shape.drop_front(),
        {.initializer = options_.alpha_initializer, .regularizer = options_.alpha_regularizer});
  }

  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return ops::relu(x) - Value(alpha_) * ops::relu(-x);
  }

 private:
  PReLUOptions options_;
  Variable alpha_;
};

class SoftmaxLayer : public SingleInputLayer {
 public:
  SoftmaxLayer(int axis, const LayerOptions& options)
      : SingleInputLayer(options.name), axis_(axis) {}
  std::string kind() const override { return "Softmax"; }
  Attrs config() const override { return {{"axis", int64_t(axis_)}}; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return ops::softmax(x, resolve_axis(axis_, x.shape()));
  }

 private:
  int axis_;
};

class DropoutLayer : public SingleInputLayer {
 public:
  DropoutLayer(double rate, const LayerOptions& options)
      : SingleInputLayer(options.name), rate_(rate) {
    if (!(rate >= 0 && rate < 1))
      fail_option(
          fmt::format("rate is at least 0 and below 1, the share that becomes 0, got {}", rate));
  }
  std::string kind() const override { return "Dropout"; }
  Attrs config() const override { return {{"rate", rate_}}; }

 protected:
  Value forward(const Value& x, CallContext& context) override {
    if (!context.training() || rate_ == 0) return x;
    expect_float(x);
    return ops::dropout(x, context.random_state(), rate_, context.next_stream());
  }

 private:
  double rate_;
};

}  // namespace

Activation::Activation(const ActivationFunction& activation, const LayerOptions& options)
    : Layer(std::make_shared<ActivationLayer>(activation, options), options.dtype) {}

ReLU::ReLU(const ReLUOptions& options)
    : Layer(std::make_shared<ReLULayer>(options), options.dtype) {}

LeakyReLU::LeakyReLU(double negative_slope, const LayerOptions& options)
    : Layer(std::make_shared<LeakyReLULayer>(negative_slope, options), options.dtype) {}

PReLU::PReLU(const PReLUOptions& options)
    : Layer(std::make_shared<PReLULayer>(options), options.dtype) {}

ELU::ELU(double alpha, const LayerOptions& options)
    : Layer(std::make_shared<ELULayer>(alpha, options), options.dtype) {}

Softmax::Softmax(int axis, const LayerOptions& options)
    : Layer(std::make_shared<SoftmaxLayer>(axis, options), options.dtype) {}

Dropout::Dropout(double rate, const LayerOptions& options)
    : Layer(std::make_shared<DropoutLayer>(rate, options), options.dtype) {}

namespace {

Layer relu_from(const Attrs& attrs) {
  ReLUOptions options{.negative_slope = config::number(attrs, "negative_slope", 0),
                      .threshold = config::number(attrs, "threshold", 0)};
  if (attrs.has("max_value")) options.max_value = config::number(attrs, "max_value", 0);
  return ReLU(options);
}

Layer prelu_from(const Attrs& attrs) {
  return PReLU({.alpha_initializer = config::initializer(attrs, "alpha_initializer", "zeros"),
                .alpha_regularizer = config::regularizer(attrs, "alpha_regularizer"),
                .shared_axes = config::integers(attrs, "shared_axes")});
}

}  // namespace

void add_activation_layers(LayerFactories& factories) {
  factories["Activation"] = [](const Attrs& attrs) {
    return Activation(config::activation(attrs));
  };
  factories["ReLU"] = relu_from;
  factories["LeakyReLU"] = [](const Attrs& attrs) {
    return LeakyReLU(config::number(attrs, "negative_slope", 0.3));
  };
  factories["PReLU"] = prelu_from;
  factories["ELU"] = [](const Attrs& attrs) { return ELU(config::number(attrs, "alpha", 1)); };
  factories["Softmax"] = [](const Attrs& attrs) {
    return Softmax(int(attrs.get_or<int64_t>("axis", -1)));
  };
  factories["Dropout"] = [](const Attrs& attrs) {
    return Dropout(
        config::number(attrs, "rate", -1));  // -1, which Dropout refuses: it must be there
  };
}

}  // namespace stoker
