// What Dense and the convolutions share: activation(linear(x, kernel) + bias), and the options for
// it.
#pragma once

#include "nn/layers/configured_layer.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

class AffineLayer : public SingleInputLayer {
 public:
  const Variable& kernel() const { return kernel_; }
  // The layer's result with another kernel of the same shape in place of its own.
  Value forward_with(const Value& kernel, const Value& x, CallContext& context);
  // Its parts: x with that kernel, and what becomes of the sum.
  Value product_with(const Value& kernel, const Value& x);
  Value finished(const Value& sum, CallContext& context);
  const Variable& bias() const { return bias_; }  // undefined: none

 protected:
  template <class Options>
  explicit AffineLayer(const Options& options)
      : SingleInputLayer(options),
        activation_(options.activation),
        use_bias_(options.use_bias),
        bias_initializer_(options.bias_initializer),
        bias_regularizer_(options.bias_regularizer),
        activity_regularizer_(options.activity_regularizer),
        bias_constraint_(options.bias_constraint) {}

  virtual Value linear(const Value& x, const Value& kernel) = 0;
  // The result in the shape that the layer returns, where linear() computes in another. Bias and
  // activation come before it, so that an engine can join them to the product.
  virtual Value unfolded(const Value& y) const { return y; }
  Value forward(const Value& x, CallContext& context) final {
    return forward_with(kernel_, x, context);
  }

  void add_bias(int64_t units);
  // ValueError unless the groups can share the filters evenly.
  void check_groups(int64_t filters, int64_t groups) const;
  // Channels per group of an input [.., C], -1 while unknown. ShapeError unless that is even.
  int64_t channels_of_group(const Shape& input, int64_t groups) const;

  Variable kernel_;

 private:
  ActivationFunction activation_;
  bool use_bias_;
  Initializer bias_initializer_;
  Regularizer bias_regularizer_;
  Regularizer activity_regularizer_;
  Constraint bias_constraint_;
  Variable bias_;
};

// The rows of these options.
template <class Config>
Fields<Config> affine_fields() {
  return {{"activation", &Config::activation},
          {"use_bias", &Config::use_bias},
          {"bias_initializer", &Config::bias_initializer},
          {"bias_regularizer", &Config::bias_regularizer},
          {"activity_regularizer", &Config::activity_regularizer},
          {"bias_constraint", &Config::bias_constraint}};
}

}  // namespace stoker
