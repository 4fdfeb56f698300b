// attention: softmax(query · keyᵀ · scale + bias) · value under masks, and its gradient.
#include "graph/ops/attention.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

void expect_mask(const TensorSpec& mask, const TensorSpec& query, const Shape& scores) {
  if (mask.dtype != DType::bool_ && mask.dtype != query.dtype)
    throw ShapeError(
        fmt::format("expected a mask of bool, or a bias of the query's dtype, got {}; ops::cast "
                    "converts it",
                    to_string(mask)));
  bool fits = mask.shape.rank() == 4;
  for (int axis = 0; fits && axis < 4; ++axis)
    fits = mask.shape[axis] == 1 || mask.shape[axis] == scores[axis];
  if (!fits)
    throw ShapeError(
        fmt::format("expected a mask or bias [batch, heads, Tq, Tk] = {} with extents of 1 where "
                    "it repeats, got {}",
                    to_string(scores), to_string(mask.shape)));
}

std::array<int64_t, 4> strides_of(const Shape& mask) {
  std::array<int64_t, 4> strides = {};
  int64_t stride = 1;
  for (int axis = 4; axis-- > 0;) {
    strides[size_t(axis)] = mask[axis] == 1 ? 0 : stride;
    stride *= mask[axis];
  }
  return strides;
}

}  // namespace

AttentionShape::AttentionShape(const Attrs& attrs, std::span<const TensorSpec> inputs, Op op)
    : causal(attrs.get_or("causal", false)),
      masked(attrs.get_or("masked", false)),
      deterministic(attrs.get_or("deterministic", true)),
      bias_gradient(attrs.get_or("bias_gradient", false)),
      rate(attrs.get_or("rate", 0.0)),
      stream(attrs.get_or("stream", int64_t(0))),
      op_(op) {
  if (!(rate >= 0 && rate < 1))
    throw ShapeError(fmt::format("expected a rate in [0, 1), got {}", rate));
  expect_count(inputs, operands());
  const TensorSpec &q = inputs[query()], &k = inputs[key()], &v = inputs[value()];
  expect_rank(q, 4, "a 4-D query [B, Tq, heads, dim]");
  expect_rank(k, 4, "a 4-D key [B, Tk, heads, dim]");
  expect_rank(v, 4, "a 4-D value [B, Tk, heads, dim]");
  batch = q.shape[0];
  queries = q.shape[1];
  heads = q.shape[2];
  dim = q.shape[3];
  keys = k.shape[1];
  kv_heads = k.shape[2];
  value_dim = v.shape[3];
  expect_spec(k, {q.dtype, {batch, keys, kv_heads, dim}}, "a key");
  expect_spec(v, {q.dtype, {batch, keys, kv_heads, value_dim}}, "a value");
  if (kv_heads < 1 || heads % kv_heads != 0)
    throw ShapeError(
        fmt::format("expected the query's heads to be a multiple of the key's, got {} and {}",
                    heads, kv_heads));
  if (dim < 1) throw ShapeError("expected heads of at least one dimension");
  scale = attrs.has("scale") ? attrs.get<double>("scale") : 1 / std::sqrt(double(dim));
  if (rate > 0) expect_spec(inputs[state()], {DType::int64, {2}}, "a random state {seed, step}");
  if (!masked) return;
  expect_mask(inputs[mask()], q, {batch, heads, queries, keys});
  bias = is_floating(inputs[mask()].dtype);
  mask_strides = strides_of(inputs[mask()].shape);
}

double AttentionShape::pairs() const {
  double seen = double(queries) * double(keys);
  if (causal) {
    double steps =
        double(std::min(queries, keys));  // rows that see one key more than the one above
    seen = steps * (steps + 1) / 2 + (double(queries) - steps) * double(keys);
  }
  return double(batch * heads) * seen;
}

namespace {

using Op = AttentionShape::Op;

std::vector<TensorSpec> specs_of(const Values& values) {
  std::vector<TensorSpec> specs;
  for (const Value& value : values) specs.push_back(value.spec());
  return specs;
}

TensorSpec out_spec(const AttentionShape& shape, DType dtype) {
  return {dtype, {shape.batch, shape.queries, shape.heads, shape.value_dim}};
}
TensorSpec logsumexp_spec(const AttentionShape& shape) {
  return {DType::float32, {shape.batch, shape.heads, shape.queries}};
}

std::vector<TensorSpec> infer_attention(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 3, 5);
  AttentionShape shape(attrs, inputs, Op::forward);
  return {out_spec(shape, inputs[0].dtype), logsumexp_spec(shape)};
}

std::vector<TensorSpec> infer_attention_grad(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 6, 8);
  AttentionShape shape(attrs, inputs, Op::gradient);
  TensorSpec out = out_spec(shape, inputs[shape.query()].dtype);
  expect_spec(inputs[AttentionShape::kDout], out, "the gradient of out");
  expect_spec(inputs[shape.out()], out, "out");
  expect_spec(inputs[shape.logsumexp()], logsumexp_spec(shape), "logsumexp");
  std::vector<TensorSpec> outputs = {inputs[1], inputs[2], inputs[3]};
  if (!shape.bias_gradient) return outputs;
  if (!shape.bias) throw ShapeError("expected a bias, got none, or a mask of bool");
  outputs.push_back(inputs[shape.mask()]);
  return outputs;
}

// The kernel gives the gradients of out alone. Where the loss also depends on logsumexp (a second
// derivative), they come from the composition.
Values attention_gradient(const GradientCall& call) {
  if (call.output_gradients[1].defined()) return gradient_of(compose_attention)(call);
  AttentionShape shape(call.attrs, specs_of(call.inputs), Op::forward);
  Values operands = {call.output_gradients[0]};
  operands.insert(operands.end(), call.inputs.begin(), call.inputs.end());
  operands.insert(operands.end(), call.outputs.begin(), call.outputs.end());
  Attrs attrs = call.attrs;
  bool bias_gradient = shape.bias && call.needed[shape.mask()];
  if (bias_gradient) attrs.set("bias_gradient", true);
  Values gradients = apply("attention_grad", operands, attrs);
  gradients.resize(call.inputs.size());
  return gradients;
}

// Per pair that sees each other: the products (forward two, backward five), and about 12 operations
// for its exponential.
CostRule attention_cost(Op op) {
  return [op](const Attrs& attrs, Specs inputs, Specs outputs) {
    AttentionShape shape(attrs, inputs, op);
    double dims = op == Op::forward ? double(shape.dim + shape.value_dim)
                                    : double(3 * shape.dim + 2 * shape.value_dim);
    return cost_of(shape.pairs() * (2 * dims + 12), inputs, outputs);
  };
}

}  // namespace

void register_attention_ops(OpRegistry& registry) {
  registry.add({.name = "attention",
                .infer = infer_attention,
                .gradient = attention_gradient,
                .cost = attention_cost(Op::forward),
                .dtypes = floats(),
                .traits = {.operands = Operands::product}});
  registry.add({.name = "attention_grad",
                .infer = infer_attention_grad,
                .gradient = gradient_of(compose_attention_grad),
                .cost = attention_cost(Op::gradient),
                .dtypes = floats()});
}

}  // namespace stoker
