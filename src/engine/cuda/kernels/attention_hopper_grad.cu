// The gradient of attention on Hopper: dq by rows of queries, dk and dv by rows of keys. The scores are computed for both:
// every sum has one owner and one order.
#include "engine/cuda/kernels/attention_hopper_launch.cuh"

namespace stoker::cuda {

namespace {

// The sum of dout · out over a row, by its four lanes.
template <class T>
__device__ float row_product(const AttentionCall& c, int batch, int head, int row) {
  int64_t first = ((int64_t(batch) * c.queries + row) * c.heads + head) * c.value_dim;
  float sum = 0;
  for (int i = int(threadIdx.x) % 4 * 8; i < c.value_dim; i += 32) {
    auto a = load_pack<T, 8>(static_cast<const T*>(c.out) + first + i);
    auto b = load_pack<T, 8>(static_cast<const T*>(c.dout) + first + i);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float2 x = unpack_pair<T>(a.at[j]), y = unpack_pair<T>(b.at[j]);
      sum += x.x * y.x + x.y * y.y;
    }
  }
  return over_four(sum, [](float a, float b) { return a + b; });
}

// Rows: queries. It also writes the numbers of each query that the other kernel reads.
template <class Tiles, bool kDropout>
__global__ void __launch_bounds__(Tiles::kThreads, 1)
    query_grad(const __grid_constant__ HopperCall h) {
  const AttentionCall& c = h.c;
  using T = typename Tiles::Element;
  constexpr int kStages = Tiles::kStages;
  constexpr int kStage = 2 * Tiles::kColumnTile;
  HopperMemory memory;
  char *q_tile = memory.first(), *d_tile = q_tile + Tiles::kRowTile;
  char* stages = d_tile + Tiles::kRowTile;
  __shared__ Barrier full[kStages], empty[kStages], rows_there;
  Pipe<kStages> pipe{full, empty};
  BlockPlace place = place_of_block<Tiles>(c.queries, c.heads, c.causal);
  auto [batch, head, block_row] = place;
  int kv = head / int(c.heads / c.kv_heads);
  int end = c.causal ? min(int(c.keys), block_row + Tiles::kRows) : int(c.keys);
  SeenTiles seen(h.seen, batch);
  begin_rows<Tiles>(full, empty, &rows_there, place, RowTile{q_tile, h.q}, RowTile{d_tile, h.dout});
  __shared__ typename Walk<Tiles>::Memory listed;
  Walk<Tiles> walk(seen, block_row, head, 1, 0, end, listed);
  int filled = 0;
  auto fill = [&] { fill_keys<Tiles>(pipe, walk, filled, h, stages, batch, kv); };
  if (threadIdx.x == Tiles::kFiller)
    for (int i = 0; i < kStages - 1; ++i) fill();

  int row = block_row + Tiles::own_row(), group_row = block_row + int(threadIdx.x) / 128 * 64;
  int64_t numbered = (int64_t(batch) * c.heads + head) * c.queries;
  float lse[2], delta[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    int at = row + 8 * r;
    delta[r] = row_product<T>(c, batch, head, min(at, int(c.queries) - 1));
    lse[r] = at < c.queries ? c.lse[numbered + at] * kLog2e : INFINITY;
    if (at >= c.queries) delta[r] = 0;
    if (threadIdx.x % 4 == 0 && at < h.stats_pitch)
      h.stats[(int64_t(batch) * c.heads + head) * h.stats_pitch + at] =
          make_float2(lse[r], delta[r]);
  }
  float kept_scale = float(1 / (1 - c.rate));
  typename Tiles::Sums sums;
#pragma unroll
  for (float& sum : sums) sum = 0;
  typename Tiles::Scores scores, through;
  typename Tiles::Packed packed;
  typename Walk<Tiles>::Tile at;
  bool partial;
  typename Tiles::Words words, kept;
  // What is read beside a tile, while its products run.
  auto look = [&](int number) {
    at = walk.at(number);
    partial = look_at_keys<Tiles>(words, at, h, seen, head, row, group_row);
    if constexpr (kDropout)
      kept_words<Tiles>(kept, h.kept, numbered + row, numbered + c.queries - 1, at.column,
                        int(c.keys));
  };
  auto weigh = [&] {
    if (h.scaled_first) scale_first<Tiles, false>(scores, h, batch, head, row, at.column);
#pragma unroll
    for (int e = 0; e < Tiles::kScores; ++e)
      scores[e] = power_of_two(scores[e] * h.factor - lse[Tiles::own(e)]);
    if (partial)
#pragma unroll
      for (int e = 0; e < Tiles::kScores; ++e)
        if (!is_set<Tiles>(words, e)) scores[e] = 0;
  };
  auto turn = [&] {
#pragma unroll
    for (int e = 0; e < Tiles::kScores; ++e) {
      float d = through[e];
      if constexpr (kDropout) d = is_set<Tiles>(kept, e) ? d * kept_scale : 0;
      scores[e] *= d - delta[Tiles::own(e)];
    }
  };

  if (walk.count() > 0) {
    barrier_wait(&rows_there, 0);
    pipe.wait(0);
    products_begin();
    score_products<Tiles>(scores, q_tile, stages);
    score_products<Tiles>(through, d_tile, stages + Tiles::kColumnTile);
    products_end();
    look(0);
    products_wait<0>();
    weigh();
    turn();
    pack_scores<Tiles>(packed, scores);
    for (int number = 1; number < walk.count(); ++number) {
      pipe.wait(number);
      char* now = stages + pipe.stage(number) * kStage;
      products_begin();
      score_products<Tiles>(scores, q_tile, now);
      products_end();
      score_products<Tiles>(through, d_tile, now + Tiles::kColumnTile);
      products_end();
      sum_products<Tiles>(sums, packed, stages + pipe.stage(number - 1) * kStage);
      products_end();
      if (threadIdx.x == Tiles::kFiller) fill();
      look(number);
      products_wait<2>();
      weigh();
      products_wait<1>();
      turn();
      products_wait<0>();
      pipe.release(number - 1);
      pack_scores<Tiles>(packed, scores);
    }
    products_begin();
    sum_products<Tiles>(sums, packed, stages + pipe.stage(walk.count() - 1) * kStage);
    products_end();
    products_wait<0>();
  }
  store_sums<Tiles>(sums, c.scale, c.scale,
                    static_cast<T*>(c.dq) + batch * c.queries * c.q_pitch + head * c.dim, c.q_pitch,
                    row, int(c.queries), int(c.dim));
}

// Rows: keys. Heads that share them are walked one after another.
template <class Tiles, bool kDropout>
__global__ void __launch_bounds__(Tiles::kThreads, 1)
    key_grad(const __grid_constant__ HopperCall h) {
  const AttentionCall& c = h.c;
  using T = typename Tiles::Element;
  constexpr int kColumns = Tiles::kColumns, kStages = Tiles::kStages;
  constexpr int kStage = 2 * Tiles::kColumnTile + Tiles::kStatsTile;
  HopperMemory memory;
  char *k_tile = memory.first(), *v_tile = k_tile + Tiles::kRowTile;
  char* stages = v_tile + Tiles::kRowTile;
  char* stats = stages + kStages * 2 * Tiles::kColumnTile;
  __shared__ Barrier full[kStages], empty[kStages], rows_there;
  Pipe<kStages> pipe{full, empty};
  BlockPlace place = place_of_block<Tiles>(c.keys, c.kv_heads, false);
  auto [batch, kv, block_row] = place;
  int group = int(c.heads / c.kv_heads), end = int(c.queries);
  int begin = c.causal ? block_row / kColumns * kColumns : 0;
  SeenTiles seen(h.seen, batch);
  begin_rows<Tiles>(full, empty, &rows_there, place, RowTile{k_tile, h.k}, RowTile{v_tile, h.v});
  __shared__ typename Walk<Tiles>::Memory listed;
  Walk<Tiles> walk(seen, block_row, kv * group, group, begin, end, listed);
  int filled = 0;
  auto fill = [&] {
    if (filled >= walk.count()) return;
    auto ahead = walk.at(filled);
    pipe.wait_empty(filled);
    Barrier* done = full + pipe.stage(filled);
    char* to = stages + pipe.stage(filled) * 2 * Tiles::kColumnTile;
    barrier_expect(done, kStage);
    copy_rows<kColumns, Tiles::kDims>(to, h.q, batch, ahead.head, ahead.column, done);
    copy_rows<kColumns, Tiles::kDims>(to + Tiles::kColumnTile, h.dout, batch, ahead.head,
                                      ahead.column, done);
    copy_bytes(stats + pipe.stage(filled) * Tiles::kStatsTile,
               h.stats + (int64_t(batch) * c.heads + ahead.head) * h.stats_pitch + ahead.column,
               Tiles::kStatsTile, done);
    ++filled;
  };
  if (threadIdx.x == Tiles::kFiller)
    for (int i = 0; i < kStages - 1; ++i) fill();

  int row = block_row + Tiles::own_row(), group_row = block_row + int(threadIdx.x) / 128 * 64;
  float kept_scale = float(1 / (1 - c.rate));
  typename Tiles::Sums k_sums, v_sums;
#pragma unroll
  for (int e = 0; e < Tiles::kSums; ++e) k_sums[e] = v_sums[e] = 0;
  typename Tiles::Scores scores, through;
  typename Tiles::Packed weights, packed;
  const float2* lines;
  typename Walk<Tiles>::Tile at;
  bool partial;
  typename Tiles::Words words, kept;
  auto look = [&](int number) {
    at = walk.at(number);
    partial = !at.whole || (c.causal && at.column < group_row + 63);
    if (partial) {
      int from = c.causal ? row - at.column : 0;
      seen_words<Tiles>(words, seen, at.head, row, at.column, from, c.causal ? from + 8 : 0,
                        kColumns, kColumns);
    }
    if constexpr (kDropout) {
      int64_t numbered = (int64_t(batch) * c.heads + at.head) * c.keys;
      kept_words<Tiles>(kept, h.kept, numbered + row, numbered + c.keys - 1, at.column,
                        int(c.queries));
    }
  };
  auto weigh = [&] {
    if (h.scaled_first) scale_first<Tiles, true>(scores, h, batch, at.head, row, at.column);
#pragma unroll
    for (int e = 0; e < Tiles::kScores; e += 4) {
      auto two = *reinterpret_cast<const float4*>(lines + Tiles::pair() + Tiles::column(e));
      scores[e] = power_of_two(scores[e] * h.factor - two.x);
      scores[e + 1] = power_of_two(scores[e + 1] * h.factor - two.z);
      scores[e + 2] = power_of_two(scores[e + 2] * h.factor - two.x);
      scores[e + 3] = power_of_two(scores[e + 3] * h.factor - two.z);
    }
    if (partial)
#pragma unroll
      for (int e = 0; e < Tiles::kScores; ++e)
        if (!is_set<Tiles>(words, e)) scores[e] = 0;
  };
  auto turn = [&] {
#pragma unroll
    for (int e = 0; e < Tiles::kScores; e += 4) {
      auto two = *reinterpret_cast<const float4*>(lines + Tiles::pair() + Tiles::column(e));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float d = through[e + i];
        if constexpr (kDropout) d = is_set<Tiles>(kept, e + i) ? d * kept_scale : 0;
        through[e + i] = scores[e + i] * (d - (i % 2 == 0 ? two.y : two.w));
        if constexpr (kDropout)
          if (!is_set<Tiles>(kept, e + i)) scores[e + i] = 0;
      }
    }
  };

  if (walk.count() > 0) barrier_wait(&rows_there, 0);
  for (int number = 0; number < walk.count(); ++number) {
    pipe.wait(number);
    char* now = stages + pipe.stage(number) * 2 * Tiles::kColumnTile;
    lines = reinterpret_cast<const float2*>(stats + pipe.stage(number) * Tiles::kStatsTile);
    products_begin();
    score_products<Tiles>(scores, k_tile, now);
    products_end();
    score_products<Tiles>(through, v_tile, now + Tiles::kColumnTile);
    products_end();
    if (threadIdx.x == Tiles::kFiller && number > 0) fill();
    look(number);
    products_wait<1>();
    weigh();
    products_wait<0>();
    turn();
    pack_scores<Tiles>(weights, scores);
    pack_scores<Tiles>(packed, through);
    products_begin();
    sum_products<Tiles>(v_sums, weights, now + Tiles::kColumnTile);
    sum_products<Tiles>(k_sums, packed, now);
    products_end();
    products_wait<0>();
    pipe.release(number);
  }
  store_sums<Tiles>(v_sums, kept_scale, kept_scale,
                    static_cast<T*>(c.dv) + batch * c.keys * c.v_pitch + kv * c.value_dim,
                    c.v_pitch, row, int(c.keys), int(c.value_dim));
  store_sums<Tiles>(k_sums, c.scale, c.scale,
                    static_cast<T*>(c.dk) + batch * c.keys * c.k_pitch + kv * c.dim, c.k_pitch, row,
                    int(c.keys), int(c.dim));
}

}  // namespace

void run_hopper_attention_grad(const AttentionCall& call, cudaStream_t stream) {
  each_part(call, true, stream, [&](const AttentionCall& part, const KeptBits& kept, void* bits) {
    char* scratch = static_cast<char*>(bits);
    HopperCall by_queries = prepare_hopper(part, false, scratch, stream);
    scratch += by_queries.seen.bytes;
    HopperCall by_keys = prepare_hopper(part, true, scratch, stream);
    by_queries.stats = by_keys.stats = reinterpret_cast<float2*>(scratch + by_keys.seen.bytes);
    by_queries.kept = kept.by_queries;
    by_keys.kept = kept.by_keys;
    auto with = [&]<class Queries, class Keys>(Queries, Keys) {
      bool drops = part.rate > 0;
      launch_hopper<Queries>(drops ? query_grad<Queries, true> : query_grad<Queries, false>,
                             by_queries, part.queries, part.heads, 2, 0, stream);
      launch_hopper<Keys>(drops ? key_grad<Keys, true> : key_grad<Keys, false>, by_keys, part.keys,
                          part.kv_heads, 2, Keys::kStatsTile, stream);
    };
    visit_half(part.dtype, [&]<class T>(T) {
      if (std::max(part.dim, part.value_dim) <= 64)
        with(QueryGradTiles<T, 64>(), KeyGradTiles<T, 64>());
      else
        with(QueryGradTiles<T, 128>(), KeyGradTiles<T, 128>());
    });
  });
}

}  // namespace stoker::cuda
