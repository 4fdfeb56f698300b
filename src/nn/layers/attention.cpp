#include "nn/layers/attention.h"

#include <stoker/attention.h>

#include "nn/counting.h"
#include "nn/masks.h"

namespace stoker {

namespace {

Value combined(const Value& a, const Value& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return both(a, b);
}

Value window_mask(int64_t queries, int64_t keys, int64_t window) {
  Value row = ops::reshape(counting(queries), {queries, 1}), column = counting(keys);
  return both(ops::less(row - column, window), ops::less(column - row, window));
}

// bool, broadcast to [B, heads, Tq, Tk]; undefined: all is seen.
Value mask_of_scores(const Attended& a) {
  Value mask;
  if (a.key_mask.defined())
    mask = ops::reshape(a.key_mask, {a.key_mask.shape()[0], 1, 1, a.key_mask.shape()[1]});
  if (a.attention_mask.defined()) {
    Value given = as_mask(a.attention_mask);
    if (given.shape().rank() == 3) given = ops::expand_dims(given, 1);
    while (given.shape().rank() < 4) given = ops::expand_dims(given, 0);
    mask = combined(mask, given);
  }
  if (a.query_mask.defined() && a.with_scores)  // else their outputs are zeroed, which is the same
    mask = combined(
        mask, ops::reshape(a.query_mask, {a.query_mask.shape()[0], 1, a.query_mask.shape()[1], 1}));
  if (a.window == 0) return mask;
  int64_t queries = a.query.shape()[1], keys = a.key.shape()[1];
  return combined(mask, ops::reshape(window_mask(queries, keys, a.window), {1, 1, queries, keys}));
}

Value by_head(const Value& x) { return ops::transpose(x, {0, 2, 1, 3}); }

// [B, kv_heads, T, d] → [B, heads, T, d]
Value repeated(const Value& x, int64_t heads) {
  const Shape& s = x.shape();
  if (s[1] == heads) return x;
  Value all = ops::broadcast_to(ops::expand_dims(x, 2), {s[0], s[1], heads / s[1], s[2], s[3]});
  return ops::reshape(all, {s[0], heads, s[2], s[3]});
}

// With the scores in memory.
AttendedResult attend_in_steps(const Attended& a, const Value& mask, CallContext& context) {
  int64_t queries = a.query.shape()[1], heads = a.query.shape()[2], keys = a.key.shape()[1];
  Value seen = mask;
  if (a.causal) {
    Value causal = causal_mask(queries, keys);
    seen = seen.defined() ? both(seen, causal) : causal;
  }
  Value key = repeated(by_head(a.key), heads), value = repeated(by_head(a.value), heads);
  Value scores = ops::matmul(by_head(a.query) * a.scale, key, {.transpose_b = true});
  Value weights = masked_softmax(scores, seen);
  return {by_head(ops::matmul(dropped(weights, a.rate, context), value)), weights};
}

}  // namespace

Value causal_mask(int64_t queries, int64_t keys) {
  return ops::greater_equal(ops::reshape(counting(queries), {queries, 1}), counting(keys));
}

Value masked_softmax(const Value& scores, const Value& seen) {
  if (!seen.defined()) return ops::softmax(scores);
  constexpr double kUnseen = -1e9;
  Value wide = ops::cast(scores, DType::float32);
  Value weights = ops::softmax(ops::where(seen, wide, kUnseen));
  return ops::cast(ops::where(seen, weights, 0.0), scores.dtype());
}

Value dropped(const Value& x, double rate, CallContext& context) {
  if (rate == 0 || !context.training()) return x;
  return ops::dropout(x, context.random_state(), rate, context.next_stream());
}

Value without_masked(const Value& output, const Value& query_mask) {
  if (!query_mask.defined()) return output;
  Shape beside = output.shape();
  for (int axis = 0; axis < beside.rank(); ++axis)
    beside.set(axis, axis < query_mask.shape().rank() ? query_mask.shape()[axis] : 1);
  return ops::where(ops::reshape(query_mask, beside), output, 0.0);
}

AttendedResult attend(const Attended& a, CallContext& context) {
  Value mask = mask_of_scores(a);
  if (a.with_scores) return attend_in_steps(a, mask, context);
  ops::DotProductAttention options{.mask = mask, .scale = a.scale, .is_causal = a.causal};
  if (a.rate > 0 && context.training()) {
    options.dropout = a.rate;
    options.state = context.random_state();
    options.stream = context.next_stream();
  }
  Value output = ops::dot_product_attention(a.query, a.key, a.value, options);
  return {without_masked(output, a.query_mask), {}};
}

}  // namespace stoker
