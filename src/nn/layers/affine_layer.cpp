#include "nn/layers/affine_layer.h"

namespace stoker {

Value AffineLayer::forward_with(const Value& kernel, const Value& x, CallContext& context) {
  Value y = product_with(kernel, x);
  return finished(bias_.defined() ? y + bias_ : y, context);
}

Value AffineLayer::product_with(const Value& kernel, const Value& x) {
  expect_float(x);
  return linear(as_float32(x), kernel);
}

Value AffineLayer::finished(const Value& sum, CallContext& context) {
  Value y = sum;
  bool own = activation_.name() == ActivationFunction::kCustom;  // sees what the layer returns
  y = own ? activation_(unfolded(y)) : unfolded(activation_(y));
  if (activity_regularizer_) context.add_loss(activity_regularizer_(y) / double(y.shape()[0]));
  return y;
}

void AffineLayer::add_bias(int64_t units) {
  if (use_bias_)
    bias_ = add_weight("bias", {units},
                       {.initializer = bias_initializer_,
                        .regularizer = bias_regularizer_,
                        .constraint = bias_constraint_});
}

}  // namespace stoker
