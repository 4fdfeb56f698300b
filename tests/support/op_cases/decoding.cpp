// cached_attention, cache_append.
#include <algorithm>
#include <cmath>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

struct Sizes {
  int64_t batch = 2, queries = 1, chunk = 1, heads = 4, groups = 4, capacity = 9, depth = 8;
  int64_t value_depth = 8;
};

// Scores of a few units: weights differ, and none of them is all.
void add_attention(OpCaseTable& table, const std::string& name, const Sizes& s, int64_t position,
                   const Shape& mask = {}, bool bias = false) {
  OpCase made{name,
              {{"scale", 0.3}},
              {{{s.batch, s.queries, s.heads, s.depth}},
               {{s.batch, s.chunk, s.groups, s.depth}},
               {{s.batch, s.chunk, s.groups, s.value_depth}},
               {{s.batch, s.groups, s.capacity, s.depth}},
               {{s.batch, s.groups, s.capacity, s.value_depth}},
               {{s.chunk}, {double(position), double(position) + 1}, kInt32}},
              scaled(double(s.depth + s.capacity),
                     [](const OpRun& run) {
                       double score = largest(run.inputs[0]) * largest(run.inputs[1]) * 0.3 *
                                      double(run.inputs[0].shape()[3]);
                       double value = std::max(largest(run.inputs[2]), largest(run.inputs[4]));
                       return std::vector<double>{value * (1 + score)};
                     }),
              false};
  if (mask.rank() > 0)
    made.inputs.push_back(bias ? InputCase{mask, {-2, 2}} : InputCase{mask, {0, 2}, kBool});
  table["cached_attention"].good.push_back(std::move(made));
}

void add_append(OpCaseTable& table, const std::string& name, const Shape& cache, int64_t chunk,
                int64_t position) {
  table["cache_append"].good.push_back(
      {name,
       {},
       {{cache},
        {{cache[0], chunk, cache[1], cache[3]}},
        {{chunk}, {double(position), double(position) + 1}, kInt32}},
       exact()});
}

}  // namespace

void add_decoding_cases(OpCaseTable& table) {
  add_attention(table, "first_token", {}, 0);
  add_attention(table, "next_token", {}, 5);
  add_attention(table, "last_place", {}, 8);
  add_attention(table, "prompt", {.queries = 6, .chunk = 6}, 0);
  add_attention(table, "prompt_behind_others", {.queries = 4, .chunk = 4}, 5);
  add_attention(table, "last_of_a_prompt", {.queries = 1, .chunk = 6}, 2);
  add_attention(table, "groups", {.queries = 3, .chunk = 3, .heads = 6, .groups = 2}, 4);
  add_attention(table, "odd_depths", {.heads = 3, .groups = 1, .depth = 5, .value_depth = 7}, 4);
  add_attention(table, "long_cache", {.batch = 1, .capacity = 300, .depth = 64, .value_depth = 64},
                250);
  add_attention(table, "mask_of_keys", {.queries = 2, .chunk = 2}, 4, {2, 1, 1, 9});
  add_attention(table, "mask_of_pairs", {.queries = 2, .chunk = 2}, 4, {1, 4, 2, 9});
  add_attention(table, "bias", {.queries = 2, .chunk = 2}, 4, {2, 4, 2, 9}, true);
  TensorSpec q{kFloat32, {2, 1, 4, 8}}, cache{kFloat32, {2, 4, 9, 8}}, at{kInt32, {1}};
  Attrs scale = {{"scale", 1.0}};
  table["cached_attention"].bad = {
      {"more queries than keys", scale, {{kFloat32, {2, 2, 4, 8}}, q, q, cache, cache, at}},
      {"heads that do not divide", scale, {{kFloat32, {2, 1, 6, 8}}, q, q, cache, cache, at}},
      {"a cache of another batch", scale, {q, q, q, {kFloat32, {1, 4, 9, 8}}, cache, at}},
      {"a mask of another capacity", scale, {q, q, q, cache, cache, at, {kBool, {1, 1, 1, 8}}}},
      {"positions of another dtype", scale, {q, q, q, cache, cache, {DType::int64, {1}}}}};
  add_append(table, "first", {2, 3, 5, 4}, 1, 0);
  add_append(table, "chunk", {2, 3, 8, 4}, 3, 4);
  add_append(table, "one_column", {3, 1, 7, 1}, 2, 5);
  add_append(table, "beyond_the_end", {1, 2, 4, 3}, 3, 2);
  table["cache_append"].bad = {
      {"rows of another depth", {}, {cache, {kFloat32, {2, 1, 4, 7}}, at}},
      {"rows of another dtype", {}, {cache, {DType::float16, {2, 1, 4, 8}}, at}},
      {"no positions", {}, {cache, q}}};
}

}  // namespace stoker::test
