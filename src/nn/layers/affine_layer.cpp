#include "nn/layers/affine_layer.h"

#include "nn/config.h"

namespace stoker {

Value AffineLayer::forward_with(const Value& kernel, const Value& x, CallContext& context) {
  expect_float(x);
  Value y = linear(as_float32(x), kernel);
  if (bias_.defined()) y = y + bias_;
  y = affine_.activation(y);
  if (affine_.activity_regularizer)
    context.add_loss(affine_.activity_regularizer(y) / double(y.shape()[0]));
  return y;
}

void AffineLayer::add_bias(int64_t units) {
  if (affine_.use_bias)
    bias_ = add_weight(
        "bias", {units},
        {.initializer = affine_.bias_initializer, .regularizer = affine_.bias_regularizer});
}

void AffineLayer::put_affine(Attrs& attrs) const {
  attrs.set("activation", affine_.activation.name());
  attrs.set("use_bias", affine_.use_bias);
  config::put(attrs, "bias_initializer", affine_.bias_initializer);
  config::put(attrs, "bias_regularizer", affine_.bias_regularizer);
  config::put(attrs, "activity_regularizer", affine_.activity_regularizer);
}

AffineOptions affine_options(const Attrs& attrs) {
  return {config::activation(attrs), attrs.get_or("use_bias", true),
          config::initializer(attrs, "bias_initializer", "zeros"),
          config::regularizer(attrs, "bias_regularizer"),
          config::regularizer(attrs, "activity_regularizer")};
}

}  // namespace stoker
