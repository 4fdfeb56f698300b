// Attention to a key-value cache, and what a chunk of tokens leaves in it.
#include "graph/ops/decoding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

struct CachedAttention {
  CachedAttentionShape shape;
  float scale;

  // The heads [begin, end) of all rows of the batch, one query after the other.
  void run(Pointers p, int64_t begin, int64_t end, float* scores) const {
    for (int64_t item = begin; item < end; ++item)
      for (int64_t query = 0; query < shape.queries; ++query)
        attend(p, item / shape.heads, item % shape.heads, query, scores);
  }

 private:
  void attend(Pointers p, int64_t row, int64_t head, int64_t query, float* scores) const {
    int64_t group = head / (shape.heads / shape.groups), depth = shape.depth;
    int64_t cached = std::clamp<int64_t>(*p.in<int32_t>(5), 0, shape.capacity);
    int64_t own = std::min(shape.chunk - shape.queries + query + 1, shape.capacity - cached);
    int64_t at = (row * shape.queries + query) * shape.heads + head;
    int64_t cache = (row * shape.groups + group) * shape.capacity;
    int64_t first = row * shape.chunk * shape.groups + group;
    auto dot = kernels().dot_rows;
    const float* q = p.in<float>(0) + at * depth;
    dot(q, p.in<float>(3) + cache * depth, depth, cached, depth, scale, scores);
    dot(q, p.in<float>(1) + first * depth, shape.groups * depth, own, depth, scale,
        scores + cached);
    int64_t width = shape.value_depth;
    float* y = p.out<float>(shape.masked() ? 7 : 6) + at * width;
    std::memset(y, 0, size_t(width) * sizeof(float));
    if (shape.masked()) mask(p, shape.mask_row(row, head, query), cached + own, scores);
    if (sees_nothing(scores, cached + own)) return;
    kernels().softmax(scores, scores, 1, cached + own);
    auto mix = kernels().mix_rows;
    mix(scores, p.in<float>(4) + cache * width, width, cached, width, y);
    mix(scores + cached, p.in<float>(2) + first * width, shape.groups * width, own, width, y);
  }

  static constexpr float kHidden = -std::numeric_limits<float>::infinity();
  static bool sees_nothing(const float* scores, int64_t count) {
    return std::all_of(scores, scores + count, [](float score) { return score == kHidden; });
  }

  void mask(Pointers p, int64_t mask_row, int64_t count, float* scores) const {
    int64_t first = mask_row * shape.capacity;
    for (int64_t j = 0; j < count; ++j) {
      if (shape.bias)
        scores[j] += p.in<float>(6)[first + j];
      else if (!p.in<bool>(6)[first + j])
        scores[j] = kHidden;
    }
  }
};

void build_cached_attention(Builder& b, const Node& node) {
  std::vector<TensorSpec> specs;
  Call call{own_kernel(), {}, {}};
  for (int value : node.inputs) {
    specs.push_back(b.spec(value));
    call.reads.push_back(b.plain(value));
  }
  CachedAttention attention{CachedAttentionShape(specs), float(node.attrs.get<double>("scale"))};
  int64_t items = attention.shape.batch * attention.shape.heads,
          capacity = attention.shape.capacity;
  int place = int(node.inputs.size()) + 1;
  call.writes = {b.define(node.outputs[0]),
                 b.scratch(size_t(team_size() * capacity) * sizeof(float))};
  int64_t per_position = items * attention.shape.queries * attention.shape.depth * 2;
  b.emit(std::move(call), [=](Pointers p) {
    int64_t seen = *p.in<int32_t>(5) + attention.shape.chunk;
    parallel_team(seen * per_position, kGrain, [&](int worker, int workers) {
      Part part = part_of(items, worker, workers);
      attention.run(p, part.begin, part.end, p.out<float>(place) + worker * capacity);
    });
  });
}

// cache: [B, G, C, D], rows: [B, n, G, D]
void build_cache_append(Builder& b, const Node& node) {
  const TensorSpec& cache = b.spec(node.inputs[0]);
  int64_t chunk = b.shape(node.inputs[1])[1], groups = cache.shape[1], capacity = cache.shape[2];
  size_t width = size_t(cache.shape[3]) * size_of(cache.dtype);
  int64_t count = cache.shape[0] * chunk * groups;
  int rows = b.plain(node.inputs[1]), positions = b.plain(node.inputs[2]);
  int to = b.define_update(node.outputs[0], node.inputs[0], {});
  b.emit({own_kernel(), {rows, positions}, {to}}, [=](Pointers p) {
    int64_t begin = *p.in<int32_t>(1);
    for (int64_t i = 0; i < count; ++i) {
      int64_t group = i % groups, position = begin + i / groups % chunk, row = i / groups / chunk;
      if (position < 0 || position >= capacity) continue;
      std::memcpy(p.out<char>(2) + size_t((row * groups + group) * capacity + position) * width,
                  p.in<char>(0) + size_t(i) * width, width);
    }
  });
}

}  // namespace

void add_decoding_builders(OpBuilders& table) {
  table["cached_attention"] = {floats, build_cached_attention};
  table["cache_append"] = {anything, build_cache_append};
}

}  // namespace stoker::cpu
