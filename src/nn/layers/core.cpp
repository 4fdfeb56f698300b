// Input, Dense, Lambda.
#include <fmt/format.h>
#include <stoker/error.h>

#include "graph/graph.h"
#include "graph/sketch.h"
#include "nn/config.h"
#include "nn/layers/affine_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/input_layer.h"

namespace stoker {

// --- Input ---------------------------------------------------------------------------------------

InputLayer::InputLayer(const Shape& shape, const InputOptions& options)
    : element_{options.dtype, shape} {
  LayerBase::set_name(options.name);
  value_ = sketch_input(label(), element_);
}

Values InputLayer::call(const Values& inputs, CallContext&) {
  if (inputs.size() != 1) fail_input(fmt::format("expected 1 input, got {}", inputs.size()));
  const TensorSpec& got = inputs[0].spec();
  if (got.shape.rank() == 0 || got.dtype != element_.dtype ||
      got.shape.drop_front() != element_.shape)
    fail_input(fmt::format("expected {}, got {}", to_string(value_.spec()), to_string(got)));
  return inputs;
}

Attrs InputLayer::config() const {
  return {{"shape", Ints(element_.shape.begin(), element_.shape.end())},
          {"dtype", std::string(stoker::name(element_.dtype))}};
}

Input::Input(const Shape& shape, const InputOptions& options)
    : Layer(std::make_shared<InputLayer>(shape, options)) {}

Input::operator Value() const { return static_cast<const InputLayer&>(base()).value(); }

// --- Dense ---------------------------------------------------------------------------------------

namespace {

class DenseLayer : public AffineLayer {
 public:
  DenseLayer(int64_t units, const DenseOptions& options)
      : AffineLayer(options.name, affine_options(options)),
        units_(units),
        initializer_(options.kernel_initializer),
        regularizer_(options.kernel_regularizer) {
    expect_positive("units", units);
  }

  std::string kind() const override { return "Dense"; }

  Attrs config() const override {
    Attrs attrs = {{"units", units_}};
    config::put(attrs, "kernel_initializer", initializer_);
    config::put(attrs, "kernel_regularizer", regularizer_);
    put_affine(attrs);
    return attrs;
  }

 protected:
  void build_for(const Shape& input) override {
    if (input.rank() < 2)
      fail_input("input of 2 or more dimensions, [B, features]", input,
                 "add Reshape({1}) before it if every element is one number");
    kernel_ = add_weight("kernel", {input[-1], units_},
                         {.initializer = initializer_, .regularizer = regularizer_});
    add_bias(units_);
  }

  // x: [.., C]
  Value linear(const Value& x, const Value& kernel) override {
    int64_t features = kernel.shape()[0];
    if (x.shape().rank() < 2 || x.shape()[-1] != features)
      fail_input(fmt::format("input [.., {}], which it was built for", features), x.shape());
    return ops::matmul(x, kernel);
  }

 private:
  int64_t units_;
  Initializer initializer_;
  Regularizer regularizer_;
};

class LambdaLayer : public SingleInputLayer {
 public:
  LambdaLayer(std::function<Value(const Value&)> function, const LayerOptions& options)
      : SingleInputLayer(options.name), function_(std::move(function)) {
    if (!function_) fail_option("expected a function of a Value, got an empty one");
  }
  std::string kind() const override { return "Lambda"; }

 protected:
  Value forward(const Value& x, CallContext&) override { return function_(x); }

 private:
  std::function<Value(const Value&)> function_;
};

Layer dense_from(const Attrs& attrs) {
  DenseOptions options;
  options.kernel_initializer =
      config::initializer(attrs, "kernel_initializer", options.kernel_initializer);
  options.kernel_regularizer = config::regularizer(attrs, "kernel_regularizer");
  set_affine(options, attrs);
  return Dense(config::integer(attrs, "units"), options);
}

Layer input_from(const Attrs& attrs) {
  return Input(Shape(std::span<const int64_t>(config::integers(attrs, "shape"))),
               {.dtype = dtype_from_name(config::text(attrs, "dtype", "float32")),
                .name = config::text(attrs, "name")});
}

Layer lambda_from(const Attrs& attrs) {
  std::string name = config::text(attrs, "name");
  throw ValueError(
      fmt::format("Lambda \"{}\" is a C++ function, which is not in the file; pass it: {}", name,
                  how_to_pass_layer(name)));
}

}  // namespace

Dense::Dense(int64_t units, const DenseOptions& options)
    : Layer(std::make_shared<DenseLayer>(units, options), options.dtype) {}

Lambda::Lambda(std::function<Value(const Value&)> function, const LayerOptions& options)
    : Layer(std::make_shared<LambdaLayer>(std::move(function), options), options.dtype) {}

void add_core_layers(LayerFactories& factories) {
  factories["InputLayer"] = input_from;
  factories["Dense"] = dense_from;
  factories["Lambda"] = lambda_from;
}

}  // namespace stoker
