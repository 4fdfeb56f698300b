#include <stoker/attention.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <stoker/error.h>

#include "graph/emit.h"
#include "graph/op.h"
#include "graph/placement.h"
#include "graph/sketch.h"

namespace stoker::ops {

namespace {

// Constants and variables belong to no graph yet: they go where the query is.
Value apply_beside(const Value& query, const char* op, const Values& inputs, Attrs attrs = {}) {
  auto drawn = [](const Value& value) { return value.sketched() != nullptr; };
  if (query.sketched() && std::ranges::none_of(inputs, drawn))
    return sketch(OpRegistry::get().find(op), inputs, std::move(attrs))[0];
  if (query.traced() == nullptr) return apply1(op, inputs, std::move(attrs));
  return apply1(op, place(*query.traced()->graph, inputs), std::move(attrs));
}

// [B, heads, Tq, Tk] with leading ones.
Value four_axes(const Value& query, const Value& mask, const char* what) {
  Shape shape = mask.shape();
  if (shape.rank() > 4)
    throw ShapeError(
        fmt::format("dot_product_attention: expected a {} of at most 4 dimensions, [B, heads, Tq, "
                    "Tk], got {}",
                    what, to_string(shape)));
  if (shape.rank() == 4) return mask;
  while (shape.rank() < 4) shape = shape.prepend(1);
  return apply_beside(query, "reshape", {mask}, {{"shape", emit::dims(shape)}});
}

// A mask of bool, a bias, or both as one bias; undefined: neither.
Value combined(const Value& query, const DotProductAttention& options) {
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
    return options.mask.defined() ? four_axes(query, options.mask, "mask") : Value();
  Value bias = four_axes(query, options.bias, "bias");
  if (!options.mask.defined()) return bias;
  Value hidden = Tensor::full({}, -std::numeric_limits<double>::infinity());
  return apply_beside(query, "select", {four_axes(query, options.mask, "mask"), bias, hidden});
}

}  // namespace

Value dot_product_attention(const Value& query, const Value& key, const Value& value,
                            const DotProductAttention& options) {
  Values operands = {query, key, value};
  Value mask = combined(query, options);
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
