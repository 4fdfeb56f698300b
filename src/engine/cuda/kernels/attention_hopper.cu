// The result of attention on Hopper. Rows: queries.
#include "engine/cuda/kernels/attention_hopper_launch.cuh"

namespace stoker::cuda {

namespace {

template <class Tiles, bool kDropout>
__global__ void __launch_bounds__(Tiles::kThreads, 1)
    forward(const __grid_constant__ HopperCall h) {
  const AttentionCall& c = h.c;
  using T = typename Tiles::Element;
  constexpr int kStages = Tiles::kStages;
  constexpr int kStage = 2 * Tiles::kColumnTile;
  HopperMemory memory;
  char *q_tile = memory.first(), *stages = q_tile + Tiles::kRowTile;
  __shared__ Barrier full[kStages], empty[kStages], rows_there;
  Pipe<kStages> pipe{full, empty};
  BlockPlace place = place_of_block<Tiles>(c.queries, c.heads, c.causal);
  auto [batch, head, block_row] = place;
  int kv = head / int(c.heads / c.kv_heads);
  int end = c.causal ? min(int(c.keys), block_row + Tiles::kRows) : int(c.keys);
  SeenTiles seen(h.seen, batch);
  begin_rows<Tiles>(full, empty, &rows_there, place, RowTile{q_tile, h.q});
  __shared__ typename Walk<Tiles>::Memory listed;
  Walk<Tiles> walk(seen, block_row, head, 1, 0, end, listed);
  int filled = 0;
  auto fill = [&] { fill_keys<Tiles>(pipe, walk, filled, h, stages, batch, kv); };
  if (threadIdx.x == Tiles::kFiller)
    for (int i = 0; i < kStages - 1; ++i) fill();

  int row = block_row + Tiles::own_row(), group_row = block_row + int(threadIdx.x) / 128 * 64;
  int64_t numbered = (int64_t(batch) * c.heads + head) * c.queries;
  typename Tiles::Sums sums;
#pragma unroll
  for (float& sum : sums) sum = 0;
  float most[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0}, shrink[2];
  typename Tiles::Scores scores;
  typename Tiles::Packed weights;
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
  // Turns the products of the tile `at` into weights.
  auto weigh = [&] {
    if (h.scaled_first) scale_first<Tiles, false>(scores, h, batch, head, row, at.column);
    if (partial)
#pragma unroll
      for (int e = 0; e < Tiles::kScores; ++e)
        if (!is_set<Tiles>(words, e)) scores[e] = -INFINITY;
    float base[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float next = most[r];
#pragma unroll
      for (int e = 2 * r; e < Tiles::kScores; e += 4)
        next = fmaxf(next, fmaxf(scores[e], scores[e + 1]));
      next = over_four(next, [](float a, float b) { return fmaxf(a, b); });
      base[r] = next == -INFINITY ? 0 : next * h.factor;
      shrink[r] = power_of_two(most[r] * h.factor - base[r]);
      total[r] *= shrink[r];
      most[r] = next;
    }
#pragma unroll
    for (int e = 0; e < Tiles::kScores; ++e) {
      scores[e] = power_of_two(scores[e] * h.factor - base[Tiles::own(e)]);
      total[Tiles::own(e)] += scores[e];
    }
    if constexpr (kDropout)
#pragma unroll
      for (int e = 0; e < Tiles::kScores; ++e)
        if (!is_set<Tiles>(kept, e)) scores[e] = 0;
  };

  if (walk.count() > 0) {
    barrier_wait(&rows_there, 0);
    pipe.wait(0);
    products_begin();
    score_products<Tiles>(scores, q_tile, stages);
    products_end();
    look(0);
    products_wait<0>();
    weigh();
    pack_scores<Tiles>(weights, scores);
    for (int number = 1; number < walk.count(); ++number) {
      pipe.wait(number);
      products_begin();
      score_products<Tiles>(scores, q_tile, stages + pipe.stage(number) * kStage);
      products_end();
      sum_products<Tiles>(sums, weights,
                          stages + pipe.stage(number - 1) * kStage + Tiles::kColumnTile);
      products_end();
      if (threadIdx.x == Tiles::kFiller) fill();
      look(number);
      products_wait<1>();
      weigh();
      products_wait<0>();
      pipe.release(number - 1);
#pragma unroll
      for (int e = 0; e < Tiles::kSums; ++e) sums[e] *= shrink[Tiles::own(e)];
      pack_scores<Tiles>(weights, scores);
    }
    products_begin();
    sum_products<Tiles>(sums, weights,
                        stages + pipe.stage(walk.count() - 1) * kStage + Tiles::kColumnTile);
    products_end();
    products_wait<0>();
  }
  float factors[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    total[r] = over_four(total[r], [](float a, float b) { return a + b; });
    factors[r] = total[r] == 0 ? 0 : float(1 / (1 - c.rate)) / total[r];
    if (threadIdx.x % 4 == 0 && row + 8 * r < c.queries)
      c.lse[numbered + row + 8 * r] =
          total[r] == 0 ? 0 : most[r] * (h.factor / kLog2e) + logf(total[r]);
  }
  int64_t pitch = c.heads * c.value_dim;
  store_sums<Tiles>(sums, factors[0], factors[1],
                    static_cast<T*>(c.out) + batch * c.queries * pitch + head * c.value_dim, pitch,
                    row, int(c.queries), int(c.value_dim));
}

}  // namespace

void run_hopper_attention(const AttentionCall& call, cudaStream_t stream) {
  each_part(call, false, stream, [&](const AttentionCall& part, const KeptBits& kept, void* bits) {
    HopperCall h = prepare_hopper(part, false, bits, stream);
    h.kept = kept.by_queries;
    visit_half(call.dtype, [&]<class T>(T) {
      auto with = [&]<class Tiles>(Tiles) {
        launch_hopper<Tiles>(part.rate > 0 ? forward<Tiles, true> : forward<Tiles, false>, h,
                             part.queries, part.heads, 1, 0, stream);
      };
      if (std::max(part.dim, part.value_dim) <= 64)
        with(ForwardTiles<T, 64>());
      else
        with(ForwardTiles<T, 128>());
    });
  });
}

}  // namespace stoker::cuda
