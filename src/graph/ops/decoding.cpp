// cached_attention, cache_append.
#include "graph/ops/decoding.h"

#include <fmt/format.h>

#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

void expect_mask(const Shape& mask, const Shape& whole) {
  bool fits = mask.rank() == 4 && mask[3] == whole[3];
  for (int axis = 0; fits && axis < 3; ++axis) fits = mask[axis] == 1 || mask[axis] == whole[axis];
  if (!fits)
    throw ShapeError(
        fmt::format("expected a mask that broadcasts to {} with its last extent, got {}",
                    to_string(whole), to_string(mask)));
}

}  // namespace

CachedAttentionShape::CachedAttentionShape(std::span<const TensorSpec> inputs) {
  expect_count(inputs, 6, 7);
  expect_rank(inputs[0], 4, "queries [B, m, H, D]");
  expect_rank(inputs[1], 4, "keys [B, n, G, D]");
  expect_rank(inputs[2], 4, "values [B, n, G, Dv]");
  expect_rank(inputs[3], 4, "cached keys [B, G, C, D]");
  const Shape &q = inputs[0].shape, &k = inputs[1].shape, &v = inputs[2].shape;
  batch = q[0], queries = q[1], heads = q[2], depth = q[3];
  chunk = k[1], groups = k[2], value_depth = v[3], capacity = inputs[3].shape[2];
  DType dtype = inputs[0].dtype;
  expect_spec(inputs[1], {dtype, {batch, chunk, groups, depth}}, "keys");
  expect_spec(inputs[2], {dtype, {batch, chunk, groups, value_depth}}, "values");
  expect_spec(inputs[3], {dtype, {batch, groups, capacity, depth}}, "cached keys");
  expect_spec(inputs[4], {dtype, {batch, groups, capacity, value_depth}}, "cached values");
  expect_spec(inputs[5], {DType::int32, {chunk}}, "positions");
  if (queries > chunk)
    throw ShapeError(
        fmt::format("expected at most as many queries as keys, got {} and {}", queries, chunk));
  if (groups < 1 || heads % groups != 0)
    throw ShapeError(fmt::format("expected a multiple of {} heads, got {}", groups, heads));
  if (inputs.size() == 6) return;
  bias = inputs[6].dtype != DType::bool_;
  if (bias) expect_dtype(inputs[6], dtype, "a mask of bool, or a bias");
  mask = inputs[6].shape;
  expect_mask(mask, {batch, heads, queries, capacity});
}

namespace {

std::vector<TensorSpec> infer_cached_attention(const Attrs& attrs, Specs inputs) {
  CachedAttentionShape shape(inputs);
  attrs.get<double>("scale");
  return {{inputs[0].dtype, {shape.batch, shape.queries, shape.heads, shape.value_depth}}};
}

// Of a full cache.
Cost cached_attention_cost(const Attrs&, Specs inputs, Specs outputs) {
  CachedAttentionShape shape(inputs);
  double pairs = double(shape.batch * shape.queries * shape.heads) * double(shape.capacity);
  return cost_of(pairs * double(2 * (shape.depth + shape.value_depth) + 4), inputs, outputs);
}

// cache: [B, G, C, D], rows: [B, n, G, D], positions: int32 [n] → cache
std::vector<TensorSpec> infer_cache_append(const Attrs&, Specs inputs) {
  expect_count(inputs, 3);
  expect_rank(inputs[0], 4, "a cache [B, G, C, D]");
  expect_rank(inputs[1], 4, "rows [B, n, G, D]");
  const Shape& cache = inputs[0].shape;
  int64_t chunk = inputs[1].shape[1];
  expect_spec(inputs[1], {inputs[0].dtype, {cache[0], chunk, cache[1], cache[3]}}, "rows");
  expect_spec(inputs[2], {DType::int32, {chunk}}, "positions");
  return {inputs[0]};
}

// The rows that are written, not the whole cache.
Cost cache_append_cost(const Attrs&, Specs inputs, Specs) {
  return {.flops = 0, .bytes = 2 * bytes(inputs[1])};
}

}  // namespace

void register_decoding_ops(OpRegistry& registry) {
  registry.add({.name = "cached_attention",
                .infer = infer_cached_attention,
                .cost = cached_attention_cost,
                .dtypes = floats()});
  registry.add({.name = "cache_append",
                .infer = infer_cache_append,
                .cost = cache_append_cost,
                .dtypes = all_but_bytes(),
                .in_place = shares({{0, 0}}),
                .traits = {.updates_variables = true}});
}

}  // namespace stoker
