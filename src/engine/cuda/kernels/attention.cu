// The result of attention. Rows: queries.
#include "engine/cuda/kernels/attention_hopper.h"
#include "engine/cuda/kernels/attention_parts.cuh"

namespace stoker::cuda {

namespace {

template <class Tiles, Extras kExtras>
__global__ void __launch_bounds__(Tiles::kThreads)
    forward(const __grid_constant__ AttentionCall c) {
  using T = typename Tiles::Element;
  extern __shared__ __align__(16) char memory[];
  T* q_tile = reinterpret_cast<T*>(memory);
  T* k_tile = q_tile + AttentionMemory<Tiles>::kRowTile;
  T* v_tile = k_tile + AttentionMemory<Tiles>::kColumnTile;
  void* exchange = v_tile + AttentionMemory<Tiles>::kColumnTile;
  auto [batch, head, row, first] =
      rows_of_block<Tiles>(c.queries, c.heads, max(c.value_dim, int64_t(1)), true);
  int64_t kv = head / (c.heads / c.kv_heads);
  auto q = head_of(static_cast<const T*>(c.q), batch, head, c.q_pitch, c.queries, c.dim);
  auto k = head_of(static_cast<const T*>(c.k), batch, kv, c.k_pitch, c.keys, c.dim);
  auto v = head_of(static_cast<const T*>(c.v), batch, kv, c.v_pitch, c.keys, c.value_dim);
  AttentionWeights<T> weights(c, batch, head);
  typename Tiles::Sums sums;
#pragma unroll
  for (float& sum : sums) sum = 0;
  float most[Tiles::kOwnRows], total[Tiles::kOwnRows];
#pragma unroll
  for (int r = 0; r < Tiles::kOwnRows; ++r) {
    most[r] = -INFINITY;
    total[r] = 0;
  }
  int end = c.causal ? min(int(c.keys), row + Tiles::kRows) : int(c.keys);
  bool staged = c.dim <= Tiles::kDims;
  if (staged) stage_rows<Tiles, Tiles::kRows>(q_tile, q, row, 0);
  for (int column = 0; column < end; column += Tiles::kColumns) {
    __syncthreads();
    if (staged) stage_rows<Tiles, Tiles::kColumns>(k_tile, k, column, 0);
    stage_rows<Tiles, Tiles::kColumns>(v_tile, v, column, first);
    __syncthreads();
    typename Tiles::Scores scores;
    all_scores<Tiles>(scores, q, row, q_tile, k, column, k_tile);
    float next[Tiles::kOwnRows];
#pragma unroll
    for (int r = 0; r < Tiles::kOwnRows; ++r) next[r] = most[r];
    weights.template score<kExtras>(
        scores, [&](int e) { return row + warp_row<Tiles>() + Tiles::own_row(Tiles::own(e)); },
        [&](int e) { return column + Tiles::column(e); });
#pragma unroll
    for (int e = 0; e < Tiles::kScores; ++e)
      next[Tiles::own(e)] = max_or_nan(next[Tiles::own(e)], scores[e]);
    float shrink[Tiles::kOwnRows];
#pragma unroll
    for (int r = 0; r < Tiles::kOwnRows; ++r) {
      next[r] = Tiles::over_row(next[r], [](float a, float b) { return max_or_nan(a, b); });
      float base = next[r] == -INFINITY ? 0 : next[r];
      shrink[r] = Tiles::exponential(most[r] - base);
      total[r] *= shrink[r];
      most[r] = next[r];
      next[r] = base;
    }
#pragma unroll
    for (int e = 0; e < Tiles::kSums; ++e) sums[e] *= shrink[Tiles::sum_own(e)];
#pragma unroll
    for (int e = 0; e < Tiles::kScores; ++e) {
      int own = Tiles::own(e);
      float weight = Tiles::exponential(scores[e] - next[own]);
      total[own] += weight;
      scores[e] = weight;
      if constexpr (kExtras == Extras::dropout) {
        int query = row + warp_row<Tiles>() + Tiles::own_row(own);
        if (weight != 0)
          scores[e] *= weights.template kept<kExtras>(query, column + Tiles::column(e));
      }
    }
    Tiles::multiply_add(sums, scores, v_tile, exchange);
  }
  float factors[Tiles::kOwnRows];
#pragma unroll
  for (int r = 0; r < Tiles::kOwnRows; ++r) {
    total[r] = Tiles::over_row(total[r], Plus());
    factors[r] = total[r] == 0 ? 0 : 1 / total[r];
    int query = row + warp_row<Tiles>() + Tiles::own_row(r);
    if (first == 0 && query < c.queries)
      c.lse[(batch * c.heads + head) * c.queries + query] =
          total[r] == 0 ? 0 : most[r] + logf(total[r]);
  }
  store_rows<Tiles>(
      sums, factors,
      head_of(static_cast<T*>(c.out), batch, head, c.heads * c.value_dim, c.queries, c.value_dim),
      row, first);
}

}  // namespace

bool is_fast_attention(const AttentionCall& call) { return hopper_attention_takes(call); }

size_t attention_scratch(const AttentionCall& call, bool gradient) {
  if (hopper_attention_takes(call)) return hopper_attention_scratch(call, gradient);
  return gradient ? size_t(call.batch * call.heads * call.queries) * sizeof(float) : 0;
}

void run_attention(const AttentionCall& call, cudaStream_t stream) {
  if (call.batch * call.heads * call.queries == 0) return;
  if (hopper_attention_takes(call)) return run_hopper_attention(call, stream);
  visit_tiles(call, [&]<class Tiles>(Tiles) {
    auto kernel = forward<Tiles, Extras::none>;
    if (extras_of(call) == Extras::mask) kernel = forward<Tiles, Extras::mask>;
    if (extras_of(call) == Extras::dropout) kernel = forward<Tiles, Extras::dropout>;
    launch_attention<Tiles>(kernel, call, call.queries, call.heads,
                            std::max<int64_t>(call.value_dim, 1), 1, stream);
  });
}

}  // namespace stoker::cuda
