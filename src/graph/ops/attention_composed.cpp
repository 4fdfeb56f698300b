// attention and attention_grad as compositions of other ops. Scores: [B, heads, Tq, Tk], float32.
#include <limits>

#include "graph/emit.h"
#include "graph/ops/attention.h"

namespace stoker {

namespace {

// Below every score: what is masked, before it is set to zero behind the exponential.
constexpr double kUnseen = -1e30;

Value widened(const Value& x) { return emit::cast(x, DType::float32); }

// 0, 1, 2, … as int32 of this shape.
Value counted(const Shape& shape) {
  Tensor numbers = Tensor::zeros(shape, DType::int32);
  for (int64_t i = 0; i < shape.elements(); ++i) numbers.data_mut<int32_t>()[i] = int32_t(i);
  return numbers;
}

struct Composed {
  AttentionShape shape;
  const Values& inputs;
  Value q, k, v;  // [B, heads, T, dim], the keys' heads repeated
  Value seen;     // bool, broadcast to the scores; undefined: all are

  Composed(const Attrs& attrs, const Values& operands, AttentionShape::Op op)
      : shape(attrs, specs(operands), op), inputs(operands) {
    q = by_head(inputs[shape.query()]);
    k = repeated(by_head(inputs[shape.key()]), shape.dim);
    v = repeated(by_head(inputs[shape.value()]), shape.value_dim);
    if (shape.causal)
      seen = emit::compare("greater_equal", counted({shape.queries, 1}), beside(shape.keys));
    if (!shape.masked) return;
    Value open = shape.bias ? emit::compare("not_equal", widened(inputs[shape.mask()]),
                                            -std::numeric_limits<double>::infinity())
                            : inputs[shape.mask()];
    seen = seen.defined() ? emit::select(open, seen, open) : open;
  }

  static std::vector<TensorSpec> specs(const Values& values) {
    std::vector<TensorSpec> found;
    for (const Value& value : values) found.push_back(value.spec());
    return found;
  }
  static Value beside(int64_t keys) { return counted({1, keys}); }
  static Value by_head(const Value& x) { return emit::transpose(widened(x), {0, 2, 1, 3}); }

  // [B, kv_heads, Tk, d] → [B, heads, Tk, d]
  Value repeated(const Value& x, int64_t d) const {
    if (shape.group() == 1) return x;
    Value one = emit::reshape(x, {shape.batch, shape.kv_heads, 1, shape.keys, d});
    Value all =
        emit::broadcast_to(one, {shape.batch, shape.kv_heads, shape.group(), shape.keys, d});
    return emit::reshape(all, {shape.batch, shape.heads, shape.keys, d});
  }
  // The way back: summed over the heads of a group, in the operand's layout and dtype.
  Value gathered(const Value& dx, int64_t d, DType dtype) const {
    Value sum = dx;
    if (shape.group() > 1)
      sum = emit::reduce(
          "sum", emit::reshape(dx, {shape.batch, shape.kv_heads, shape.group(), shape.keys, d}),
          {2}, false);
    return emit::cast(emit::transpose(sum, {0, 2, 1, 3}), dtype);
  }

  Value scores() const {
    Value scores = emit::matmul(q, k, false, true) * shape.scale;
    if (shape.bias) scores = scores + widened(inputs[shape.mask()]);
    return seen.defined() ? emit::select(seen, scores, kUnseen) : scores;
  }
  Value only_seen(const Value& weights) const {
    return seen.defined() ? emit::select(seen, weights, 0.0) : weights;
  }
  Value dropped(const Value& weights) const {
    if (shape.rate == 0) return weights;
    return apply1("dropout", {weights, inputs[shape.state()]},
                  {{"rate", shape.rate}, {"stream", shape.stream}});
  }
};

Value row_sum(const Value& x) { return emit::reduce("sum", x, {3}, true); }

}  // namespace

Values compose_attention(const Attrs& attrs, const Values& inputs) {
  Composed c(attrs, inputs, AttentionShape::Op::forward);
  Value scores = c.scores();
  Value largest = apply1("identity", {emit::reduce("max", scores, {3}, true)});
  Value weights = c.only_seen(emit::unary("exp", scores - largest));
  Value total = row_sum(weights);
  Value any = emit::compare("not_equal", total, 0.0);  // a row that sees no key gives zeros
  Value divisor = emit::select(any, total, 1.0);
  Value logsumexp = emit::select(any, largest + emit::unary("log", divisor), 0.0);
  Value out = emit::matmul(c.dropped(weights / divisor), c.v, false, false);
  const AttentionShape& s = c.shape;
  return {emit::cast(emit::transpose(out, {0, 2, 1, 3}), inputs[0].dtype()),
          emit::reshape(logsumexp, {s.batch, s.heads, s.queries})};
}

Values compose_attention_grad(const Attrs& attrs, const Values& inputs) {
  Composed c(attrs, inputs, AttentionShape::Op::gradient);
  const AttentionShape& s = c.shape;
  Value dout = Composed::by_head(inputs[AttentionShape::kDout]);
  Value out = Composed::by_head(inputs[s.out()]);
  Value logsumexp = emit::reshape(inputs[s.logsumexp()], {s.batch, s.heads, s.queries, 1});
  Value weights = c.only_seen(emit::unary("exp", c.scores() - logsumexp));
  Value dweights = c.dropped(emit::matmul(dout, c.v, false, true));
  Value dscores = weights * (dweights - row_sum(dout * out));
  Value dq = emit::matmul(dscores, c.k, false, false) * s.scale;
  Value dk = emit::matmul(dscores, c.q, true, false) * s.scale;
  Value dv = emit::matmul(c.dropped(weights), dout, true, false);
  DType dtype = inputs[1].dtype();
  Values gradients = {emit::cast(emit::transpose(dq, {0, 2, 1, 3}), dtype),
                      c.gathered(dk, s.dim, dtype), c.gathered(dv, s.value_dim, dtype)};
  if (s.bias_gradient) {
    const Value& bias = inputs[s.mask()];
    gradients.push_back(emit::cast(emit::sum_to(dscores, bias.shape()), bias.dtype()));
  }
  return gradients;
}

}  // namespace stoker
