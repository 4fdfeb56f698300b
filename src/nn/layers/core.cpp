// Input, Dense, Lambda.
#include <fmt/format.h>
#include <stoker/error.h>

#include "graph/graph.h"
#include "graph/sketch.h"
#include "nn/layers/affine_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/input_layer.h"
#include "nn/layers/kernel_options.h"
#include "nn/targets.h"

namespace stoker {

// --- Input ---------------------------------------------------------------------------------------

Fields<InputConfig> InputConfig::fields() {
  return {{"shape", &InputConfig::shape},
          {"batch_size", &InputConfig::batch_size, {.check = at_least(0), .sparse = true}},
          {"dtype", &InputConfig::dtype}};
}

InputLayer::InputLayer(InputConfig config)
    : Configured(std::move(config)), element_{options().dtype, options().shape} {
  value_ = sketch_input(label(), element_, options().batch_size > 0 ? options().batch_size : -1);
}

Value InputLayer::forward(const Value& x, CallContext&) {
  const TensorSpec& got = x.spec();
  if (got.shape.rank() == 0 || got.dtype != element_.dtype ||
      !fits(got.shape.drop_front(), element_.shape))
    fail_input(fmt::format("expected {}, got {}", to_string(value_.spec()), to_string(got)));
  return x;
}

Input::Input(const Shape& shape, const InputOptions& options)
    : Layer(std::make_shared<InputLayer>(InputConfig{options, shape})) {}

Input::operator Value() const { return static_cast<const InputLayer&>(base()).value(); }

// --- Dense ---------------------------------------------------------------------------------------

namespace {

struct DenseConfig : DenseOptions {
  int64_t units = 0;
  static constexpr const char* kKind = "Dense";
  static Fields<DenseConfig> fields() {
    using C = DenseConfig;
    return Fields<C>{{"units", &C::units, {.check = at_least(1), .required = true}}}
        .then(kernel_fields<C>())
        .then(affine_fields<C>());
  }
};

class DenseLayer : public Configured<AffineLayer, DenseConfig> {
 public:
  using Configured::Configured;
  bool supports_masking() const override { return true; }

 protected:
  void build_for(const Shape& input) override {
    if (input.rank() < 2)
      fail_input("input of 2 or more dimensions, [B, features]", input,
                 "add Reshape({1}) before it if every element is one number");
    kernel_ = add_weight("kernel", {input[-1], options().units}, kernel_weight(options()));
    add_bias(options().units);
  }

  // x: [.., C]
  Value linear(const Value& x, const Value& kernel) override {
    int64_t features = kernel.shape()[0];
    if (x.shape().rank() < 2 || x.shape()[-1] != features)
      fail_input(fmt::format("input [.., {}], which it was built for", features), x.shape());
    return ops::matmul(x, kernel);
  }
};

class LambdaLayer : public SingleInputLayer {
 public:
  LambdaLayer(std::function<Value(const Value&)> function, const LayerOptions& options)
      : SingleInputLayer(options), function_(std::move(function)) {
    if (!function_) fail_option("expected a function of a Value, got an empty one");
  }
  std::string kind() const override { return "Lambda"; }

 protected:
  Value forward(const Value& x, CallContext&) override { return function_(x); }

 private:
  std::function<Value(const Value&)> function_;
};

Layer fail_loading_lambda(const Attrs& attrs) {
  auto name = attrs.get_or("name", std::string());
  throw ValueError(
      fmt::format("Lambda \"{}\" is a C++ function, which is not in the file; pass it: {}", name,
                  how_to_pass_layer(name)));
}

}  // namespace

Dense::Dense(int64_t units, const DenseOptions& options)
    : Layer(configured<DenseLayer>({options, units})) {}

Lambda::Lambda(std::function<Value(const Value&)> function, const LayerOptions& options)
    : Layer(std::make_shared<LambdaLayer>(std::move(function), options), options.dtype) {}

void add_core_layers(LayerKinds& kinds) {
  kinds["InputLayer"] = layer_kind<InputLayer>([](const Attrs& attrs) {
    return Layer(std::make_shared<InputLayer>(layer_config<InputConfig>(attrs)));
  });
  add_layer<DenseLayer>(kinds);
  kinds["Lambda"] = {.make = fail_loading_lambda, .is = is_exactly<LambdaLayer>};
}

}  // namespace stoker
