// Fused attention at the lengths and head sizes of usual networks.
#include <algorithm>

#include <fmt/format.h>

#include "kernels/cases.h"

namespace stoker::bench {

namespace {

struct AttentionSize {
  int64_t length, heads, kv_heads, dim;
  bool causal;
};

}  // namespace

void add_attention(const Sizes& sizes, std::vector<KernelCase>& cases) {
  int64_t odd = sizes.odd() ? 1 : 0;
  for (const AttentionSize& s : {AttentionSize{196, 6, 6, 64, false},
                                 {1024, 12, 12, 64, true},
                                 {1024, 8, 2, 128, true},
                                 {4096, 8, 8, 64, true}}) {
    int64_t length = s.length + odd, step = s.heads * s.dim;
    // Work grows with the square of the length: fewer elements than other ops have.
    int64_t batch = std::max<int64_t>(sizes.elements() / 8 / (length * step), 1);
    Shape query{batch, length, s.heads, s.dim}, key{batch, length, s.kv_heads, s.dim};
    cases.push_back(
        {fmt::format("attention {} × {}, length {}{}", s.heads, s.dim, length,
                     s.kv_heads < s.heads ? fmt::format(", {} of keys", s.kv_heads) : ""),
         {{query}, {key}, {key}},
         [causal = s.causal](const Values& x) {
           return ops::dot_product_attention(x[0], x[1], x[2], {.is_causal = causal});
         }});
  }
}

}  // namespace stoker::bench
