// Attention to a key-value cache, and what a chunk of tokens leaves in it.
#include <algorithm>
#include <cmath>

#include "engine/reference/kernel.h"
#include "graph/ops/decoding.h"

namespace stoker::reference {

namespace {

std::vector<TensorSpec> operand_specs(const Call& call) {
  std::vector<TensorSpec> specs;
  for (const Array* input : call.inputs) specs.push_back(input->spec);
  return specs;
}

// The keys (input 1, cached in 3) or values (2, 4) of a head by position, row by row.
class CachedRows {
 public:
  CachedRows(const Call& call, size_t input, int64_t batch_row, int64_t group)
      : chunk_(call.in(input)), cache_(call.in(input + 2)) {
    const Shape& shape = chunk_.shape();
    depth_ = shape[3], stride_ = shape[2] * depth_;
    first_ = batch_row * shape[1] * stride_ + group * depth_;
    cached_ = (batch_row * shape[2] + group) * cache_.shape()[2] * depth_;
    begin_ = int64_t(call.in(5)[0]);
  }
  Number at(int64_t position, int64_t column) const {
    return position < begin_ ? cache_[cached_ + position * depth_ + column]
                             : chunk_[first_ + (position - begin_) * stride_ + column];
  }

 private:
  const Array &chunk_, &cache_;
  int64_t depth_, stride_, first_, cached_, begin_;
};

// Query i stands at positions[n - m + i], and sees what stands there or before.
void attend_cached(const Call& call, const CachedAttentionShape& shape, int64_t batch_row,
                   int64_t query, int64_t head) {
  int64_t group = head / (shape.heads / shape.groups);
  CachedRows keys(call, 1, batch_row, group), values(call, 2, batch_row, group);
  int64_t row = (batch_row * shape.queries + query) * shape.heads + head;
  int64_t seen = int64_t(call.in(5)[0]) + shape.chunk - shape.queries + query + 1;
  std::vector<Number> scores(static_cast<size_t>(std::min(seen, shape.capacity)));
  Number largest = -INFINITY, sum = 0;
  for (size_t j = 0; j < scores.size(); ++j) {
    Number score = 0;
    for (int64_t d = 0; d < shape.depth; ++d)
      score += call.in(0)[row * shape.depth + d] * keys.at(int64_t(j), d);
    scores[j] = score * Number(call.attrs.get<double>("scale"));
    if (shape.masked()) {
      int64_t at = shape.mask_row(batch_row, head, query) * shape.capacity + int64_t(j);
      Number mask = call.in(6)[at];
      scores[j] = shape.bias ? scores[j] + mask : mask == 0 ? -INFINITY : scores[j];
    }
    largest = std::isnan(scores[j]) || scores[j] > largest ? scores[j] : largest;
  }
  if (std::isinf(largest) && largest < 0) return;  // sees nothing: zeros
  for (Number& score : scores) sum += score = std::exp(score - largest);
  for (int64_t d = 0; d < shape.value_depth; ++d) {
    Number mixed = 0;
    for (size_t j = 0; j < scores.size(); ++j) mixed += scores[j] * values.at(int64_t(j), d);
    call.out()[row * shape.value_depth + d] = mixed / sum;
  }
}

void cached_attention(const Call& call) {
  CachedAttentionShape shape(operand_specs(call));
  for (int64_t row = 0; row < shape.batch; ++row)
    for (int64_t query = 0; query < shape.queries; ++query)
      for (int64_t head = 0; head < shape.heads; ++head)
        attend_cached(call, shape, row, query, head);
}

void cache_append(const Call& call) {
  const Array &cache = call.in(0), &rows = call.in(1);
  call.out().data = cache.data;
  int64_t groups = cache.shape()[1], capacity = cache.shape()[2], depth = cache.shape()[3];
  int64_t chunk = rows.shape()[1], begin = int64_t(call.in(2)[0]);
  for (int64_t i = 0; i < rows.size() / depth; ++i) {
    int64_t group = i % groups, position = begin + i / groups % chunk, row = i / groups / chunk;
    if (position < 0 || position >= capacity) continue;
    for (int64_t d = 0; d < depth; ++d)
      call.out()[((row * groups + group) * capacity + position) * depth + d] = rows[i * depth + d];
  }
}

}  // namespace

void add_decoding_kernels(KernelTable& table) {
  table["cached_attention"] = cached_attention;
  table["cache_append"] = cache_append;
}

}  // namespace stoker::reference
