// What the depthwise kernels share. A thread has two channels and a strip of the image: a few
// columns wide, and it walks down the rows. A step takes `stride` rows of the image and one of the
// result; tap row ky = phase + stride · age meets the result's row that began `age` steps ago.
#pragma once

#include "engine/cuda/kernels/common.cuh"
#include "engine/cuda/kernels/direct_conv.h"

namespace stoker::cuda {

constexpr int kStripThreads = 128;

// How many rows of a result one row of the image meets.
constexpr int ages_of(int kernel, int stride) { return (kernel + stride - 1) / stride; }

// --- two channels ---

template <class T>
using RawPair = std::conditional_t<sizeof(T) == 4, uint2, uint32_t>;

template <class T>
__device__ inline void load_pair(const T* from, bool there, RawPair<T>& to) {
  to = RawPair<T>{};
  if (there) to = *reinterpret_cast<const RawPair<T>*>(from);
}

template <class T>
__device__ inline float2 to_floats(const RawPair<T>& raw) {
  if constexpr (sizeof(T) == 4)
    return make_float2(__uint_as_float(raw.x), __uint_as_float(raw.y));
  else
    return unpack_pair<T>(raw);
}

template <class T>
__device__ inline void store_pair(float2 value, T* to) {
  if constexpr (sizeof(T) == 4)
    *reinterpret_cast<float2*>(to) = value;
  else
    *reinterpret_cast<uint32_t*>(to) = pack_pair<T>(value.x, value.y);
}

// Steps whose rows `first + step · down`, … lie in an image of so many rows: from, to.
__device__ inline int2 steps_inside(int first, int down, int height, int most) {
  int from = first < 0 ? -first / down : 0;
  int to = first >= height ? 0 : (height - first + down - 1) / down;
  return make_int2(min(from, most), min(max(to, from), most));
}

__device__ inline void add_product(float2& sum, float2 a, float2 b) {
  sum.x = fmaf(a.x, b.x, sum.x);
  sum.y = fmaf(a.y, b.y, sum.y);
}

__device__ inline float2 product_and(float2 a, float2 b, float2 sum) {
  add_product(sum, a, b);
  return sum;
}

// --- how strips cover an image ---

// Of one axis of a dilated image every d-th number is an image of its own: a residue. `across`
// tiles side by side, `down` strips of `rows` steps; columns and rows are steps of a residue.
struct Strips {
  int lanes = 16;  // threads side by side, two channels each
  int slabs = 1;   // of 2 · lanes channels
  int across = 1, down = 1, rows = 1;
  int residues_y = 1, residues_x = 1;
  int64_t count = 0;  // of a slab
  __host__ __device__ int per_block() const { return kStripThreads / lanes; }
  unsigned blocks() const { return unsigned((count + per_block() - 1) / per_block() * slabs); }
};

struct StripPlace {
  int batch, residue_y, residue_x, row, column;  // row, column: first steps
};

__device__ inline StripPlace strip_place(const Strips& s, int64_t index, int tile) {
  StripPlace at;
  auto rest = unsigned(index);
  at.column = int(rest % unsigned(s.across)) * tile;
  rest /= unsigned(s.across);
  at.row = int(rest % unsigned(s.down)) * s.rows;
  rest /= unsigned(s.down);
  at.residue_x = int(rest % unsigned(s.residues_x));
  rest /= unsigned(s.residues_x);
  at.residue_y = int(rest % unsigned(s.residues_y));
  at.batch = int(rest / unsigned(s.residues_y));
  return at;
}

// S rows of an image from row y on, Wide numbers of each, a column_step apart; zeros outside. x: the column's first number in
// row 0; inside: a bit per number.
template <class T, int S, int Wide>
__device__ void fetch_rows(const ConvShape& s, const T* x, int y, int column_step, unsigned inside,
                           RawPair<T> (&to)[S][Wide]) {
#pragma unroll
  for (int phase = 0; phase < S; ++phase) {
    unsigned there = unsigned(y + phase) < unsigned(s.height) ? inside : 0;
    const T* row = x + int64_t(y + phase) * s.width * s.channels;
#pragma unroll
    for (int i = 0; i < Wide; ++i)
      load_pair(row + i * column_step, (there >> i & 1) != 0, to[phase][i]);
  }
}

// The most threads side by side, up to 32, that leave at most one in twelve without channels.
inline int strip_lanes(int channels) {
  int pairs = channels / 2, lanes = 32;
  while (lanes > 8 && (pairs + lanes - 1) / lanes * lanes * 11 > pairs * 12) lanes /= 2;
  return lanes;
}

// `rows` × `columns` steps of an image, in tiles of `tile` columns; `halo` further rows are read
// for each strip. Strips are as long as keeps all of `at_once` blocks busy.
inline Strips cover(const ConvShape& s, int rows, int columns, int tile, int halo, int at_once) {
  Strips made;
  made.lanes = strip_lanes(s.channels);
  made.slabs = (s.channels / 2 + made.lanes - 1) / made.lanes;
  made.residues_y = s.dilation_y;
  made.residues_x = s.dilation_x;
  rows = (rows + s.dilation_y - 1) / s.dilation_y;
  columns = (columns + s.dilation_x - 1) / s.dilation_x;
  made.across = (columns + tile - 1) / tile;
  int64_t images = int64_t(s.batch) * s.dilation_y * s.dilation_x * made.across;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int down = 1; down <= rows; ++down) {
    Strips tried = made;
    tried.rows = (rows + down - 1) / down;
    tried.down = (rows + tried.rows - 1) / tried.rows;
    tried.count = images * tried.down;
    int64_t waves = (int64_t(tried.blocks()) + at_once - 1) / at_once;
    int64_t cost = waves * (tried.rows + halo);
    if (cost >= least) continue;
    least = cost;
    made = tried;
  }
  return made;
}

template <class Kernel>
int resident_blocks(Kernel kernel) {
  int resident = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kStripThreads, 0),
        "the size of a launch");
  return 132 * std::max(resident, 1);
}

}  // namespace stoker::cuda
