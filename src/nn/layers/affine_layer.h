// What Dense and the convolutions share: activation(linear(x, kernel) + bias), and the options for
// it.
#pragma once

#include "nn/layers/single_input_layer.h"

namespace stoker {

struct AffineOptions {
  ActivationFunction activation;
  bool use_bias;
  Initializer bias_initializer;
  Regularizer bias_regularizer;
  Regularizer activity_regularizer;
};

class AffineLayer : public SingleInputLayer {
 public:
  const Variable& kernel() const { return kernel_; }
  // The layer's result with another kernel of the same shape in place of its own.
  Value forward_with(const Value& kernel, const Value& x, CallContext& context);

 protected:
  AffineLayer(const std::string& name, AffineOptions options)
      : SingleInputLayer(name), affine_(std::move(options)) {}

  virtual Value linear(const Value& x, const Value& kernel) = 0;
  Value forward(const Value& x, CallContext& context) final {
    return forward_with(kernel_, x, context);
  }

  void add_bias(int64_t units);
  void put_affine(Attrs& attrs) const;

  Variable kernel_;

 private:
  AffineOptions affine_;
  Variable bias_;
};

// The options of an AffineLayer out of those of a Dense, Conv2D, …, and out of a configuration into
// them.
template <class Options>
AffineOptions affine_options(const Options& options) {
  return {options.activation, options.use_bias, options.bias_initializer, options.bias_regularizer,
          options.activity_regularizer};
}

AffineOptions affine_options(const Attrs& attrs);

template <class Options>
void set_affine(Options& options, const Attrs& attrs) {
  AffineOptions affine = affine_options(attrs);
  options.activation = affine.activation;
  options.use_bias = affine.use_bias;
  options.bias_initializer = affine.bias_initializer;
  options.bias_regularizer = affine.bias_regularizer;
  options.activity_regularizer = affine.activity_regularizer;
}

}  // namespace stoker
