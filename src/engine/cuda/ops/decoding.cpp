#include "graph/ops/decoding.h"

#include "engine/cuda/kernels/decoding.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

CachedAttentionCall describe_attention(const CachedAttentionShape& shape, DType dtype,
                                       double scale) {
  CachedAttentionCall call;
  call.dtype = dtype;
  call.batch = shape.batch, call.queries = shape.queries, call.heads = shape.heads;
  call.depth = shape.depth, call.chunk = shape.chunk, call.groups = shape.groups;
  call.capacity = shape.capacity, call.value_depth = shape.value_depth;
  call.scale = float(scale);
  call.bias = shape.bias;
  if (!shape.masked()) return call;
  const Shape& mask = shape.mask;
  call.mask_strides[2] = mask[2] == 1 ? 0 : mask[3];
  call.mask_strides[1] = mask[1] == 1 ? 0 : mask[2] * mask[3];
  call.mask_strides[0] = mask[0] == 1 ? 0 : mask[1] * mask[2] * mask[3];
  return call;
}

void build_cached_attention(Builder& b, const Node& node) {
  std::vector<TensorSpec> specs;
  std::vector<int> reads;
  for (int value : node.inputs) {
    specs.push_back(b.spec(value));
    reads.push_back(b.input(value));
  }
  CachedAttentionShape shape(specs);
  CachedAttentionCall call =
      describe_attention(shape, specs[0].dtype, node.attrs.get<double>("scale"));
  int64_t blocks = cached_attention_blocks(shape.batch * shape.heads * shape.queries);
  size_t operands = reads.size();
  int y = b.define(node.outputs[0]);
  int scores = b.scratch(size_t(std::max<int64_t>(blocks * shape.capacity, 1)) * sizeof(float));
  b.emit({"own:cached_attention", reads, {y, scores}}, [call, operands](const Launch& at) {
    CachedAttentionCall bound = call;
    bound.q = at.get(0), bound.k = at.get(1), bound.v = at.get(2);
    bound.cached_k = at.get(3), bound.cached_v = at.get(4);
    bound.positions = at.get<int32_t>(5);
    if (operands > 6) bound.mask = at.get(6);
    bound.out = at.get(operands);
    bound.scores = at.get<float>(operands + 1);
    run_cached_attention(bound, at.stream);
  });
}

void build_cache_append(Builder& b, const Node& node) {
  const TensorSpec &cache = b.spec(node.inputs[0]), &rows = b.spec(node.inputs[1]);
  CacheAppendCall call;
  call.batch = cache.shape[0], call.groups = cache.shape[1], call.capacity = cache.shape[2];
  call.chunk = rows.shape[1];
  call.width = cache.shape[3] * int64_t(size_of(cache.dtype));
  int before = b.input(node.inputs[0]), from = b.input(node.inputs[1]),
      positions = b.input(node.inputs[2]);
  int to = b.define_update(node.outputs[0], node.inputs[0]);
  if (to != before) b.emit_copy(before, to, bytes_of(cache));
  b.emit({"own:cache_append", {from, positions}, {to}}, [call](const Launch& at) {
    CacheAppendCall bound = call;
    bound.rows = at.get(0);
    bound.positions = at.get<int32_t>(1);
    bound.cache = at.get(2);
    run_cache_append(bound, at.stream);
  });
}

}  // namespace

void add_decoding_builders(OpBuilders& table) {
  table["cached_attention"] = {build_cached_attention};
  table["cache_append"] = {build_cache_append};
}

}  // namespace stoker::cuda
