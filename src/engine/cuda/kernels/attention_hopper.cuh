// What the kernels of attention on Hopper share. A block owns 64 rows of a head per warp group and walks along the columns
// tile by tile, with running sums in registers; the copy engine brings tiles while others are in use. Rows are queries for
// the result and for dq, keys for dk and dv: in all three a tile's scores lie in registers as the second product takes them.
#pragma once

#include "engine/cuda/kernels/attention_hopper.h"
#include "engine/cuda/kernels/attention_kept.h"
#include "engine/cuda/kernels/attention_seen.h"
#include "engine/cuda/kernels/hopper.cuh"

namespace stoker::cuda {

constexpr float kLog2e = 1.44269504F;

struct HopperCall {
  CUtensorMap q, k, v, dout;
  AttentionCall c;
  SeenBits seen;
  float2* stats = nullptr;  // of a query: {logsumexp · log2(e), delta}; [batch, heads, stats_pitch]
  int stats_pitch = 0;
  // A weight is 2^(product · factor − ...). Where products are scaled first (a bias is added, or the scale is not positive)
  // factor is 1.
  float scale2 = 1, factor = 1;
  bool scaled_first = false;
  const uint2* kept = nullptr;  // of dropout: KeptBits::by_queries or by_keys
  bool bias_pairs = false;      // two biases of one query are a word
};

template <class T, int kDims_, int kGroups_, int kColumns_, int kStages_>
struct HopperTiles {
  using Element = T;
  static constexpr int kDims = kDims_, kGroups = kGroups_, kColumns = kColumns_, kStages = kStages_;
  static constexpr int kThreads = 128 * kGroups, kRows = 64 * kGroups;
  static constexpr int kScores = kColumns / 2, kSums = kDims / 2, kWords = kColumns / 32;
  static constexpr int kRowTile = kRows * kDims * 2, kColumnTile = kColumns * kDims * 2;  // bytes
  static constexpr int kStatsTile = kColumns * int(sizeof(float2));
  using Scores = float[kScores];
  using Sums = float[kSums];
  using Words = unsigned[2][kWords];  // a bit per column of a thread's two rows
  using Packed = unsigned[kScores / 2];

  // Of a thread: its first row within the block's; the other is eight below.
  __device__ static int own_row() { return int(threadIdx.x) / 32 * 16 + int(threadIdx.x) % 32 / 4; }
  // The thread that lets the copy engine fill stages: of the last warp group.
  static constexpr int kFiller = kThreads - 128;
  __device__ static int pair() { return int(threadIdx.x) % 4 * 2; }
  __device__ static constexpr int own(int e) { return e / 2 % 2; }
  __device__ static constexpr int column(int e) { return e / 4 * 8 + e % 2; }  // from pair() on
};

template <class Tiles>
__device__ bool is_set(const typename Tiles::Words& words, int e) {
  return (words[Tiles::own(e)][Tiles::column(e) / 32] >> (Tiles::column(e) % 32) & 1) != 0;
}

// --- products ---

// scores = rows · columnsᵀ
template <class Tiles>
__device__ void score_products(typename Tiles::Scores& scores, const char* rows,
                               const char* columns) {
  uint64_t a = matrix_at(rows + threadIdx.x / 128 * (64 * 128), 0), b = matrix_at(columns, 0);
#pragma unroll
  for (int k = 0; k < Tiles::kDims / 16; ++k)
    multiply_turned<typename Tiles::Element>(
        scores, a + uint64_t(k / 4 * (Tiles::kRows * 128 / 16) + k % 4 * 2),
        b + uint64_t(k / 4 * (Tiles::kColumns * 128 / 16) + k % 4 * 2), k > 0);
}
// sums += weights · columns
template <class Tiles>
__device__ void sum_products(typename Tiles::Sums& sums, const typename Tiles::Packed& weights,
                             const char* columns) {
  uint64_t b = matrix_at(columns, Tiles::kColumns * 128);
#pragma unroll
  for (int k = 0; k < Tiles::kColumns / 16; ++k)
    multiply_straight<typename Tiles::Element>(sums, weights + 4 * k,
                                               b + uint64_t(k * (2 * 1024 / 16)));
}
template <class Tiles>
__device__ void pack_scores(typename Tiles::Packed& to, const typename Tiles::Scores& from) {
#pragma unroll
  for (int e = 0; e < Tiles::kScores; e += 2)
    to[e / 2] = pack<typename Tiles::Element>(from[e], from[e + 1]);
}

__device__ inline float power_of_two(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
template <class Combine>
__device__ float over_four(float value, Combine combine) {
  value = combine(value, __shfl_xor_sync(~0U, value, 1));
  return combine(value, __shfl_xor_sync(~0U, value, 2));
}

// --- tiles in shared memory ---

// kRows rows of a head from `row` on: 64 dims of all rows, then the next 64.
template <int kRows, int kDims>
__device__ void copy_rows(char* to, const CUtensorMap& map, int batch, int head, int row,
                          Barrier* done) {
#pragma unroll
  for (int d = 0; d < kDims / 64; ++d)
#pragma unroll
    for (int r = 0; r < kRows / 64; ++r)
      copy_box(to + d * (kRows * 128) + r * (64 * 128), map, d * 64, head, row + r * 64, batch,
               done);
}

// The tiles under way: `fill` is called by one thread, all others only wait.
template <int kStages>
struct Pipe {
  Barrier* full;
  Barrier* empty;
  __device__ static int stage(int number) { return number % kStages; }
  __device__ void wait(int number) const {
    barrier_wait(full + stage(number), unsigned(number / kStages % 2));
  }
  // By every warp, when it has read a tile.
  __device__ void release(int number) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(empty + stage(number));
  }
  __device__ void wait_empty(int number) const {
    if (number >= kStages)
      barrier_wait(empty + stage(number), unsigned((number / kStages + 1) % 2));
  }
};

// --- what is seen ---

class SeenTiles {
 public:
  __device__ SeenTiles(const SeenBits& seen, int batch) : s_(seen), batch_(batch) {}
  __device__ bool masks() const { return s_.bits != nullptr; }
  __device__ int columns() const { return s_.columns; }
  // A tile of the 64 · kGroups rows from `row` on: a bit for each group of 64 rows that sees all of it, and 1 << kGroups where
  // a row sees any of it.
  template <int kGroups, int kColumns>
  __device__ unsigned state(int head, int row, int column) const {
    const uint8_t* summary = s_.summary + batch_ * s_.summary_batch + head * s_.summary_head;
    bool any = false;
    unsigned found = 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      bool all = true;
#pragma unroll
      for (int c = column; c < column + kColumns; c += 64)
        if (row + 64 * g < s_.rows && c < s_.columns) {
          uint8_t pairs = __ldg(summary + (row / 64 + g) * s_.summary_row + c / 64 * s_.column);
          any |= pairs != kSeenNone;
          all &= pairs == kSeenAll;
        }
      found |= unsigned(all) << g;
    }
    return found | unsigned(any) << kGroups;
  }
  __device__ uint2 bits(int head, int row, int column) const {
    return __ldg(s_.bits + batch_ * s_.batch + head * s_.head + min(row, s_.rows - 1) * s_.row +
                 column / 64 * s_.column);
  }

 private:
  const SeenBits& s_;
  int64_t batch_;
};

// The tiles of columns that a block walks along, head by head: those that a row sees.
template <class Tiles>
class Walk {
 public:
  struct Memory {
    unsigned entries[384];  // a tile's number and the groups of rows that see all of it
    int count;
  };
  struct Tile {
    int head, column;
    bool whole;  // for the rows of this warp group, as far as the mask goes
  };

  // Columns [begin, end) of `heads` heads. All threads of the block meet in here.
  __device__ Walk(const SeenTiles& seen, int row, int first_head, int heads, int begin, int end,
                  Memory& memory)
      : memory_(memory), first_head_(first_head), begin_(begin), masks_(seen.masks()) {
    tiles_ = begin < end ? (end - begin + Tiles::kColumns - 1) / Tiles::kColumns : 0;
    count_ = heads * tiles_;
    listed_ = masks_ && count_ <= int(sizeof memory.entries / sizeof memory.entries[0]);
    if (listed_ && threadIdx.x < 32) {
      int found = 0;
      for (int base = 0; base < count_; base += 32) {
        int number = base + int(threadIdx.x);
        unsigned state = 0;
        if (number < count_)
          state = seen.state<Tiles::kGroups, Tiles::kColumns>(head_of_tile(number), row,
                                                              column_of_tile(number));
        bool any = (state >> Tiles::kGroups) != 0;
        unsigned whose = __ballot_sync(~0U, any);
        if (any)
          memory.entries[found + __popc(whose & ((1U << threadIdx.x) - 1))] =
              unsigned(number) << 4 | (state & 15U);
        found += __popc(whose);
      }
      if (threadIdx.x == 0) memory.count = found;
    }
    __syncthreads();
    if (listed_) count_ = memory.count;
  }
  __device__ int count() const { return count_; }
  __device__ Tile at(int number) const {
    bool whole = !masks_;
    if (listed_) {
      unsigned entry = memory_.entries[number];
      whole = (entry >> (threadIdx.x / 128) & 1) != 0;
      number = int(entry >> 4);
    }
    return {head_of_tile(number), column_of_tile(number), whole};
  }

 private:
  __device__ int head_of_tile(int number) const {
    return first_head_ + (number < tiles_ ? 0 : number / tiles_);
  }
  __device__ int column_of_tile(int number) const {
    return begin_ + (number < tiles_ ? number : number % tiles_) * Tiles::kColumns;
  }
  const Memory& memory_;
  int first_head_, begin_, tiles_, count_;
  bool masks_, listed_;
};

// The lowest `count` bits.
__device__ inline unsigned lowest_bits(int count) {
  return count >= 32 ? ~0U : count <= 0 ? 0U : (1U << count) - 1;
}

// Bits for the columns [from, to) of each of a thread's two rows, counted from the tile's first one, where a mask allows.
template <class Tiles>
__device__ void seen_words(typename Tiles::Words& words, const SeenTiles& seen, int head, int row,
                           int column, int from0, int from1, int to0, int to1) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    int from = r == 0 ? from0 : from1, to = r == 0 ? to0 : to1;
#pragma unroll
    for (int w = 0; w < Tiles::kWords; ++w)
      words[r][w] = lowest_bits(to - 32 * w) & ~lowest_bits(from - 32 * w);
    if (seen.masks())
#pragma unroll
      for (int w = 0; w < Tiles::kWords; w += 2) {
        uint2 bits = {0, 0};
        if (column + 32 * w < seen.columns()) bits = seen.bits(head, row + 8 * r, column + 32 * w);
        words[r][w] &= bits.x;
        words[r][w + 1] &= bits.y;
      }
#pragma unroll
    for (int w = 0; w < Tiles::kWords; ++w) words[r][w] >>= Tiles::pair();
  }
}

// The bits of dropout for a thread's rows, `row` counted over batch and heads, of which there are `rows`.
template <class Tiles>
__device__ void kept_words(typename Tiles::Words& words, const uint2* kept, int64_t row,
                           int64_t last_row, int column, int columns) {
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int w = 0; w < Tiles::kWords; w += 2) {
      uint2 bits = {0, 0};
      if (column + 32 * w < columns)
        bits =
            __ldg(kept + min(row + 8 * r, last_row) * ((columns + 63) / 64) + column / 64 + w / 2);
      words[r][w] = bits.x >> Tiles::pair();
      words[r][w + 1] = bits.y >> Tiles::pair();
    }
}

// --- biases ---

// Scales the products of a tile and adds the bias, if there is one. kByKeys: rows are keys.
template <class Tiles, bool kByKeys>
__device__ void scale_first(typename Tiles::Scores& scores, const HopperCall& h, int batch,
                            int head, int row, int column) {
  using T = typename Tiles::Element;
  const AttentionCall& c = h.c;
  if (!c.bias) {
#pragma unroll
    for (float& score : scores) score *= h.scale2;
    return;
  }
  const T* bias =
      static_cast<const T*>(c.mask) + batch * c.mask_strides[0] + head * c.mask_strides[1];
  int64_t row_stride = c.mask_strides[kByKeys ? 3 : 2],
          column_stride = c.mask_strides[kByKeys ? 2 : 3];
  int rows = int(kByKeys ? c.keys : c.queries), columns = int(kByKeys ? c.queries : c.keys);
  const T* lines[2] = {bias + min(row, rows - 1) * row_stride,
                       bias + min(row + 8, rows - 1) * row_stride};
  int first = column + Tiles::pair();
  // Without a condition inside, many loads are under way.
  auto each = [&](auto two_at) {
#pragma unroll
    for (int e = 0; e < Tiles::kScores; e += 2) {
      float2 two = two_at(lines[Tiles::own(e)], first + Tiles::column(e));
      scores[e] = scores[e] * h.scale2 + two.x * kLog2e;
      scores[e + 1] = scores[e + 1] * h.scale2 + two.y * kLog2e;
    }
  };
  bool inside = column + Tiles::kColumns <= columns;
  if (!kByKeys && h.bias_pairs && inside)
    each([](const T* line, int at) {
      return unpack_pair<T>(*reinterpret_cast<const uint32_t*>(line + at));
    });
  else if (inside)
    each([&](const T* line, int at) {
      return make_float2(to_float(line[at * column_stride]),
                         to_float(line[(at + 1) * column_stride]));
    });
  else
    each([&](const T* line, int at) {
      return make_float2(to_float(line[min(at, columns - 1) * column_stride]),
                         to_float(line[min(at + 1, columns - 1) * column_stride]));
    });
}

// --- results ---

template <class Tiles>
__device__ void store_sums(const typename Tiles::Sums& sums, float factor0, float factor1,
                           typename Tiles::Element* to, int64_t pitch, int row, int rows, int dim) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (row + 8 * r >= rows) continue;
    float factor = r == 0 ? factor0 : factor1;
    auto* line = to + (row + 8 * r) * pitch + Tiles::pair();
#pragma unroll
    for (int j = 0; j < Tiles::kDims; j += 8)
      if (j < dim)
        *reinterpret_cast<unsigned*>(line + j) = pack<typename Tiles::Element>(
            sums[j / 2 + 2 * r] * factor, sums[j / 2 + 2 * r + 1] * factor);
  }
}

// The grid is flat: tiles of rows within heads within the batch; `backwards` where the last rows see most.
struct BlockPlace {
  int batch, head, row;
};
template <class Tiles>
__device__ BlockPlace place_of_block(int64_t rows, int64_t heads, bool backwards) {
  auto tiles = unsigned((rows + Tiles::kRows - 1) / Tiles::kRows);
  unsigned tile = blockIdx.x % tiles, outer = blockIdx.x / tiles;
  return {int(outer / unsigned(heads)), int(outer % unsigned(heads)),
          int(backwards ? tiles - 1 - tile : tile) * Tiles::kRows};
}

}  // namespace stoker::cuda
