// How a block of attention on Hopper begins, and how tiles come to it.
#pragma once

#include "engine/cuda/kernels/attention_hopper.cuh"

namespace stoker::cuda {

// Dynamic shared memory from a multiple of 1,024 bytes on.
struct HopperMemory {
  __device__ static char* first() {
    extern __shared__ char memory[];
    return memory + (1024 - shared_address(memory) % 1024) % 1024;
  }
};

// A tensor whose rows the block owns, and where they go.
struct RowTile {
  char* to;
  const CUtensorMap& from;
};

// Starts the barriers and the copies of the block's rows, by Tiles::kFiller; `rows_there` ends with the copies.
template <class Tiles, class... RowTiles>
__device__ void begin_rows(Barrier* full, Barrier* empty, Barrier* rows_there,
                           const BlockPlace& place, const RowTiles&... rows) {
  if (threadIdx.x != Tiles::kFiller) return;
  for (int i = 0; i < Tiles::kStages; ++i) {
    barrier_init(full + i, 1);
    barrier_init(empty + i, Tiles::kThreads / 32);
  }
  barrier_init(rows_there, 1);
  barriers_ready();
  barrier_expect(rows_there, sizeof...(rows) * Tiles::kRowTile);
  (copy_rows<Tiles::kRows, Tiles::kDims>(rows.to, rows.from, place.batch, place.head, place.row,
                                         rows_there),
   ...);
}

// Lets the copy engine bring tile number `filled` of the walk, keys and then values, once its stage is empty; nothing where the
// walk ends. By Tiles::kFiller, where rows are queries.
template <class Tiles>
__device__ void fill_keys(const Pipe<Tiles::kStages>& pipe, const Walk<Tiles>& walk, int& filled,
                          const HopperCall& h, char* stages, int batch, int kv) {
  constexpr int kStage = 2 * Tiles::kColumnTile;
  if (filled >= walk.count()) return;
  auto ahead = walk.at(filled);
  pipe.wait_empty(filled);
  Barrier* done = pipe.full + pipe.stage(filled);
  char* to = stages + pipe.stage(filled) * kStage;
  barrier_expect(done, kStage);
  copy_rows<Tiles::kColumns, Tiles::kDims>(to, h.k, batch, kv, ahead.column, done);
  copy_rows<Tiles::kColumns, Tiles::kDims>(to + Tiles::kColumnTile, h.v, batch, kv, ahead.column,
                                           done);
  ++filled;
}

// Which keys of a tile a thread's queries see, as bits; false, and no bits: all rows of its warp group see all of them.
// row: the thread's first; group_row: its warp group's.
template <class Tiles>
__device__ bool look_at_keys(typename Tiles::Words& words, const typename Walk<Tiles>::Tile& at,
                             const HopperCall& h, const SeenTiles& seen, int head, int row,
                             int group_row) {
  const AttentionCall& c = h.c;
  bool partial = !at.whole || at.column + Tiles::kColumns >
                                  (c.causal ? min(int(c.keys), group_row + 1) : int(c.keys));
  if (partial) {
    int to0 = c.causal ? min(int(c.keys), row + 1) : int(c.keys);
    int to1 = c.causal ? min(int(c.keys), row + 9) : int(c.keys);
    seen_words<Tiles>(words, seen, head, row, at.column, 0, 0, to0 - at.column, to1 - at.column);
  }
  return partial;
}

}  // namespace stoker::cuda
