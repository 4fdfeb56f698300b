#include "nn/layers/affine_layer.h"

#include <fmt/format.h>

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

void AffineLayer::check_groups(int64_t filters, int64_t groups) const {
  if (filters % groups != 0)
    fail_option(fmt::format("{} filters cannot be shared by {} groups", filters, groups));
}

int64_t AffineLayer::channels_of_group(const Shape& input, int64_t groups) const {
  int64_t channels = input[-1];
  if (channels > 0 && channels % groups != 0)
    fail_input(fmt::format("a number of channels that {} groups can share", groups), input);
  return channels < 0 ? -1 : channels / groups;
}

}  // namespace stoker
