#include <stoker/attention.h>

#include <limits>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "graph/op.h"

namespace stoker::ops {

namespace {

// [B, heads, Tq, Tk] with leading ones.
Value four_axes(Value mask, const char* what) {
  if (mask.shape().rank() > 4)
    throw ShapeError(
        fmt::format("dot_product_attention: expected a {} of at most 4 dimensions, [B, heads, Tq, "
                    "Tk], got {}",
                    what, to_string(mask.shape())));
  while (mask.shape().rank() < 4) mask = expand_dims(mask, 0);
  return mask;
}

// A mask of bool, a bias, or both as one bias; undefined: neither.
Value combined(const DotProductAttention& options) {
  if (options.mask.defined() && options.mask.dtype() != DType::bool_)
    throw ShapeError(
        fmt::format("dot_product_attention: expected a mask of bool, got {}; a float is a `bias`, "
                    "ops::cast makes bools of numbers",
                    to_string(options.mask.spec())));
  if (options.bias.defined() && !is_floating(options.bias.dtype()))
    throw ShapeError(
        fmt::format("dot_product_attention: expected a bias of floats, got {}; a bool is a `mask`",
                    to_string(options.bias.spec())));
  if (!options.bias.defined())
    return options.mask.defined() ? four_axes(options.mask, "mask") : Value();
  Value bias = four_axes(options.bias, "bias");
  if (!options.mask.defined()) return bias;
  return where(four_axes(options.mask, "mask"), bias, -std::numeric_limits<double>::infinity());
}

}  // namespace

Value dot_product_attention(const Value& query, const Value& key, const Value& value,
                            const DotProductAttention& options) {
  Values operands = {query, key, value};
  Value mask = combined(options);
  Attrs attrs = {{"causal", options.is_causal},
                 {"masked", mask.defined()},
                 {"rate", options.dropout},
                 {"stream", options.stream},
                 {"deterministic", options.deterministic}};
  if (options.scale) attrs.set("scale", *options.scale);
  if (mask.defined()) operands.push_back(mask);
  if (options.dropout > 0) {
    if (!options.state.defined())
      throw ValueError(
          "dot_product_attention: dropout needs a random state; pass CallContext::random_state() "
          "as `state`");
    operands.push_back(options.state);
  }
  return apply("attention", operands, std::move(attrs))[0];
}

}  // namespace stoker::ops
