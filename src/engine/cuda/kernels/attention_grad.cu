// The gradient of attention: dq by rows of queries, dk and dv by rows of keys. The scores are computed for both: every sum has
// one owner and one order.
#include "engine/cuda/kernels/attention_hopper.h"
#include "engine/cuda/kernels/attention_parts.cuh"

namespace stoker::cuda {

namespace {

// delta: the sum of dout · out over the dims. A warp per row.
template <class T>
__global__ void __launch_bounds__(kBlock) row_products(const __grid_constant__ AttentionCall c) {
  int64_t row = (int64_t(blockIdx.x) * kBlock + threadIdx.x) / 32;  // of [batch, queries, heads]
  if (row >= c.batch * c.queries * c.heads) return;
  const T* out = static_cast<const T*>(c.out) + row * c.value_dim;
  const T* dout = static_cast<const T*>(c.dout) + row * c.value_dim;
  float sum = 0;
  for (int64_t i = threadIdx.x % 32; i < c.value_dim; i += 32)
    sum += to_float(out[i]) * to_float(dout[i]);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0U, sum, offset);
  int64_t head = row % c.heads, query = row / c.heads % c.queries,
          batch = row / c.heads / c.queries;
  if (threadIdx.x % 32 == 0)
    static_cast<float*>(c.scratch)[(batch * c.heads + head) * c.queries + query] = sum;
}

// Rows: queries.
template <class Tiles, Extras kExtras>
__global__ void __launch_bounds__(Tiles::kThreads)
    query_grad(const __grid_constant__ AttentionCall c) {
  using T = typename Tiles::Element;
  extern __shared__ __align__(16) char memory[];
  T* q_tile = reinterpret_cast<T*>(memory);
  T* d_tile = q_tile + AttentionMemory<Tiles>::kRowTile;
  T* k_tile = d_tile + AttentionMemory<Tiles>::kRowTile;
  T* v_tile = k_tile + AttentionMemory<Tiles>::kColumnTile;
  void* exchange = v_tile + AttentionMemory<Tiles>::kColumnTile;
  auto [batch, head, row, first] = rows_of_block<Tiles>(c.queries, c.heads, c.dim, true);
  int64_t kv = head / (c.heads / c.kv_heads);
  auto q = head_of(static_cast<const T*>(c.q), batch, head, c.q_pitch, c.queries, c.dim);
  auto d = head_of(static_cast<const T*>(c.dout), batch, head, c.heads * c.value_dim, c.queries,
                   c.value_dim);
  auto k = head_of(static_cast<const T*>(c.k), batch, kv, c.k_pitch, c.keys, c.dim);
  auto v = head_of(static_cast<const T*>(c.v), batch, kv, c.v_pitch, c.keys, c.value_dim);
  AttentionWeights<T> weights(c, batch, head);
  float lse[Tiles::kOwnRows], delta[Tiles::kOwnRows];
#pragma unroll
  for (int r = 0; r < Tiles::kOwnRows; ++r) {
    int query = min(row + warp_row<Tiles>() + Tiles::own_row(r), int(c.queries) - 1);
    int64_t at = (batch * c.heads + head) * c.queries + query;
    lse[r] = c.lse[at];
    delta[r] = static_cast<float*>(c.scratch)[at];
  }
  typename Tiles::Sums sums;
#pragma unroll
  for (float& sum : sums) sum = 0;
  int end = c.causal ? min(int(c.keys), row + Tiles::kRows) : int(c.keys);
  bool q_staged = c.dim <= Tiles::kDims, d_staged = c.value_dim <= Tiles::kDims;
  if (q_staged) stage_rows<Tiles, Tiles::kRows>(q_tile, q, row, 0);
  if (d_staged) stage_rows<Tiles, Tiles::kRows>(d_tile, d, row, 0);
  for (int column = 0; column < end; column += Tiles::kColumns) {
    __syncthreads();
    if (q_staged) stage_rows<Tiles, Tiles::kColumns>(k_tile, k, column, 0);
    if (d_staged) stage_rows<Tiles, Tiles::kColumns>(v_tile, v, column, 0);
    __syncthreads();
    typename Tiles::Scores scores, through;
    all_scores<Tiles>(scores, q, row, q_tile, k, column, k_tile);
    all_scores<Tiles>(through, d, row, d_tile, v, column, v_tile);
    weights.template score<kExtras>(
        scores, [&](int e) { return row + warp_row<Tiles>() + Tiles::own_row(Tiles::own(e)); },
        [&](int e) { return column + Tiles::column(e); });
#pragma unroll
    for (int e = 0; e < Tiles::kScores; ++e) {
      int own = Tiles::own(e), query = row + warp_row<Tiles>() + Tiles::own_row(own);
      int key = column + Tiles::column(e);
      float score = scores[e];
      float weight = Tiles::exponential(score - lse[own]);
      float kept = weight == 0 ? 0 : weights.template kept<kExtras>(query, key);
      scores[e] = score == -INFINITY ? 0 : weight * (kept * through[e] - delta[own]);
    }
    if (!q_staged) {
      __syncthreads();
      stage_rows<Tiles, Tiles::kColumns>(k_tile, k, column, first);
      __syncthreads();
    }
    Tiles::multiply_add(sums, scores, k_tile, exchange);
  }
  float factors[Tiles::kOwnRows];
#pragma unroll
  for (float& factor : factors) factor = c.scale;
  store_rows<Tiles>(sums, factors,
                    head_of(static_cast<T*>(c.dq), batch, head, c.q_pitch, c.queries, c.dim), row,
                    first);
}

// Rows: keys. Heads that share them are walked one after another.
template <class Tiles, Extras kExtras>
__global__ void __launch_bounds__(Tiles::kThreads)
    key_grad(const __grid_constant__ AttentionCall c) {
  using T = typename Tiles::Element;
  extern __shared__ __align__(16) char memory[];
  T* k_tile = reinterpret_cast<T*>(memory);
  T* v_tile = k_tile + AttentionMemory<Tiles>::kRowTile;
  T* q_tile = v_tile + AttentionMemory<Tiles>::kRowTile;
  T* d_tile = q_tile + AttentionMemory<Tiles>::kColumnTile;
  float* lse = reinterpret_cast<float*>(d_tile + AttentionMemory<Tiles>::kColumnTile);
  float* delta = lse + Tiles::kColumns;
  void* exchange = delta + Tiles::kColumns;
  auto [batch, kv, row, first] =
      rows_of_block<Tiles>(c.keys, c.kv_heads, max(c.dim, c.value_dim), false);
  auto k = head_of(static_cast<const T*>(c.k), batch, kv, c.k_pitch, c.keys, c.dim);
  auto v = head_of(static_cast<const T*>(c.v), batch, kv, c.v_pitch, c.keys, c.value_dim);
  typename Tiles::Sums k_sums, v_sums;
#pragma unroll
  for (int e = 0; e < Tiles::kSums; ++e) k_sums[e] = v_sums[e] = 0;
  bool k_staged = c.dim <= Tiles::kDims, v_staged = c.value_dim <= Tiles::kDims;
  if (k_staged) stage_rows<Tiles, Tiles::kRows>(k_tile, k, row, 0);
  if (v_staged) stage_rows<Tiles, Tiles::kRows>(v_tile, v, row, 0);
  int begin = c.causal ? row / Tiles::kColumns * Tiles::kColumns : 0;
  int64_t group = c.heads / c.kv_heads;
  for (int64_t head = kv * group; head < (kv + 1) * group; ++head) {
    auto q = head_of(static_cast<const T*>(c.q), batch, head, c.q_pitch, c.queries, c.dim);
    auto d = head_of(static_cast<const T*>(c.dout), batch, head, c.heads * c.value_dim, c.queries,
                     c.value_dim);
    AttentionWeights<T> weights(c, batch, head);
    for (int column = begin; column < c.queries; column += Tiles::kColumns) {
      __syncthreads();
      if (k_staged) stage_rows<Tiles, Tiles::kColumns>(q_tile, q, column, 0);
      if (v_staged) stage_rows<Tiles, Tiles::kColumns>(d_tile, d, column, 0);
      if (int i = int(threadIdx.x); i < Tiles::kColumns) {
        int64_t at = (batch * c.heads + head) * c.queries + min(column + i, int(c.queries) - 1);
        lse[i] = c.lse[at];
        delta[i] = static_cast<float*>(c.scratch)[at];
      }
      __syncthreads();
      typename Tiles::Scores scores, through;
      all_scores<Tiles>(scores, k, row, k_tile, q, column, q_tile);
      all_scores<Tiles>(through, v, row, v_tile, d, column, d_tile);
      weights.template score<kExtras>(
          scores, [&](int e) { return column + Tiles::column(e); },
          [&](int e) { return row + warp_row<Tiles>() + Tiles::own_row(Tiles::own(e)); });
#pragma unroll
      for (int e = 0; e < Tiles::kScores; ++e) {
        int key = row + warp_row<Tiles>() + Tiles::own_row(Tiles::own(e));
        int place = Tiles::column(e), query = column + place;
        float score = scores[e];
        float weight = Tiles::exponential(score - lse[place]);
        float kept = weight == 0 ? 0 : weights.template kept<kExtras>(query, key);
        scores[e] = weight * kept;
        through[e] = score == -INFINITY ? 0 : weight * (kept * through[e] - delta[place]);
      }
      if (!k_staged || !v_staged) {
        __syncthreads();
        if (!k_staged) stage_rows<Tiles, Tiles::kColumns>(q_tile, q, column, first);
        if (!v_staged) stage_rows<Tiles, Tiles::kColumns>(d_tile, d, column, first);
        __syncthreads();
      }
      Tiles::multiply_add(v_sums, scores, d_tile, exchange);
      Tiles::multiply_add(k_sums, through, q_tile, exchange);
    }
  }
  float factors[Tiles::kOwnRows];
#pragma unroll
  for (float& factor : factors) factor = 1;
  if (first < c.value_dim)
    store_rows<Tiles>(v_sums, factors,
                      head_of(static_cast<T*>(c.dv), batch, kv, c.v_pitch, c.keys, c.value_dim),
                      row, first);
#pragma unroll
  for (float& factor : factors) factor = c.scale;
  if (first < c.dim)
    store_rows<Tiles>(k_sums, factors,
                      head_of(static_cast<T*>(c.dk), batch, kv, c.k_pitch, c.keys, c.dim), row,
                      first);
}

}  // namespace

void run_attention_grad(const AttentionCall& call, cudaStream_t stream) {
  if (call.batch * call.heads == 0) return;
  if (hopper_attention_takes(call)) return run_hopper_attention_grad(call, stream);
  int64_t rows = call.batch * call.heads * call.queries;
  visit_tiles(call, [&]<class Tiles>(Tiles) {
    if (rows > 0) {
      row_products<typename Tiles::Element>
          <<<blocks_for(rows * 32, kBlock), kBlock, 0, stream>>>(call);
      auto kernel = query_grad<Tiles, Extras::none>;
      if (extras_of(call) == Extras::mask) kernel = query_grad<Tiles, Extras::mask>;
      if (extras_of(call) == Extras::dropout) kernel = query_grad<Tiles, Extras::dropout>;
      launch_attention<Tiles>(kernel, call, call.queries, call.heads, call.dim, 2, stream);
    }
    auto kernel = key_grad<Tiles, Extras::none>;
    if (extras_of(call) == Extras::mask) kernel = key_grad<Tiles, Extras::mask>;
    if (extras_of(call) == Extras::dropout) kernel = key_grad<Tiles, Extras::dropout>;
    if (call.keys > 0)
      launch_attention<Tiles>(kernel, call, call.keys, call.kv_heads,
                              std::max(call.dim, call.value_dim), 2, stream);
  });
}

}  // namespace stoker::cuda
